"""Data frames of this process as tables: Arrow data that a private DuckDB reads where it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from skillian.connectors.base import FRAMES, STREAM_TIMEOUT_SECONDS, Table
from skillian.connectors.duckdb.connector import EngineConnector
from skillian.connectors.duckdb.engine import DuckDBEngine, Setup
from skillian.connectors.duckdb.statement import Cursor, columns_of
from skillian.errors import InvalidInputError

_SCHEMA = "main"


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame.

    Attributes:
        rows: Its rows, a `pyarrow.Table`.
        inferred: Whether types were guessed from values, as those of Python objects.
    """

    rows: Any
    inferred: bool = False


class FramesConnector(EngineConnector):
    """A `Connector` to data frames.

    Args:
        frames: The data frames, by the names of their tables.
    """

    keeps_catalog = True

    def __init__(self, frames: Mapping[str, Frame]) -> None:
        self._frames = dict(frames)
        full = "there is not enough space left for the comparison"
        self._engine = DuckDBEngine("the data frames", Setup({}, full), STREAM_TIMEOUT_SECONDS)
        self._tables: tuple[Table, ...] = ()
        self._looking = asyncio.Lock()

    async def catalog(self) -> tuple[Table, ...]:
        """The data frames as tables."""
        async with self._looking:
            if not self._tables:
                self._tables = await self._engine.call(self._created)
        return self._tables

    @asynccontextmanager
    async def engine_for(self, statement: str) -> AsyncGenerator[DuckDBEngine]:  # noqa: ARG002 - it reads all of them
        """The DuckDB that reads the data frames."""
        await self.catalog()
        yield self._engine

    async def aclose(self) -> None:
        """Interrupt running statements and forget the data frames."""
        await self._engine.aclose()
        self._tables = ()

    def _created(self, cursor: Cursor) -> tuple[Table, ...]:
        return tuple(_created(cursor, name, frame) for name, frame in self._frames.items())


def _created(cursor: Cursor, name: str, frame: Frame) -> Table:
    # The view names the Arrow data by its address: the connector holds the data as long as DuckDB.
    try:
        rows = _read(cursor, frame.rows)
    except duckdb.Error:
        for position, column in enumerate(frame.rows.column_names):
            try:
                _read(cursor, frame.rows.select([position]))
            except duckdb.Error as error:
                reason, _, _ = str(error).partition("\n")
                raise InvalidInputError(
                    f"{name}: column {column!r} cannot be read: {reason}; convert it first"
                ) from None
        raise
    rows.create_view(name)
    return Table(_SCHEMA, name, columns_of(rows), engine=FRAMES, inferred=frame.inferred)


def _read(cursor: Cursor, rows: Any) -> Any:
    """The rows in DuckDB, which refuses some types, and maps with a key twice only while it reads.

    Raises:
        duckdb.Error: It cannot read them.
    """
    relation = cursor.from_arrow(rows)
    if any("MAP(" in str(kind) for kind in relation.types):
        relation.aggregate("COUNT(COLUMNS(*))").fetchall()
    return relation

"""A DuckDB of our own: results of other databases land in it, and it spills to disk."""

import itertools
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowBatch, ArrowTable, Kind
from skillian.connectors.duckdb_engine import DuckDBEngine, Setup
from skillian.connectors.duckdb_statement import Cursor

_TYPES: dict[Kind, str] = {
    "text": "VARCHAR",
    "integer": "DECIMAL(38, 0)",  # of any width: 64 bits are not enough for all databases
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}


def stored_type(kind: Kind, scale: int = 0) -> str:
    """Return the type that a column of this kind has in the workspace."""
    return f"DECIMAL(38, {scale})" if kind == "decimal" else _TYPES[kind]


class Workspace:
    """Tables of this process alone, gone when it is closed. Every method raises `QueryError`."""

    dialect = "duckdb"

    def __init__(self) -> None:
        setup = Setup(Path("workspace"), "there is no room left to compare in")
        self._engine = DuckDBEngine("workspace", setup)
        self._numbers = itertools.count(1)

    async def land(
        self,
        columns: Mapping[str, str],
        batches: AsyncGenerator[ArrowBatch],
        progress: Callable[[int], None] | None = None,
    ) -> str:
        """Store all batches in a new table of these columns and types, and return its name.

        `progress` is told how many rows there are so far.
        """
        name = f"landed_{next(self._numbers)}"
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        await self._engine.call(partial(_execute, f'CREATE TABLE "{name}" ({listed})'))
        rows = 0
        try:
            async for batch in batches:
                await self._engine.call(partial(_insert, name, batch))
                rows += batch.num_rows
                if progress is not None:
                    progress(rows)
        except BaseException:
            await self.drop(name)
            raise
        finally:
            await batches.aclose()
        return name

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budgets."""
        return await self._engine.run(statement, parameters)

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches."""
        return self._engine.stream(statement, parameters)

    async def drop(self, *names: str) -> None:
        """Let tables go; those that are gone already do no harm."""
        for name in names:
            await self._engine.call(partial(_execute, f'DROP TABLE IF EXISTS "{name}"'))

    async def aclose(self) -> None:
        """Stop what runs and let all tables go; a later call starts anew."""
        await self._engine.aclose()


def _execute(statement: str, cursor: Cursor) -> None:
    cursor.execute(statement)


def _insert(table: str, batch: ArrowBatch, cursor: Cursor) -> None:
    arrow: Any = pa  # pyarrow carries no types
    cursor.register("batch", arrow.Table.from_batches([batch]))
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "batch"')  # noqa: S608 - our own name
    cursor.unregister("batch")

"""A private DuckDB that results of other databases are staged in; it spills to disk."""

import itertools
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

from skillian.connectors.base import ArrowBatch, Kind
from skillian.connectors.duckdb.engine import Cursor, DuckDBEngine, Setup
from skillian.connectors.limits import STREAM_TIMEOUT_SECONDS, TIMEOUT_SECONDS

_TYPES: dict[Kind, str] = {
    "text": "VARCHAR",
    "integer": "DECIMAL(38, 0)",  # of any width: 64 bits are not enough for all databases
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}


def stored_type(kind: Kind, scale: int = 0) -> str:
    """The workspace's type for a column of this kind."""
    return f"DECIMAL(38, {scale})" if kind == "decimal" else _TYPES[kind]


_TABLE_BYTES, _COLUMN_BYTES, _CELL_BYTES = 16 * 1024, 8 * 1024, 16
"""The memory of a table, of each column and of each value, as measured."""


_SETUP = Setup({}, "there is not enough space left for the comparison")


class Workspace(DuckDBEngine):
    """Tables of this process alone, dropped when it is closed; files may be attached to it."""

    dialect = "duckdb"

    def __init__(
        self,
        name: str = "connection 'workspace'",
        setup: Setup = _SETUP,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(name, setup, timeout)
        self._numbers = itertools.count(1)
        self._sizes: dict[str, int] = {}

    async def stage(
        self,
        columns: Mapping[str, str],
        batches: AsyncGenerator[ArrowBatch],
        progress: Callable[[int], None] | None = None,
    ) -> str:
        """Store all batches in a new table of these columns and types, and return its name.

        `progress` is called with the number of rows so far.
        """
        name = await self._new(columns)
        rows = 0
        try:
            async for batch in batches:
                await self.call(partial(_insert, name, batch))
                rows += batch.num_rows
                if progress is not None:
                    progress(rows)
        except BaseException:
            await self.drop(name)
            raise
        finally:
            await batches.aclose()
        self._sizes[name] = _size(len(columns), rows)
        return name

    async def store(
        self, columns: Mapping[str, str], statement: str, parameters: Mapping[str, object]
    ) -> str:
        """Store the rows of a SELECT in a new table of these columns and types; return its name."""
        name = await self._new(columns)
        insert = f'INSERT INTO "{name}" {statement}'
        try:
            work = partial(_execute, insert, dict(parameters))
            rows = await self.call(work, STREAM_TIMEOUT_SECONDS, text=insert)
        except BaseException:
            await self.drop(name)
            raise
        self._sizes[name] = _size(len(columns), rows)
        return name

    async def create(self, statement: str, parameters: Mapping[str, object]) -> str:
        """Store the rows of a SELECT over tables of the workspace; return the new table's name."""
        name = f"staged_{next(self._numbers)}"
        create = f'CREATE TABLE "{name}" AS {statement}'
        work = partial(_create, name, create, dict(parameters))
        self._sizes[name] = await self.call(work, STREAM_TIMEOUT_SECONDS, text=create)
        return name

    async def _new(self, columns: Mapping[str, str]) -> str:
        name = f"staged_{next(self._numbers)}"
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        await self.call(partial(_execute, f'CREATE TABLE "{name}" ({listed})', {}))
        return name

    async def rename(self, name: str) -> str:
        """Give a table a name that nobody else knows, and return it."""
        new = f"kept_{next(self._numbers)}"
        await self.call(partial(_execute, f'ALTER TABLE "{name}" RENAME TO "{new}"', {}))
        self._sizes[new] = self._sizes.pop(name)
        return new

    def size(self, *names: str) -> int:
        """The bytes of memory that tables take, as far as DuckDB does not write them to disk."""
        return sum(self._sizes[name] for name in names)

    async def drop(self, *names: str) -> None:
        """Drop tables; those that no longer exist are ignored."""
        for name in names:
            self._sizes.pop(name, None)
            await self.call(partial(_execute, f'DROP TABLE IF EXISTS "{name}"', {}))


def _execute(statement: str, parameters: dict[str, object], cursor: Cursor) -> int:
    """How many rows a statement has stored."""
    cursor.execute(statement, parameters or None)
    return int(next(iter(cursor.fetchall()), (0,))[0])


def _create(name: str, create: str, parameters: dict[str, object], cursor: Cursor) -> int:
    rows = _execute(create, parameters, cursor)
    return _size(len(cursor.table(name).columns), rows)


def _size(columns: int, rows: int) -> int:
    return _TABLE_BYTES + columns * (_COLUMN_BYTES + rows * _CELL_BYTES)


def _insert(table: str, batch: ArrowBatch, cursor: Cursor) -> None:
    import pyarrow as pa  # noqa: PLC0415 - slow to load # pyright: ignore[reportMissingTypeStubs]

    arrow: Any = pa  # it carries no types
    cursor.register("batch", arrow.Table.from_batches([batch]))
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "batch"')  # noqa: S608 - our own name
    cursor.unregister("batch")

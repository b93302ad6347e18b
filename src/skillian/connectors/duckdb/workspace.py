"""A private DuckDB that results of other databases are staged in; it spills to disk."""

import itertools
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowBatch, Kind
from skillian.connectors.duckdb.engine import Cursor, DuckDBEngine, Setup
from skillian.connectors.limits import STREAM_TIMEOUT_SECONDS

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


class Workspace(DuckDBEngine):
    """Tables of this process alone, dropped when it is closed."""

    dialect = "duckdb"

    def __init__(self) -> None:
        full = "there is not enough space left for the comparison"
        super().__init__("connection 'workspace'", Setup({}, full))
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
        name = f"staged_{next(self._numbers)}"
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        await self.call(partial(_execute, f'CREATE TABLE "{name}" ({listed})', {}))
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

    async def create(self, statement: str, parameters: Mapping[str, object]) -> str:
        """Store the rows of a SELECT over tables of the workspace; return the new table's name."""
        name = f"staged_{next(self._numbers)}"
        create = f'CREATE TABLE "{name}" AS {statement}'
        work = partial(_create, name, create, dict(parameters))
        self._sizes[name] = await self.call(work, STREAM_TIMEOUT_SECONDS, text=create)
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


def _execute(statement: str, parameters: dict[str, object], cursor: Cursor) -> None:
    cursor.execute(statement, parameters or None)


def _create(name: str, create: str, parameters: dict[str, object], cursor: Cursor) -> int:
    cursor.execute(create, parameters or None)
    rows = cursor.fetchall()[0][0]
    return _size(len(cursor.table(name).columns), rows)


def _size(columns: int, rows: int) -> int:
    return _TABLE_BYTES + columns * (_COLUMN_BYTES + rows * _CELL_BYTES)


def _insert(table: str, batch: ArrowBatch, cursor: Cursor) -> None:
    arrow: Any = pa  # pyarrow carries no types
    cursor.register("batch", arrow.Table.from_batches([batch]))
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "batch"')  # noqa: S608 - our own name
    cursor.unregister("batch")

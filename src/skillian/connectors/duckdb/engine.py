"""The DuckDB inside a connector, and the one that results are staged in: private, locked down."""

# Evaluated annotations would keep DuckDB's types alive at exit, which nanobind reports as a leak.
from __future__ import annotations

import asyncio
import gc
import itertools
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import duckdb

from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ArrowBatch,
    ColumnType,
    Kind,
    table_within_budget,
)
from skillian.connectors.duckdb import functions
from skillian.connectors.duckdb.statement import (
    Cursor,
    RunningStatement,
    columns_of,
    plain_rows,
    select,
)
from skillian.connectors.scratch import folder_of, scratch
from skillian.errors import TOO_LARGE, QueryError
from skillian.tasks import BlockingCalls

T = TypeVar("T")

_BATCH_ROWS = 8192
_STREAM_BATCH_ROWS = 65_536
# No extension from the network, no Python variable as a table.
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
    # Rows have no order that a statement does not ask for, and are not held back for one.
    "preserve_insertion_order": "false",
}
# No files except those that the setup admits. A time with its zone reads the same on every
# machine. No statement can change these settings.
_LOCK_DOWN = """
SET enable_external_access = false;
SET GLOBAL TimeZone = 'UTC';
SET lock_configuration = true;
"""
# A sum of integers of 128 bits is one itself, and is then cast.
_OVERFLOW = re.compile(r"Overflow in|Could not cast value -?[0-9.]{1,64} to DECIMAL\(38")
# What DuckDB says before the message of an ERROR() in a statement of skillian.
_OWN = "Invalid Input Error: "
_WIDE = 200_000
"""The characters of a statement about some 300 columns."""
_SPILLED = "duckdb_temp_"
"""Begins the names of DuckDB's temporary files."""
_TYPES: dict[Kind, str] = {
    "text": "VARCHAR",
    "integer": "DECIMAL(38, 0)",  # of any width: 64 bits are not enough for all databases
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
_TABLE_BYTES, _COLUMN_BYTES, _CELL_BYTES = 16 * 1024, 8 * 1024, 16
"""The memory of a table, of each column and of each value, as measured."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The data that a DuckDB is opened with.

    Attributes:
        paths: Where its data comes from, and the name of each in messages.
        unreadable: The message if that cannot be opened or read.
        script: Attaches a database or allows files, right after opening; later neither is
            possible.
        use: Sets the database that the names in a statement refer to, if not to DuckDB's own.
    """

    paths: Mapping[Path, str]
    unreadable: str
    script: str = ""
    use: str = ""


@dataclass(frozen=True, slots=True)
class Mount:
    """What another DuckDB needs to read tables of a connector.

    Attributes:
        name: The connection's name; messages use it in place of the path.
        path: The database file to attach, or the folder or file of the views.
        is_database: Whether `path` is a database.
        views: The statements that create the views of files.
        files: The paths and patterns of these files, which may be read.
        stamps: A value that changes when one of the files does.
    """

    name: str
    path: Path
    is_database: bool
    views: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    stamps: tuple[object, ...] = ()


class DuckDBEngine:
    """A private DuckDB, opened by its first statement; it spills to disk beyond its memory limit.

    Args:
        name: What messages call it, such as `connection 'ledger'`.
        setup: The data it is opened with.
        timeout: How many seconds a statement may run.
    """

    def __init__(self, name: str, setup: Setup, timeout: float = TIMEOUT_SECONDS) -> None:
        self.name = name
        self._setup = setup
        self._timeout = timeout
        self._lock = Lock()
        self._connection: Cursor | None = None
        self._has_functions = False
        self._calls = BlockingCalls()
        self._streams: set[RunningStatement] = set()

    async def call(
        self,
        work: Callable[[Cursor], T],
        seconds: float | None = None,
        stop: Callable[[], None] | None = None,
        text: str = "",
    ) -> T:
        """What `work` returns, run in a thread on its own cursor.

        `stop` stops what `work` does outside DuckDB; `text` is the statement that it runs, if that
        may need this process's functions. Raises `QueryError` for what DuckDB refuses,
        and after `seconds`.
        """
        with RunningStatement(stop) as statement:
            return await self._in_thread(
                lambda: work(statement.on(self._cursor(text))), statement, seconds or self._timeout
            )

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT, without running it."""
        return await self.call(
            lambda cursor: columns_of(select(cursor, statement, {})), text=statement
        )

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowBatch:
        """The rows of one SELECT, within the budget."""

        def read(running: RunningStatement) -> ArrowBatch:
            relation = select(running.on(self._cursor(statement)), statement, parameters)
            schema = running.read(relation, _BATCH_ROWS)
            return table_within_budget(iter(running.next_batch, None), schema)

        with RunningStatement() as running:
            return await self._in_thread(lambda: read(running), running, self._timeout)

    async def plain_rows(
        self, statement: str, parameters: Mapping[str, object]
    ) -> list[dict[str, Any]] | None:
        """All rows of one SELECT, as those of `stream` in Python values.

        None if a value has another form there. It does not load Arrow.
        """
        return await self.call(
            lambda cursor: plain_rows(cursor, statement, parameters),
            STREAM_TIMEOUT_SECONDS,
            text=statement,
        )

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Yield the rows of one SELECT in batches; DuckDB continues as they are consumed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STREAM_TIMEOUT_SECONDS
        with RunningStatement() as running:

            def start() -> None:
                cursor = running.on(self._cursor(statement))
                running.read(select(cursor, statement, parameters), _STREAM_BATCH_ROWS)

            self._streams.add(running)
            try:
                await self._in_thread(start, running, STREAM_TIMEOUT_SECONDS)
                while True:
                    seconds = deadline - loop.time()
                    batch = await self._in_thread(running.next_batch, running, seconds)
                    if batch is None:
                        return
                    yield batch
            finally:
                self._streams.discard(running)

    async def aclose(self) -> None:
        """Stop running statements and close the database; the next statement reopens it."""
        await self._calls.stop()
        while self._streams:
            self._streams.pop().close()
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _in_thread(
        self, work: Callable[[], T], statement: RunningStatement, seconds: float
    ) -> T:
        try:
            return await self._calls.run(work, statement.interrupt, seconds)
        except duckdb.Error as error:
            raise QueryError(self._explain(error)) from None

    def _cursor(self, statement: str = "") -> Cursor:
        if len(statement) > _WIDE:  # its tree has cycles, and its plan needs their memory
            gc.collect()
        # DuckDB refuses a second call on a busy connection rather than waiting.
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
                self._has_functions = False
            if not self._has_functions and functions.PREFIX in statement.lower():
                functions.register(self._connection)
                self._has_functions = True
            cursor = self._connection.cursor()
        if self._setup.use:
            cursor.execute(self._setup.use)
        return cursor

    def _open(self) -> Cursor:
        # In memory, with files attached or allowed: a file opened as the database itself would
        # have to be opened with the same settings everywhere in this process.
        connection = duckdb.connect(":memory:", config={**_CONFIG})
        try:
            connection.execute("SET temp_directory = ?", [str(folder_of(connection))])
            connection.execute(self._setup.script)
            connection.execute(_LOCK_DOWN)
        except duckdb.Error as error:
            connection.close()
            raise duckdb.IOException(str(error)) from None
        return connection

    def _explain(self, error: duckdb.Error) -> str:
        is_spill = isinstance(error, duckdb.IOException) and _SPILLED in str(error)
        if is_spill or isinstance(error, duckdb.OutOfMemoryException):
            return (
                f"{self.name}: there is not enough space: the statement needs more than"
                f" {_CONFIG['memory_limit']} of memory, and more than is free for temporary files"
                f" in {scratch().parent}; free space there, name another folder in the variable"
                " TMPDIR, or narrow the statement with filters"
            )
        if isinstance(error, duckdb.IOException):
            return f"{self.name}: {self._setup.unreadable}"
        if isinstance(error, duckdb.PermissionException):
            return f"{self.name}: the statement reads a file outside its data, which is not allowed"
        is_number = isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException)
        if is_number and _OVERFLOW.search(str(error)):
            return f"{self.name}: {TOO_LARGE}"
        text = str(error).partition("\n")[0].removeprefix(_OWN)
        for path, name in self._setup.paths.items():
            text = text.replace(str(path), name)
            if path.parent != path.parent.parent:
                text = text.replace(str(path.parent), "…")
        return f"{self.name}: {text}"


def stored_type(kind: Kind, scale: int = 0) -> str:
    """The workspace's type for a column of this kind."""
    return f"DECIMAL(38, {scale})" if kind == "decimal" else _TYPES[kind]


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
    from skillian.connectors.arrow import arrow  # noqa: PLC0415 - slow to load

    cursor.register("batch", arrow.Table.from_batches([batch]))
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "batch"')  # noqa: S608 - our own name
    cursor.unregister("batch")

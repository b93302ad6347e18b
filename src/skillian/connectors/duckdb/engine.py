"""The DuckDB inside a connector: private, locked down, its statements in threads."""

# Evaluated annotations would keep DuckDB's types alive at exit, which nanobind reports as a leak.
from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from weakref import finalize

import duckdb

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType
from skillian.connectors.duckdb import functions
from skillian.connectors.duckdb.types import column_type, plain_rows
from skillian.connectors.limits import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    table_within_budget,
)
from skillian.connectors.scratch import scratch
from skillian.connectors.threads import BlockingCalls
from skillian.errors import QueryError

T = TypeVar("T")
Cursor = duckdb.DuckDBPyConnection

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
# machine. No statement can change these settings, except how a plan is improved.
_LOCK_DOWN = """
SET enable_external_access = false;
SET GLOBAL TimeZone = 'UTC';
SET allowed_configs = ['disabled_optimizers'];
SET lock_configuration = true;
"""
_SPILLED = "duckdb_temp_"
"""Begins the names of DuckDB's temporary files."""
_WIDE = 200_000
"""The characters of a statement about some 300 columns."""


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


class RunningStatement:
    """A statement on its own cursor; leaving `with` closes both.

    Args:
        stop: Stops work outside DuckDB that the statement waits for; `interrupt` calls it.
    """

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        self._stop = stop
        self._cursor: Cursor | None = None
        self._reader: Any = None
        self._stopped = False

    def on(self, cursor: Cursor) -> Cursor:
        """Set the cursor; raises `duckdb.InterruptException` if already stopped."""
        self._cursor = cursor
        self._check()
        return cursor

    def read(self, relation: duckdb.DuckDBPyRelation, batch_rows: int) -> Any:
        """Start to read the rows of a relation; returns their `pyarrow.Schema`."""
        self._reader = relation.to_arrow_reader(batch_rows)
        return self._reader.schema

    def next_batch(self) -> ArrowBatch | None:
        """The next rows, or None after the last ones; raises `duckdb.Error`."""
        self._check()
        try:
            return cast("ArrowBatch | None", next(self._reader, None))
        except OSError as error:
            # What DuckDB raises after the first batch arrives as pyarrow's own error.
            raise duckdb.DatabaseError(str(error)) from None

    def interrupt(self) -> None:
        """Stop it, whether it has started or not; safe to call from any thread."""
        self._stopped = True
        if self._stop is not None:
            self._stop()
        if self._cursor is not None:
            # The statement may have ended, and closed its cursor, a moment ago.
            with suppress(duckdb.ConnectionException):
                self._cursor.interrupt()

    def close(self) -> None:
        """Close rows and cursor; no other thread may be using them."""
        self._stopped = True
        if self._reader is not None:
            self._reader.close()
        if self._cursor is not None:
            self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self) -> None:
        if self._stopped:
            raise duckdb.InterruptException("the statement was stopped")


def select(cursor: Cursor, text: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyRelation:
    """The relation of a SELECT, not yet run; raises `QueryError` for other statements."""
    statements = cursor.extract_statements(text)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise QueryError("only a single SELECT is run here; nothing was executed")
    return cursor.sql(statements[0], params=dict(parameters) or None)


@contextmanager
def _planning(cursor: Cursor, text: str) -> Generator[None]:
    """Plan a statement without statistics if it is about hundreds of columns.

    The time that DuckDB takes to derive them grows with the square of the number of columns. What
    other threads plan meanwhile has none either, and only may be slower.
    """
    if len(text) < _WIDE:
        yield
        return
    with cursor.cursor() as other:  # the cursor itself is busy as soon as there are rows
        other.execute("SET disabled_optimizers = 'statistics_propagation'")
        try:
            yield
        finally:
            other.execute("RESET disabled_optimizers")


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

        def columns(cursor: Cursor) -> dict[str, ColumnType]:
            relation = select(cursor, statement, {})
            types = (column_type(str(kind)) for kind in relation.types)
            return dict(zip(relation.columns, types, strict=True))

        return await self.call(columns, text=statement)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """The rows of one SELECT, within the budget."""

        def read(running: RunningStatement) -> ArrowTable:
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

        def read(cursor: Cursor) -> list[dict[str, Any]] | None:
            with _planning(cursor, statement):
                relation = select(cursor, statement, parameters)
                return plain_rows(relation)

        return await self.call(read, STREAM_TIMEOUT_SECONDS, text=statement)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Yield the rows of one SELECT in batches; DuckDB continues as they are consumed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STREAM_TIMEOUT_SECONDS
        with RunningStatement() as running:

            def start() -> None:
                cursor = running.on(self._cursor(statement))
                with _planning(cursor, statement):
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
        spill = mkdtemp(dir=scratch())
        connection = duckdb.connect(":memory:", config={**_CONFIG, "temp_directory": spill})
        finalize(connection, rmtree, spill, ignore_errors=True)
        try:
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
        text = str(error).partition("\n")[0]
        for path, name in self._setup.paths.items():
            text = text.replace(str(path), name)
            if path.parent != path.parent.parent:
                text = text.replace(str(path.parent), "…")
        return f"{self.name}: {text}"

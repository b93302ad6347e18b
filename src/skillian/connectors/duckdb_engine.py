"""The DuckDB inside a connector: private, locked down, its statements in threads."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import TypeVar
from weakref import finalize

import duckdb

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType
from skillian.connectors.duckdb_statement import Cursor, Statement, read_rows, select
from skillian.connectors.duckdb_types import column_type
from skillian.connectors.threads import run_interruptible
from skillian.errors import QueryError, too_slow

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
STREAM_TIMEOUT_SECONDS = 3600.0

_STOP_AGAIN_SECONDS = 0.01
# No extension from the network, no Python variable as a table.
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
}
# No file but those let in before. A time with its zone reads the same on every machine, and
# nothing of all this can be changed by a statement.
_LOCK_DOWN = """
SET enable_external_access = false;
SET GLOBAL TimeZone = 'UTC';
SET lock_configuration = true;
"""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a DuckDB is opened on.

    Attributes:
        path: Where its data comes from; never part of a message.
        unreadable: What to tell when that cannot be opened or read.
        script: Lets files in, right after opening; later none can be.
        use: Chooses the database that a statement's names are looked up in.
    """

    path: Path
    unreadable: str
    script: str = ""
    use: str = "USE memory"


class DuckDBEngine:
    """A DuckDB of its own, opened by its first statement; what memory does not hold spills.

    Args:
        name: The connection's name; messages use it in place of the path.
        setup: What it is opened on.
        timeout: How many seconds a statement may run.
    """

    def __init__(self, name: str, setup: Setup, timeout: float = TIMEOUT_SECONDS) -> None:
        self._name = name
        self._setup = setup
        self._timeout = timeout
        self._lock = Lock()
        self._connection: Cursor | None = None
        self._running: set[Statement] = set()
        self._streams: set[Statement] = set()

    async def call(
        self,
        work: Callable[[Cursor], T],
        seconds: float | None = None,
        stop: Callable[[], None] | None = None,
    ) -> T:
        """Return what `work` returns, run in a thread on a cursor of its own.

        `stop` stops what `work` does beside DuckDB. Raises `QueryError` for what DuckDB refuses,
        and after `seconds`.
        """
        with Statement(stop) as statement:
            return await self._in_thread(
                lambda: work(statement.on(self._cursor())), statement, seconds or self._timeout
            )

    async def describe(self, text: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT would give, without running it."""

        def columns(cursor: Cursor) -> dict[str, ColumnType]:
            relation = select(cursor, text, {})
            types = (column_type(str(kind)) for kind in relation.types)
            return dict(zip(relation.columns, types, strict=True))

        return await self.call(columns)

    async def run(self, text: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Return the rows of one SELECT, within the budgets of `read_rows`."""
        return await self.call(lambda cursor: read_rows(select(cursor, text, parameters)))

    async def stream(
        self, text: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Give the rows of one SELECT in batches; DuckDB works on as they are taken."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STREAM_TIMEOUT_SECONDS
        with Statement() as statement:

            def start() -> None:
                statement.read(select(statement.on(self._cursor()), text, parameters))

            self._streams.add(statement)
            try:
                await self._in_thread(start, statement, STREAM_TIMEOUT_SECONDS)
                while True:
                    left = deadline - loop.time()
                    batch = await self._in_thread(statement.next_batch, statement, left)
                    if batch is None:
                        return
                    yield batch
            finally:
                self._streams.discard(statement)

    async def aclose(self) -> None:
        """Stop what runs and close the database; a later statement opens it again."""
        while self._running:
            for statement in tuple(self._running):
                statement.interrupt()
            await asyncio.sleep(_STOP_AGAIN_SECONDS)
        while self._streams:
            self._streams.pop().close()
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _in_thread(self, work: Callable[[], T], statement: Statement, seconds: float) -> T:
        self._running.add(statement)
        try:
            async with asyncio.timeout(seconds):
                return await run_interruptible(work, statement.interrupt)
        except TimeoutError:
            raise too_slow(seconds) from None
        except duckdb.Error as error:
            raise QueryError(self._explain(error)) from None
        finally:
            self._running.discard(statement)

    def _cursor(self) -> Cursor:
        # DuckDB refuses a second call on a connection that is busy, rather than wait for it.
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
            cursor = self._connection.cursor()
        cursor.execute(self._setup.use)
        return cursor

    def _open(self) -> Cursor:
        # In memory, with files attached or let in: a file opened as the database itself would
        # have to be opened in the same way everywhere in this process.
        connection = duckdb.connect(":memory:", config={**_CONFIG})
        try:
            spill = tempfile.mkdtemp(prefix="skillian-")
            finalize(connection, rmtree, spill, ignore_errors=True)
            connection.execute("SET temp_directory = $1", [spill])
            connection.execute(self._setup.script)
            connection.execute(_LOCK_DOWN)
        except duckdb.Error as error:
            connection.close()
            raise duckdb.IOException(str(error)) from None
        return connection

    def _explain(self, error: duckdb.Error) -> str:
        name, path = self._name, self._setup.path
        if isinstance(error, duckdb.IOException):
            return f"connection {name!r}: {self._setup.unreadable}"
        if isinstance(error, duckdb.PermissionException):
            return (
                f"connection {name!r}: the statement reads a file outside its data,"
                " which is not allowed"
            )
        text = str(error).partition("\n")[0].replace(str(path), name)
        if path.parent != path.parent.parent:
            text = text.replace(str(path.parent), "…")
        return f"connection {name!r}: {text}"

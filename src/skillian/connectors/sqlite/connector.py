"""SQLite: the columns that a statement reads are copied into DuckDB, which runs the statement.

SQLite itself evaluates hand-written queries; their columns are copied like those of views.

SQLite has no decimals, and allows any type in any column. In the copy every value has its declared
type, exactly, or the statement fails and names the value. The copy is kept until the file changes.
"""

import asyncio
import re
import sqlite3
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from sqlglot import exp

from skillian.connectors.arrow import arrow
from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ColumnType,
    Table,
    columns_by_name,
    path_of,
    same_version,
)
from skillian.connectors.duckdb.connector import EngineConnector
from skillian.connectors.duckdb.engine import DuckDBEngine, Setup
from skillian.connectors.duckdb.statement import Cursor
from skillian.connectors.sqlite.reader import SQLiteFile, Version, used_columns
from skillian.connectors.sqlite.types import UnfitError, array_of, stored_type
from skillian.errors import QueryError, UnreadableColumnError
from skillian.tasks import run_interruptible

T = TypeVar("T")

_UNREADABLE = (
    "its database cannot be opened or read; check that the file is there and is a SQLite database"
)
_JOURNAL = (
    "a program that wrote to its database has died, and its file -journal (or -wal) has to be"
    " applied first; open the database once with a program that may write, such as sqlite3"
)
_REASONS = (
    ("unable to open", _UNREADABLE),
    ("readonly", _JOURNAL),
    ("locked", "another program writes to its database; try again when that has ended"),
)
"""What parts of SQLite's messages mean."""
_BATCH = "rows to copy"
_NOT_UTF8 = "Could not decode to UTF-8 column '"
_NUMBERED = re.compile(r":\d+$")  # as SQLite names the second of two columns of one name


class _Copy:
    """The copied columns of one version of the file; `users` counts its running statements."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self.engine = engine
        self.version: Version | None = None
        self.tables: tuple[Table, ...] = ()
        self.queries: Mapping[str, str] = {}
        self.columns: dict[str, tuple[str, ...]] = {}
        self.users = 0


class SQLiteConnector(EngineConnector):
    """A `Connector` to one SQLite file; statements are written in DuckDB's SQL.

    Args:
        path: The database file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run, copying not included.
    """

    keeps_catalog = True
    query_dialect = "sqlite"

    def __init__(self, path: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self._name = name
        self._setup = Setup({path: name}, _UNREADABLE)
        self._timeout = timeout
        self._file = SQLiteFile(path)
        self._reading = asyncio.Lock()
        self._copy: _Copy | None = None
        self._queries: dict[str, str] = {}

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `sqlite:///path`; the first statement opens the file."""
        return cls(path_of(url, folder), name)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; the columns of a broken view raise `QueryError`."""
        return await self._read(lambda _: self._file.tables())

    async def view(self, query: str) -> Table:
        """The rows of a query in SQLite's SQL as a table that statements can read.

        Raises `QueryError` for what SQLite refuses, and for two columns of one name.
        """
        name = f"query {sha256(query.encode()).hexdigest()[:12]}"
        view = await self._read(lambda _: self._file.of_query(name, query), {name: query})
        known = {each.casefold() for each in view.columns}
        for each in view.columns:
            base = _NUMBERED.sub("", each)
            if base != each and base.casefold() in known:
                columns_by_name([(base, view.columns[each])] * 2)
        self._queries[name] = query
        return view

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without copying any rows."""
        tables = await self._read(lambda _: self._file.tables(), {**self._queries})
        named = used_columns(statement, tables)
        engine = self._engine()

        def create(cursor: Cursor) -> None:
            for table in tables:
                if table.name in named:
                    _create(cursor, table, tuple(table.columns))

        try:
            await engine.call(create)
            return await engine.describe(statement)
        finally:
            await engine.aclose()

    @asynccontextmanager
    async def unchanged(self, tables: Collection[str], name: str) -> AsyncGenerator[None]:  # noqa: ARG002 - one file
        """Raise `QueryError` at the end if the database has changed."""
        async with same_version(await self._version(), self._version, name):
            yield

    async def _version(self) -> Version:
        return await self._read(lambda version: version)

    async def _read(
        self, read: Callable[[Version], T], queries: Mapping[str, str] = MappingProxyType({})
    ) -> T:
        def work() -> T:
            with self._file.snapshot(queries) as version:
                return read(version)

        async with self._reading:
            return await self._translated(run_interruptible(work, self._file.interrupt))

    async def aclose(self) -> None:
        """Interrupt running statements, close copy and file; the next statement reopens them."""
        copy, self._copy = self._copy, None
        if copy is not None:
            await copy.engine.aclose()
        async with self._reading:
            self._file.close()

    @asynccontextmanager
    async def engine_for(self, statement: str) -> AsyncGenerator[DuckDBEngine]:
        """A DuckDB with a copy of what the statement reads, all of one moment."""
        async with self._reading:
            copy = self._copy or _Copy(self._engine())
            self._copy = copy
            if not await self._fill(copy, statement):
                if not copy.users:
                    await copy.engine.aclose()
                copy = self._copy = _Copy(self._engine())
                await self._fill(copy, statement)
            copy.users += 1
        try:
            yield copy.engine
        finally:
            copy.users -= 1
            if copy is not self._copy and not copy.users:
                await copy.engine.aclose()

    async def _fill(self, copy: _Copy, statement: str) -> bool:
        """Copy the missing columns; returns False if the file has changed since the copy began."""
        queries = {**self._queries}

        def work(cursor: Cursor) -> bool:
            with self._file.snapshot(queries) as version:
                if copy.version not in (None, version):
                    return False
                if copy.version is None or copy.queries != queries:
                    copy.tables = self._file.tables()
                copy.version, copy.queries = version, queries
                self._add(copy, used_columns(statement, copy.tables), cursor)
            return True

        interrupt = self._file.interrupt
        return await self._translated(copy.engine.call(work, STREAM_TIMEOUT_SECONDS, interrupt))

    def _add(self, copy: _Copy, used: Mapping[str, tuple[str, ...]], cursor: Cursor) -> None:
        added: dict[str, tuple[str, ...]] = {}
        cursor.execute("BEGIN TRANSACTION")
        for table in copy.tables:
            present = copy.columns.get(table.name, ())
            new = tuple(name for name in used.get(table.name, ()) if name not in present)
            if new:
                added[table.name] = (*present, *new)
                _create(cursor, table, added[table.name])
                with _named(table):
                    for rows in self._file.rows(table.name, added[table.name]):
                        _insert(cursor, table, added[table.name], rows)
        cursor.execute("COMMIT")
        copy.columns |= added

    async def _translated(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns; raises `QueryError` for SQLite's errors."""
        try:
            return await work
        except sqlite3.OperationalError as error:
            reason = next((why for text, why in _REASONS if text in str(error)), str(error))
        except (sqlite3.Error, OSError):
            reason = _UNREADABLE
        raise QueryError(f"connection {self._name!r}: {reason}") from None

    def _engine(self) -> DuckDBEngine:
        return DuckDBEngine(f"connection {self._name!r}", self._setup, self._timeout)


def _create(cursor: Cursor, table: Table, columns: Sequence[str]) -> None:
    listed = [
        exp.ColumnDef(
            this=exp.to_identifier(name, quoted=True),
            kind=exp.DataType.build(stored_type(table.columns[name]), dialect="duckdb"),
        )
        for name in columns
    ]
    shape = exp.Schema(this=_target(table), expressions=listed)
    cursor.execute(exp.Create(this=shape, kind="TABLE", replace=True).sql("duckdb"))


@contextmanager
def _named(table: Table) -> Generator[None]:
    """Raise `UnreadableColumnError` for a text that is not UTF-8."""
    try:
        yield
    except sqlite3.OperationalError as error:
        _, found, text = str(error).partition(_NOT_UTF8)
        if not found:
            raise
        column, _, value = text.removesuffix("'").partition("' with text '")
        reason, remedy = f"holds {value!r}, which is not UTF-8", "correct the value"
        raise UnreadableColumnError(column, reason, remedy, table=table.name) from None


def _insert(
    cursor: Cursor, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    arrays: dict[str, Any] = {}
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        try:
            arrays[name] = array_of(values, table.columns[name])
        except UnfitError as error:
            kind = table.columns[name]
            is_mixed = kind.kind == "other" and kind.sql != "BLOB"
            fault = "bytes among other values" if is_mixed else "not exactly of its declared type"
            raise UnreadableColumnError(
                name,
                f"holds {error}, which is {fault} ({kind.sql})",
                "correct the value, or the type",
                table=table.name,
            ) from None
    cursor.register(_BATCH, arrow.table(arrays))
    rows_of = exp.select("*").from_(exp.to_identifier(_BATCH, quoted=True))
    cursor.execute(exp.insert(rows_of, _target(table)).sql("duckdb"))
    cursor.unregister(_BATCH)


def _target(table: Table) -> exp.Table:
    parts = (exp.to_identifier(part, quoted=True) for part in (table.name, "main", "memory"))
    return exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=True)))

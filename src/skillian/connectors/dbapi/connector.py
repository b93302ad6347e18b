"""A `Connector` over a DB-API module: what all vendors have in common."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from sqlglot import exp

from skillian.connectors.arrow import arrow_schema
from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ArrowBatch,
    ArrowTable,
    Column,
    ColumnType,
    Declaration,
    Kind,
    Table,
    table_within_budget,
    tables_of,
)
from skillian.connectors.dbapi.rows import batches, column_type
from skillian.connectors.dialects import single_query
from skillian.errors import QueryError, UnavailableError
from skillian.tasks import BlockingCalls

T = TypeVar("T")

MAX_CONNECTIONS = 4

_PIECES = re.compile(
    r"""'(?:[^'\\]++|\\.|'')*+'? | "(?:[^"\\]++|\\.|"")*+"? | `(?:[^`]++|``)*+`? | \[[^\]]*+\]?
    | (?<![:@\w])[:@](?P<parameter>p\d+)\b | (?P<percent>%)""",
    re.DOTALL | re.VERBOSE,
)
_REFUSED = (exp.Into, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop)
# What a driver's message may hold of the address: users, hosts, paths.
_PRIVATE = re.compile(
    r"'[^']*'@'[^']*'|(?:/[^\s'\"`/:]+){2,}/?|\b[\w.-]{1,253}\.(?:com|net|cloud)\b"
)


class Session:
    """A connection that runs one statement at a time; its methods block, `interrupt` does not.

    It starts with the statements of `settings`.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        settings: Sequence[str],
        cancel: Callable[[Any, Any], object],
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._cancel = cancel
        self._connection: Any = None
        self._cursor: Any = None
        self.is_usable = True

    def execute(self, statement: str, values: Any) -> Any:
        """The cursor of a statement; raises the driver's errors."""
        if self._connection is None:
            self._connection = self._connect()
            for setting in self._settings:
                self._connection.cursor().execute(setting)
        self._check()
        self._cursor = self._connection.cursor()
        if values:
            self._cursor.execute(statement, values)
        else:
            self._cursor.execute(statement)
        return self._cursor

    def next_of(self, rows: Iterator[ArrowBatch]) -> ArrowBatch | None:
        """The next rows of its statement, None after the last."""
        self._check()
        return next(rows, None)

    def interrupt(self) -> None:
        """Stop the statement; the connection is not used again."""
        self.is_usable = False
        if self._cursor is not None:
            with suppress(Exception):  # the statement may just have ended
                self._cancel(self._connection, self._cursor)

    def close(self) -> None:
        """Disconnect."""
        self.is_usable = False
        if self._connection is not None:
            with suppress(Exception):  # it may be broken
                self._connection.close()

    def _check(self) -> None:
        if not self.is_usable:
            raise QueryError("the statement was stopped")


class DBAPIConnector(ABC):
    """The common part of connectors over a vendor's driver.

    A vendor's class sets the class variables and implements `login`.

    Args:
        connect: Opens a connection of the driver; runs in a thread.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
        errors: What the driver raises, besides the errors of files, sockets and values.
    """

    keeps_catalog = False

    dialect: ClassVar[str]
    form: ClassVar[str]
    """The form of its URLs, for messages."""
    options: ClassVar[frozenset[str]] = frozenset()
    """What a URL may have after a `?`."""
    driver: ClassVar[str]
    """The driver's module."""
    paramstyle: ClassVar[str]
    """How a bound value is written: `qmark`, `named`, `pyformat`."""
    catalogue: ClassVar[str]
    """Returns schema, table, column, type, scale, and `YES` if it may hold NULL, in this order."""
    kinds: ClassVar[Mapping[str, Kind]]
    """The kinds of the vendor's types, by their names in capitals."""
    settings: ClassVar[tuple[str, ...]] = ()
    """The statements that every connection starts with."""

    def __init__(
        self,
        connect: Callable[[], Any],
        name: str,
        timeout: float = TIMEOUT_SECONDS,
        errors: tuple[type[Exception], ...] = (),
    ) -> None:
        self._connect = connect
        self._name = name
        self._timeout = timeout
        self._errors: tuple[type[Exception], ...] = (*errors, OSError, RuntimeError, ValueError)
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._calls = BlockingCalls()
        self._idle: list[Session] = []
        self._streaming: set[Session] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - no path in it
        """The connector for a URL of the form `form`.

        Raises `UnavailableError` for a malformed URL, and `ModuleNotFoundError` without its driver.
        """
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            if not options.keys() <= cls.options:
                raise ValueError  # noqa: TRY301 - as for the other faults of a URL
            login = cls.login(parts, options)
        except ValueError:
            after = f"; after a ? it may have {', '.join(sorted(cls.options))}"
            raise UnavailableError(
                f"connection {name!r}: its URL is not {cls.form}{after if cls.options else ''}"
            ) from None
        module: Any = import_module(cls.driver)
        return cls(lambda: cls.connect(module, login), name, errors=cls.errors(module))

    @classmethod
    @abstractmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments; raises `ValueError` for a malformed URL."""

    @classmethod
    def connect(cls, module: Any, login: Mapping[str, Any]) -> Any:
        """A new connection of the driver."""
        return module.connect(**login)

    @staticmethod
    def errors(module: Any) -> tuple[type[Exception], ...]:
        """The errors of the driver; all are subclasses of `Error` in a DB-API module."""
        return (getattr(module, "Error", RuntimeError),)

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The type's name and scale from one column of the cursor's `description`."""
        return str(column[1]), column[5]

    @staticmethod
    def cancel(connection: Any, cursor: Any) -> object:
        """Stop the statement of a cursor, from another thread."""
        del connection
        return cursor.cancel()

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views, in the order of the catalogue."""
        rows = await self._read(self.catalogue, {}, lambda cursor, _: cursor.fetchall())
        return tables_of(
            self.dialect,
            (
                (
                    schema,
                    table,
                    column,
                    column_type(self.kinds, kind, scale),
                    Declaration(nullable=str(nullable).upper() in {"YES", "Y"}),
                )
                for schema, table, column, kind, scale, nullable in rows
            ),
        )

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without reading its rows."""
        self._checked(statement)
        empty = f"SELECT * FROM ({statement}) described WHERE 1 = 0"  # noqa: S608 - it is checked
        return await self._read(empty, {}, lambda _, columns: dict(columns))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        return await self._read(statement, parameters, _table)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number."""
        text, values = self.bound(statement, parameters)
        async with self._free:
            session = self._session()
            self._streaming.add(session)
            seconds = STREAM_TIMEOUT_SECONDS
            try:
                cursor = await self._work(session, lambda: session.execute(text, values), seconds)
                rows = batches(cursor, self._columns(cursor))
                while True:
                    batch = await self._work(session, lambda: session.next_of(rows), seconds)
                    if batch is None:
                        return
                    yield batch
            finally:
                self._streaming.discard(session)
                await asyncio.to_thread(_stop, session)

    async def aclose(self) -> None:
        """Stop running statements and disconnect; the next statement reconnects."""
        await self._calls.stop()
        for session in (*self._idle, *self._streaming):
            await asyncio.to_thread(_stop, session)
        self._idle.clear()

    def bound(self, statement: str, parameters: Mapping[str, object]) -> tuple[str, Any]:
        """A SELECT as the driver takes it, and its values.

        Raises `QueryError` for anything but a single SELECT.
        """
        self._checked(statement)
        names: list[str] = []

        def piece(match: re.Match[str]) -> str:
            name = match["parameter"]
            if name is None:
                doubled = self.paramstyle == "pyformat" and parameters
                return match[0].replace("%", "%%") if doubled else match[0]
            names.append(name)
            return {"qmark": "?", "named": f":{name}"}.get(self.paramstyle, f"%({name})s")

        text = _PIECES.sub(piece, statement)
        if self.paramstyle == "qmark":
            return text, tuple(parameters[name] for name in names)
        return text, {name: parameters[name] for name in dict.fromkeys(names)}

    def _checked(self, statement: str) -> None:
        tree = single_query(statement, self.dialect)
        if tree is None or tree.find(*_REFUSED) is not None:
            raise QueryError("only a single SELECT is run here; nothing was executed")

    def _columns(self, cursor: Any) -> list[Column]:
        return [
            (column[0], column_type(self.kinds, *self.described(column)))
            for column in cursor.description
        ]

    def _session(self) -> Session:
        if self._idle:
            return self._idle.pop()
        return Session(self._connect, self.settings, self.cancel)

    async def _read(
        self,
        statement: str,
        parameters: Mapping[str, object],
        read: Callable[[Any, list[Column]], T],
    ) -> T:
        text, values = self.bound(statement, parameters)
        async with self._free:
            session = self._session()

            def work() -> T:
                cursor = session.execute(text, values)
                return read(cursor, self._columns(cursor))

            try:
                result = await self._work(session, work, self._timeout)
            except BaseException:
                await asyncio.to_thread(session.close)
                raise
            self._idle.append(session)
            return result

    async def _work(self, session: Session, work: Callable[[], T], seconds: float) -> T:
        try:
            return await self._calls.run(work, session.interrupt, seconds)
        except self._errors as error:
            text = _PRIVATE.sub("…", str(error).partition("\n")[0])
            raise QueryError(f"connection {self._name!r}: {text}") from None


def _table(cursor: Any, columns: list[Column]) -> ArrowTable:
    return table_within_budget(batches(cursor, columns), arrow_schema(columns))


def _stop(session: Session) -> None:
    session.interrupt()
    session.close()


def decoded(text: str | None) -> str:
    """A part of a URL without its percent-encoding; raises `ValueError` if it is missing."""
    if not text:
        raise ValueError
    return unquote(text)

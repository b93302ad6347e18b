"""MySQL and MariaDB, read only, on connections that are kept for the next statement."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.mysql_errors import CannotConnectError, connect_error, statement_error
from skillian.connectors.mysql_session import Rows, Session
from skillian.connectors.mysql_types import arrow_table, column_type
from skillian.connectors.threads import run_interruptible
from skillian.errors import QueryError, UnavailableError

T = TypeVar("T")

ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30.0
STREAM_TIMEOUT_SECONDS = 3600.0
MAX_CONNECTIONS = 8

_STOP_AGAIN_SECONDS = 0.01
_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key")
_CATALOG = """
SELECT table_schema AS table_schema, table_name AS table_name, column_name AS column_name,
    data_type AS data_type, column_type AS column_type, numeric_scale AS numeric_scale
FROM information_schema.columns
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY table_schema <=> DATABASE() DESC, CAST(table_schema AS CHAR), CAST(table_name AS CHAR),
    ordinal_position
"""


class MySQLConnector:
    """A `Connector` to one server.

    Args:
        login: What the driver connects by.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
    """

    dialect = "mysql"
    keeps_catalog = False

    def __init__(
        self, login: Mapping[str, Any], name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._login = login
        self._name = name
        self._timeout = timeout
        self._turns = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[Session] = []
        self._busy: set[Session] = set()
        self._streaming: set[Session] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector for `mysql://user:password@host:3306/database`.

        After a `?` may follow `unix_socket`, or `ssl_ca` (the server's certificate is checked
        then), `ssl_cert` and `ssl_key`; these paths are relative to `folder`. Raises
        `UnavailableError` for a URL that cannot be meant.
        """
        try:
            return cls(login_of(url, folder), name)
        except ValueError:
            raise UnavailableError(
                f"connection {name!r}: its URL is not mysql://user:password@host:3306/database;"
                f" after a ? it may have {', '.join(_OPTIONS)}"
            ) from None

    async def catalog(self) -> tuple[Table, ...]:
        """Return all tables and views; those of the default schema first."""
        columns: dict[tuple[str, str], dict[str, ColumnType]] = {}
        for row in (await self.run(_CATALOG, {})).to_pylist():
            table = columns.setdefault((row["table_schema"], row["table_name"]), {})
            table[row["column_name"]] = column_type(
                row["data_type"], row["column_type"], row["numeric_scale"]
            )
        return tuple(Table(schema, name, found) for (schema, name), found in columns.items())

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""
        empty = f"SELECT * FROM ({statement}) AS described LIMIT 0"  # noqa: S608 - checked there
        return await self._read(empty, {}, lambda rows: dict(rows.columns))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters; at most `ROW_BUDGET` rows may come back."""
        return await self._read(statement, parameters, _table)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches, however many there are."""
        async with self._turns:
            session = Session(self._login, STREAM_TIMEOUT_SECONDS)
            self._streaming.add(session)
            try:
                rows = await self._work(session, lambda: session.rows(statement, parameters))
                while (batch := await self._work(session, rows.batch)) is not None:
                    yield batch
            finally:
                self._streaming.discard(session)
                await asyncio.to_thread(session.stop)

    async def aclose(self) -> None:
        """Stop what runs and disconnect; a later statement connects again."""
        while self._busy:
            for session in tuple(self._busy):
                session.interrupt()
            await asyncio.sleep(_STOP_AGAIN_SECONDS)
        for session in (*self._idle, *self._streaming):
            await asyncio.to_thread(session.stop)
        self._idle.clear()

    async def _read(
        self, statement: str, parameters: Mapping[str, object], read: Callable[[Rows], T]
    ) -> T:
        async with self._turns:
            session = self._idle.pop() if self._idle else Session(self._login, self._timeout)
            try:
                return await self._work(session, lambda: session.read(statement, parameters, read))
            finally:
                if session.usable:
                    self._idle.append(session)

    async def _work(self, session: Session, work: Callable[[], T]) -> T:
        seconds = STREAM_TIMEOUT_SECONDS if session in self._streaming else self._timeout
        self._busy.add(session)
        try:
            return await run_interruptible(work, session.interrupt)
        except CannotConnectError as error:
            raise connect_error(self._name, error) from None
        except pymysql.MySQLError as error:
            raise statement_error(self._name, error, seconds) from None
        finally:
            self._busy.discard(session)


def _table(rows: Rows) -> ArrowTable:
    batches: list[ArrowBatch] = []
    count = size = 0
    while (batch := rows.batch()) is not None:
        count, size = count + batch.num_rows, size + batch.nbytes
        if count > ROW_BUDGET or size > BYTE_BUDGET:
            raise QueryError(
                f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                " narrow it with filters, or group by fewer dimensions"
            )
        batches.append(batch)
    return arrow_table(rows.columns, batches)


def login_of(url: str, folder: Path) -> dict[str, Any]:
    """Return the driver's arguments; raises `ValueError` for a URL that cannot be meant."""
    parts = urlsplit(url)
    login: dict[str, Any] = {
        "host": parts.hostname or "localhost",
        "port": parts.port or 3306,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or "").encode(),
        "database": unquote(parts.path.removeprefix("/")) or None,
    }
    options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    if not options.keys() <= {*_OPTIONS}:
        raise ValueError
    login |= {option: str(folder / path) for option, path in options.items()}
    if "ssl_ca" in options:
        login |= {"ssl_verify_cert": True, "ssl_verify_identity": True}
    # Nobody listens in between; without it the driver reads all certificates each time.
    return login | ({"ssl_disabled": True} if "unix_socket" in options else {})

"""MySQL and MariaDB, read only, on connections that are kept for the next statement."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql

from skillian.connectors.arrow import arrow_schema
from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ArrowBatch,
    ArrowTable,
    ColumnType,
    Connector,
    Declaration,
    StateConnector,
    Table,
    table_within_budget,
    tables_of,
)
from skillian.connectors.mysql.errors import CannotConnectError, connect_error, statement_error
from skillian.connectors.mysql.session import MySQLRows, MySQLSession
from skillian.connectors.mysql.types import column_type
from skillian.errors import QueryError, UnavailableError
from skillian.tasks import BlockingCalls

T = TypeVar("T")

MAX_CONNECTIONS = 8

_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key")
_CATALOG = """
SELECT table_schema AS table_schema, table_name AS table_name, column_name AS column_name,
    data_type AS data_type, column_type AS column_type, numeric_scale AS numeric_scale,
    is_nullable AS is_nullable, collation_name AS collation_name
FROM information_schema.columns
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
ORDER BY table_schema <=> DATABASE() DESC, CAST(table_schema AS CHAR), CAST(table_name AS CHAR),
    ordinal_position
"""
# Apart from the columns: the server reads it without opening any table.
_KEYS = """
SELECT table_schema AS table_schema, table_name AS table_name, column_name AS column_name,
    ordinal_position AS position
FROM information_schema.key_column_usage
WHERE constraint_name = 'PRIMARY'
    AND table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
"""
# MariaDB's JSON is a longtext with a constraint. MySQL refuses this statement: its JSON is a type.
_JSON_CHECKS = """
SELECT constraint_schema AS table_schema, table_name AS table_name, check_clause AS clause
FROM information_schema.check_constraints
WHERE check_clause LIKE 'json_valid(%'
"""
_JSON_STORED = ("longtext", "utf8mb4_bin")


class MySQLConnector:
    """A `Connector` to one server.

    Args:
        login: The driver's arguments for a connection.
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
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        # The holder of a state also runs statements outside of it, which need connections.
        self._states = asyncio.Semaphore(MAX_CONNECTIONS // 2)
        self._calls = BlockingCalls()
        self._idle: list[MySQLSession] = []
        self._streaming: set[MySQLSession] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `mysql://user:password@host:3306/database`.

        Options after a `?` are `unix_socket`, or `ssl_ca` (which turns on the check of the
        server's certificate), `ssl_cert` and `ssl_key`; their paths are relative to `folder`.
        Raises `UnavailableError` for a malformed URL.
        """
        try:
            return cls(login_of(url, folder), name)
        except ValueError:
            raise UnavailableError(
                f"connection {name!r}: its URL is not mysql://user:password@host:3306/database;"
                f" after a ? it may have {', '.join(_OPTIONS)}"
            ) from None

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default schema first."""
        rows = (await self.run(_CATALOG, {})).to_pylist()
        keys = {_names(row): row["position"] for row in (await self.run(_KEYS, {})).to_pylist()}
        json = await self._json_columns(rows)
        return tables_of(
            "mysql",
            (
                (
                    *_names(row),
                    ColumnType("text", "json")
                    if _names(row) in json
                    else column_type(row["data_type"], row["column_type"], row["numeric_scale"]),
                    Declaration(
                        nullable=row["is_nullable"] == "YES",
                        collation=row["collation_name"] or "",
                        key=int(keys.get(_names(row), 0)),
                    ),
                )
                for row in rows
            ),
        )

    async def _json_columns(self, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
        """MariaDB's columns of JSON among those of the catalogue."""
        stored = {
            _names(row) for row in rows if (row["data_type"], row["collation_name"]) == _JSON_STORED
        }
        checks: list[dict[str, Any]] = []
        if stored:
            with suppress(QueryError):
                checks = (await self.run(_JSON_CHECKS, {})).to_pylist()
        clauses = {(row["table_schema"], row["table_name"], row["clause"]) for row in checks}
        return {
            (schema, table, column)
            for schema, table, column in stored
            if (schema, table, f"json_valid(`{column.replace('`', '``')}`)") in clauses
        }

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        empty = f"SELECT * FROM ({statement}) AS described LIMIT 0"  # noqa: S608 - the session checks it
        return await self._read(empty, {}, lambda rows: dict(rows.columns))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        return await self._read(statement, parameters, _table)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number."""
        async with self._free:
            session = MySQLSession(self._login, STREAM_TIMEOUT_SECONDS)
            self._streaming.add(session)
            try:
                rows = await self._work(session, lambda: session.rows(statement, parameters))
                while (batch := await self._work(session, rows.batch)) is not None:
                    yield batch
            finally:
                self._streaming.discard(session)
                await asyncio.to_thread(session.stop)

    @asynccontextmanager
    async def one_state(self) -> AsyncGenerator[Connector]:
        """A connector whose streams run in one transaction, one after another.

        Only tables of transactional engines such as InnoDB keep their state.
        """
        lock = asyncio.Lock()
        async with self._states, self._free:
            session = MySQLSession(self._login, STREAM_TIMEOUT_SECONDS)
            self._streaming.add(session)

            async def stream(
                statement: str, parameters: Mapping[str, object]
            ) -> AsyncGenerator[ArrowBatch]:
                async with lock:
                    rows = await self._work(session, lambda: session.rows(statement, parameters))
                    try:
                        while (batch := await self._work(session, rows.batch)) is not None:
                            yield batch
                    finally:
                        if not rows.ended:
                            await asyncio.to_thread(session.end_statement)

            try:
                await self._work(session, session.begin)
                yield StateConnector(self, stream)
            finally:
                self._streaming.discard(session)
                await asyncio.to_thread(session.stop)

    async def aclose(self) -> None:
        """Stop running statements and disconnect; the next statement reconnects."""
        await self._calls.stop()
        for session in (*self._idle, *self._streaming):
            await asyncio.to_thread(session.stop)
        self._idle.clear()

    async def _read(
        self, statement: str, parameters: Mapping[str, object], read: Callable[[MySQLRows], T]
    ) -> T:
        async with self._free:
            session = self._idle.pop() if self._idle else MySQLSession(self._login, self._timeout)
            try:
                return await self._work(session, lambda: session.read(statement, parameters, read))
            finally:
                if session.usable:
                    self._idle.append(session)

    async def _work(self, session: MySQLSession, work: Callable[[], T]) -> T:
        # The server enforces the time limit.
        try:
            return await self._calls.run(work, session.interrupt)
        except CannotConnectError as error:
            raise connect_error(self._name, error) from None
        except pymysql.MySQLError as error:
            raise statement_error(self._name, error, session.seconds) from None


def _names(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["table_schema"], row["table_name"], row["column_name"]


def _table(rows: MySQLRows) -> ArrowTable:
    return table_within_budget(iter(rows.batch, None), arrow_schema(rows.columns))


def login_of(url: str, folder: Path) -> dict[str, Any]:
    """The driver's arguments; raises `ValueError` for a malformed URL."""
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
    # The connection is local; without this the driver reads all certificates each time.
    return login | ({"ssl_disabled": True} if "unix_socket" in options else {})

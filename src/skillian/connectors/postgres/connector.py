"""PostgreSQL, through a small pool of connections; each statement has its own snapshot."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from skillian.connectors.arrow import arrow
from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ArrowBatch,
    ArrowTable,
    ColumnType,
    Connector,
    Declaration,
    ResultBudget,
    StateConnector,
    Table,
    tables_of,
)
from skillian.connectors.postgres.copy_rows import batches, described, for_driver
from skillian.connectors.postgres.errors import statement_error
from skillian.connectors.postgres.pool import MAX_CONNECTIONS, Connection, Pool, subtransaction
from skillian.connectors.postgres.scale import output_scales, with_scales
from skillian.connectors.postgres.types import CATALOG, column_type
from skillian.errors import QueryError, UnavailableError
from skillian.tasks import unless_cancelled

_GRACE_SECONDS = 10.0
# Between the statements of one state, the other side may be read for long.
_WAITING = b"SET LOCAL idle_in_transaction_session_timeout = '1h'"

# A password that is not percent-encoded may contain any character, up to the last `@`.
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?]*)(?::(?P<password>.*))?@)?(?P<rest>[^@]*)",
    re.IGNORECASE | re.DOTALL,
)


class PostgresConnector:
    """A `Connector` to one PostgreSQL database.

    Args:
        name: The connection's name in the configuration; messages use it in place of the URL.
        options: The parameters of libpq: host, dbname, user, password and so on.
        timeout: How many seconds a statement may run.
    """

    dialect = "postgres"
    keeps_catalog = False

    def __init__(
        self, name: str, options: Mapping[str, str], timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._pool = Pool(name, options)
        # The holder of a state also runs statements outside of it, which need connections.
        self._states = asyncio.Semaphore(MAX_CONNECTIONS // 2)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - the URL has no paths
        """The connector for a URL in libpq's form; the first statement connects.

        Raises `UnavailableError` for a malformed URL.
        """
        match = _URL.fullmatch(url)
        if match is not None:
            login = {key: unquote(match[key]) for key in ("user", "password") if match[key]}
            with suppress(psycopg.ProgrammingError):
                options = conninfo_to_dict(f"postgresql://{match['rest']}", **login)
                return cls(name, {key: str(value) for key, value in options.items()})
        raise UnavailableError(
            f"connection {name!r}: its URL is not understood; write"
            " postgresql://user:password@host:5432/database"
        )

    async def catalog(self) -> tuple[Table, ...]:
        """The relations that the role may read; those of the default schema first."""
        async with self._answered(self._timeout), self._transaction(self._timeout) as connection:
            return await _catalog(connection)

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        text = for_driver(statement, {})
        async with self._answered(self._timeout), self._transaction(self._timeout) as connection:
            columns = await described(connection, text, {})
            if any(kind.sql == "numeric" for _, kind in columns):
                scales = output_scales(statement, await _catalog(connection))
                columns = with_scales(columns, scales)
        return dict(columns)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        budget, kept = ResultBudget(), list[Any]()
        rows = self._rows(statement, parameters, self._timeout)
        async with aclosing(self._in_time(rows, self._timeout)) as arriving:
            async for batch in arriving:
                budget.spend(batch)
                kept.append(batch)
        table: ArrowTable = arrow.Table.from_batches(kept)
        return table

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number.

        Rows that are not yet consumed wait in the server; closing the iterator cancels the
        statement.
        """
        seconds = max(self._timeout, STREAM_TIMEOUT_SECONDS)
        rows = self._rows(statement, parameters, seconds)
        async with aclosing(self._in_time(rows, seconds)) as arriving:
            async for batch in arriving:
                yield batch

    async def aclose(self) -> None:
        """Cancel running statements and close all connections; the next statement reconnects."""
        await self._pool.aclose()

    @asynccontextmanager
    async def one_state(self) -> AsyncGenerator[Connector]:
        """A connector whose streams run in one transaction, one after another."""
        seconds = max(self._timeout, STREAM_TIMEOUT_SECONDS)
        lock = asyncio.Lock()
        async with self._states, self._transaction(seconds) as connection:
            await connection.execute(_WAITING)

            async def stream(
                statement: str, parameters: Mapping[str, object]
            ) -> AsyncGenerator[ArrowBatch]:
                rows = self._fetched(connection, statement, parameters, seconds)
                async with lock, aclosing(self._in_time(rows, seconds)) as arriving:
                    async for batch in arriving:
                        yield batch

            with self._pool.paused(connection):
                yield StateConnector(self, stream)

    async def _in_time(
        self, rows: AsyncGenerator[ArrowBatch], seconds: float
    ) -> AsyncGenerator[ArrowBatch]:
        async with aclosing(rows) as arriving:
            while True:
                async with self._answered(seconds):
                    batch = await anext(arriving, None)
                if batch is None:
                    return
                yield batch

    async def _rows(
        self, statement: str, parameters: Mapping[str, object], seconds: float
    ) -> AsyncGenerator[ArrowBatch]:
        text = for_driver(statement, parameters)
        async with (
            self._transaction(seconds) as connection,
            aclosing(batches(connection, text, parameters)) as arriving,
        ):
            async for batch in arriving:
                with self._pool.paused(connection):
                    yield batch

    async def _fetched(
        self,
        connection: Connection,
        statement: str,
        parameters: Mapping[str, object],
        seconds: float,
    ) -> AsyncGenerator[ArrowBatch]:
        """Run a statement in a transaction that is paused between its statements."""
        text = for_driver(statement, parameters)
        try:
            # A statement that fails, or is left early, ends a subtransaction only.
            async with (
                subtransaction(connection),
                aclosing(batches(connection, text, parameters)) as arriving,
            ):
                while True:
                    with self._pool.resumed(connection):
                        batch = await anext(arriving, None)
                    if batch is None:
                        return
                    yield batch
        except psycopg.Error as error:
            raise unless_cancelled(statement_error(self._name, error, seconds)) from None

    @asynccontextmanager
    async def _answered(self, seconds: float) -> AsyncGenerator[None]:
        """Raise `QueryError` if the server does not stop a statement at its own time limit."""
        try:
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                yield
        except TimeoutError:
            raise QueryError(
                f"connection {self._name!r}: the server does not answer; check that it runs, and"
                " the network"
            ) from None

    @asynccontextmanager
    async def _transaction(self, seconds: float) -> AsyncGenerator[Connection]:
        try:
            async with self._pool.transaction(seconds) as connection:
                yield connection
        except psycopg.Error as error:
            raise unless_cancelled(statement_error(self._name, error, seconds)) from None


async def _catalog(connection: Connection) -> tuple[Table, ...]:
    rows: Any = await (await connection.execute(CATALOG)).fetchall()
    return tables_of(
        "postgres",
        (
            (
                *(schema, table, column, column_type(*kind)),
                Declaration(declared, nullable, collation or "", key or 0),
            )
            for schema, table, column, *kind, declared, nullable, collation, key in rows
        ),
    )

"""PostgreSQL: a server asked through a small pool, each statement in a snapshot of its own."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import unquote

import psycopg
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
from psycopg.conninfo import conninfo_to_dict

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.postgres_copy import batches, described, for_driver
from skillian.connectors.postgres_errors import statement_error
from skillian.connectors.postgres_pool import Connection, Pool
from skillian.connectors.postgres_scale import output_scales, with_scales
from skillian.connectors.postgres_types import CATALOG, column_type
from skillian.errors import QueryError, UnavailableError

ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30.0
STREAM_TIMEOUT_SECONDS = 3600.0

_GRACE_SECONDS = 10.0

# A password that was put in as it is may hold any character but those of another `@`.
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?]*)(?::(?P<password>.*))?@)?(?P<rest>[^@]*)",
    re.IGNORECASE | re.DOTALL,
)


class PostgresConnector:
    """A `Connector` to one PostgreSQL database.

    Args:
        name: The connection's name in the configuration; messages use it in place of the URL.
        options: What libpq connects by: host, dbname, user, password and so on.
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

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - it has no paths
        """Return the connector for a URL as libpq takes it; nothing is opened yet.

        Raises `UnavailableError` for a URL that is none.
        """
        match = _URL.fullmatch(url)
        if match is not None:
            given = {key: unquote(match[key]) for key in ("user", "password") if match[key]}
            with suppress(psycopg.ProgrammingError):
                options = conninfo_to_dict(f"postgresql://{match['rest']}", **given)
                return cls(name, {key: str(value) for key, value in options.items()})
        raise UnavailableError(
            f"connection {name!r}: its URL is not understood; write"
            " postgresql://user:password@host:5432/database"
        )

    async def catalog(self) -> tuple[Table, ...]:
        """Return the relations the role may read; those of the default schema first."""
        async with self._answered(self._timeout), self._transaction(self._timeout) as connection:
            return await _catalog(connection)

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""
        text = for_driver(statement, {})
        async with self._answered(self._timeout), self._transaction(self._timeout) as connection:
            columns = await described(connection, text, {})
            if any(kind.sql == "numeric" for _, kind in columns):
                scales = output_scales(statement, await _catalog(connection))
                columns = with_scales(columns, scales)
        return dict(columns)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters; at most `ROW_BUDGET` rows may come back."""
        found: list[Any] = []
        rows = size = 0
        async with aclosing(self._batches(statement, parameters, self._timeout)) as arriving:
            async for batch in arriving:
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows > ROW_BUDGET or size > BYTE_BUDGET:
                    raise QueryError(
                        f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                        " narrow it with filters, or group by fewer dimensions"
                    )
                found.append(batch)
        from_batches: Any = pa.Table.from_batches  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return cast("ArrowTable", from_batches(found))

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches, however many there are.

        What is not yet asked for waits in the server; closing the iterator cancels the statement.
        """
        seconds = max(self._timeout, STREAM_TIMEOUT_SECONDS)
        async with aclosing(self._batches(statement, parameters, seconds)) as arriving:
            async for batch in arriving:
                yield batch

    async def aclose(self) -> None:
        """Cancel what runs and close all connections; a later statement opens them again."""
        await self._pool.aclose()

    async def _batches(
        self, statement: str, parameters: Mapping[str, object], seconds: float
    ) -> AsyncGenerator[ArrowBatch]:
        async with aclosing(self._rows(statement, parameters, seconds)) as arriving:
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

    @asynccontextmanager
    async def _answered(self, seconds: float) -> AsyncGenerator[None]:
        """Give up where the server has not even stopped a statement by its own limit."""
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
            raise statement_error(self._name, error, seconds) from None


async def _catalog(connection: Connection) -> tuple[Table, ...]:
    columns: dict[tuple[str, str], dict[str, ColumnType]] = {}
    rows = await (await connection.execute(CATALOG)).fetchall()
    for schema, table, column, *kind in cast("Any", rows):
        columns.setdefault((schema, table), {})[column] = column_type(*kind)
    return tuple(Table(schema, name, found) for (schema, name), found in columns.items())

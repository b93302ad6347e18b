"""ClickHouse servers, read only, over HTTP."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo

from clickhouse_connect.driver.exceptions import ClickHouseError

from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    ArrowBatch,
    ArrowTable,
    ColumnType,
    Declaration,
    Table,
    table_within_budget,
    tables_of,
)
from skillian.connectors.clickhouse.errors import StatementError, explained
from skillian.connectors.clickhouse.session import ClickHouseServer, ClickHouseStatement
from skillian.connectors.clickhouse.statement import bound, checked
from skillian.connectors.clickhouse.types import column_type, is_nullable
from skillian.errors import UnavailableError
from skillian.tasks import BlockingCalls

T = TypeVar("T")

_CATALOG = """
SELECT c."database" AS "database", c."table" AS "table", c."name" AS "name", c."type" AS "type",
    t."engine" AS "engine"
FROM "system"."columns" AS c
LEFT JOIN "system"."tables" AS t ON t."database" = c."database" AND t."name" = c."table"
WHERE c."database" NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
ORDER BY c."database" <> currentDatabase(), c."database", c."table", c."position"
"""
_MERGED = re.compile("(?:Replacing|Collapsing|Summing|Aggregating|Coalescing)MergeTree$")
"""The engines of tables from which merges remove rows, also replicated and versioned ones."""
_OPTIONS = ("secure", "ca_cert", "timezone")
_SECURE = {"true": True, "false": False}


class ClickHouseConnector:
    """A `Connector` to one server.

    Args:
        login: The driver's arguments for a connection.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timezone: The zone of a DateTime without one of its own.
        timeout: How many seconds a statement may run.
    """

    dialect = "clickhouse"
    keeps_catalog = False

    def __init__(
        self,
        login: Mapping[str, Any],
        name: str,
        timezone: str = "UTC",
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._server = ClickHouseServer(login, timezone)
        self._calls = BlockingCalls()
        self._streams: set[ClickHouseStatement] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `clickhouse://user:password@host:8123/database`.

        Options after a `?` are `secure=true` (TLS), `ca_cert` (a file relative to `folder`) and
        `timezone`. Raises `UnavailableError` for a malformed URL.
        """
        try:
            login, timezone = login_of(url, folder)
        except (KeyError, ValueError, OSError):
            raise UnavailableError(
                f"connection {name!r}: its URL is not"
                " clickhouse://user:password@host:8123/database; after a ? it may have"
                " secure=true, ca_cert= with the path of a file, and timezone= with the name of a"
                " zone, such as Europe/Berlin"
            ) from None
        return cls(login, name, timezone)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default database first."""
        rows = (await self.run(_CATALOG, {})).to_pylist()
        engines = {(row["database"], row["table"]): str(row["engine"] or "") for row in rows}
        # A key of ClickHouse orders rows and may repeat: it is not declared as a key here.
        tables = tables_of(
            "clickhouse",
            (
                (
                    row["database"],
                    row["table"],
                    row["name"],
                    column_type(row["type"]),
                    Declaration(nullable=is_nullable(row["type"])),
                )
                for row in rows
            ),
        )
        return tuple(
            replace(table, remark=_remark(engines[table.schema, table.name])) for table in tables
        )

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""

        def columns(running: ClickHouseStatement) -> Mapping[str, ColumnType]:
            running.describe(checked(statement, {}), {})
            return running.columns

        return await self._read(columns)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        values = bound(parameters)

        def table(running: ClickHouseStatement) -> ArrowTable:
            running.start(checked(statement, values), values)
            return table_within_budget(iter(running.batch, None), running.schema)

        return await self._read(table)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number."""
        values = bound(parameters)
        text = checked(statement, values)
        running = ClickHouseStatement(self._server, STREAM_TIMEOUT_SECONDS)
        self._streams.add(running)
        try:
            await self._work(running, lambda: running.start(text, values))
            while (batch := await self._work(running, running.batch)) is not None:
                yield batch
        finally:
            self._streams.discard(running)
            await asyncio.to_thread(running.close)

    async def aclose(self) -> None:
        """Stop running statements and disconnect; the next statement connects again."""
        await self._calls.stop()
        while self._streams:
            self._streams.pop().interrupt()
        await asyncio.to_thread(self._server.close)

    async def _read(self, read: Callable[[ClickHouseStatement], T]) -> T:
        running = ClickHouseStatement(self._server, self._timeout)
        try:
            return await self._work(running, lambda: read(running))
        finally:
            await asyncio.to_thread(running.close)

    async def _work(self, running: ClickHouseStatement, work: Callable[[], T]) -> T:
        # The server enforces the time limit.
        try:
            return await self._calls.run(work, running.interrupt)
        except (ClickHouseError, StatementError, OSError) as error:
            raise explained(self._name, error, running.seconds) from None


def _remark(engine: str) -> str:
    """How a table of this engine is read, if that is not obvious."""
    if not _MERGED.search(engine):
        return ""
    return f"is a {engine} and is read with FINAL: as if its rows were merged already"


def login_of(url: str, folder: Path) -> tuple[dict[str, Any], str]:
    """The driver's arguments, and a zone; raises an error for a malformed URL."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    if not options.keys() <= {*_OPTIONS}:
        raise ValueError
    timezone = options.get("timezone", "UTC")
    ZoneInfo(timezone)
    secure = _SECURE[options.get("secure", "false")]
    login: dict[str, Any] = {
        "host": parts.hostname or "localhost",
        "port": parts.port or (8443 if secure else 8123),
        "username": unquote(parts.username or "default"),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.removeprefix("/")) or None,
        "secure": secure,
    }
    if "ca_cert" in options:
        login["ca_cert"] = str(folder / options["ca_cert"])
    return login, timezone

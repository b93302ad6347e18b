"""ClickHouse servers, read only, over HTTP."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, unquote
from zoneinfo import ZoneInfo

from clickhouse_connect.driver.exceptions import ClickHouseError

from skillian.connectors.base import TIMEOUT_SECONDS, Declaration, Table, tables_of
from skillian.connectors.clickhouse.errors import StatementError, explained
from skillian.connectors.clickhouse.session import ClickHouseServer, ClickHouseStatement
from skillian.connectors.clickhouse.types import column_type, is_nullable
from skillian.connectors.servers import ServerConnector

_CATALOG = """
SELECT c."database" AS "database", c."table" AS "table", c."name" AS "name", c."type" AS "type",
    t."engine" AS "engine"
FROM "system"."columns" AS c
LEFT JOIN "system"."tables" AS t ON t."database" = c."database" AND t."name" = c."table"
WHERE c."database" NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
    AND c."default_kind" <> 'EPHEMERAL'
ORDER BY c."database" <> currentDatabase(), c."database", c."table", c."position"
"""
_MERGED = re.compile("(?:Replacing|Collapsing|Summing|Aggregating|Coalescing)MergeTree$")
"""The engines of tables from which merges remove rows, also replicated and versioned ones."""
_UNMERGED = ("Buffer", "Distributed", "MaterializedView", "Merge")
"""The engines of tables that read others, which may be of such an engine."""
_SECURE = {"true": True, "false": False}


class ClickHouseConnector(ServerConnector[ClickHouseStatement]):
    """A `Connector` to one server.

    Args:
        login: The driver's arguments for a connection, and a `timezone`.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
    """

    dialect = "clickhouse"
    failures = (ClickHouseError, StatementError, OSError)
    form = "clickhouse://user:password@host:8123/database"
    options = ("secure=true", "ca_cert=FILE", "timezone=Europe/Berlin")

    def __init__(
        self, login: Mapping[str, Any], name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        server = self._server = ClickHouseServer(login)
        super().__init__(
            name, timeout, lambda seconds: ClickHouseStatement(server, seconds), explained
        )

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `clickhouse://user:password@host:8123/database`.

        Raises `UnavailableError` for a malformed URL.
        """
        return cls(cls.login_of(name, url, folder), name)

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments, and the `timezone` of a DateTime without one of its own."""
        timezone = options.get("timezone", "UTC")
        ZoneInfo(timezone)
        secure = _SECURE[options.get("secure", "false")]
        return {
            **options,
            "host": parts.hostname or "localhost",
            "port": parts.port or (8443 if secure else 8123),
            "username": unquote(parts.username or "default"),
            "password": unquote(parts.password or ""),
            "database": unquote(parts.path.removeprefix("/")) or None,
            "secure": secure,
            "timezone": timezone,
        }

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
            replace(table, merges=_MERGED.search(engine) is not None, remark=_remark(engine))
            for table in tables
            for engine in [engines[table.schema, table.name]]
        )

    async def aclose(self) -> None:
        """Stop running statements and disconnect; the next statement connects again."""
        await super().aclose()
        await asyncio.to_thread(self._server.close)


def _remark(engine: str) -> str:
    """How a table of this engine is read, if that is not obvious."""
    if _MERGED.search(engine):
        return f"is a {engine} and is read with FINAL: as if its rows were merged already"
    if engine in _UNMERGED:
        return (
            f"is a {engine} and is read without FINAL: rows that a later merge removes are seen;"
            " if it reads a table whose engine merges rows, compare a query of it with FINAL"
        )
    return ""

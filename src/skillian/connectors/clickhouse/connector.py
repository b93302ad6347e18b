"""ClickHouse servers, read only, over HTTP."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo

from clickhouse_connect.driver.exceptions import ClickHouseError

from skillian.connectors.base import TIMEOUT_SECONDS, Declaration, Table, tables_of
from skillian.connectors.clickhouse.errors import StatementError, explained
from skillian.connectors.clickhouse.session import ClickHouseServer, ClickHouseStatement
from skillian.connectors.clickhouse.types import column_type, is_nullable
from skillian.connectors.servers import ServerConnector
from skillian.errors import UnavailableError

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
_OPTIONS = ("secure", "ca_cert", "timezone")
_SECURE = {"true": True, "false": False}


class ClickHouseConnector(ServerConnector[ClickHouseStatement]):
    """A `Connector` to one server.

    Args:
        login: The driver's arguments for a connection.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timezone: The zone of a DateTime without one of its own.
        timeout: How many seconds a statement may run.
    """

    dialect = "clickhouse"
    failures = (ClickHouseError, StatementError, OSError)

    def __init__(
        self,
        login: Mapping[str, Any],
        name: str,
        timezone: str = "UTC",
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        server = self._server = ClickHouseServer(login, timezone)
        super().__init__(
            name, timeout, lambda seconds: ClickHouseStatement(server, seconds), explained
        )

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

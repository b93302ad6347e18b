"""MySQL and MariaDB, read only, on connections that are kept for the next statement."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, unquote

import pymysql

from skillian.connectors.base import TIMEOUT_SECONDS, ColumnType, Declaration, Table, tables_of
from skillian.connectors.mysql.errors import explained
from skillian.connectors.mysql.session import MySQLSession
from skillian.connectors.mysql.types import column_type
from skillian.connectors.servers import CannotConnectError, StateServerConnector, decoded
from skillian.errors import QueryError

_CATALOG = """
SELECT table_schema AS table_schema, table_name AS table_name, column_name AS column_name,
    data_type AS data_type, column_type AS column_type, numeric_scale AS numeric_scale,
    is_nullable AS is_nullable, collation_name AS collation_name,
    FIND_IN_SET('select', privileges) > 0 AS readable
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
# Of a table of which the user may read some columns, the catalogue has only these.
_OF_COLUMNS = re.compile(r"\bSELECT \(")
_OTHERS = "(hidden columns)"
_JSON_STORED = ("longtext", "utf8mb4_bin")


class MySQLConnector(StateServerConnector[MySQLSession]):
    """A `Connector` to one server.

    Only tables of transactional engines such as InnoDB keep the state of `one_state`.

    Args:
        login: The driver's arguments for a connection.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
    """

    dialect = "mysql"
    connections = 8
    limits_sessions = True
    form = "mysql://user:password@host:3306/database"
    options = ("unix_socket=FILE", "ssl_ca=FILE", "ssl_cert=FILE", "ssl_key=FILE")
    failures = (CannotConnectError, pymysql.MySQLError)

    def __init__(
        self, login: Mapping[str, Any], name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        super().__init__(name, timeout, lambda seconds: MySQLSession(login, seconds), explained)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `mysql://user:password@host:3306/database`.

        An `ssl_ca` turns on the check of the server's certificate. Raises `UnavailableError` for a
        malformed URL, and for one that names no database, since tables of several may have one
        name.
        """
        return cls(cls.login_of(name, url, folder), name)

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments."""
        login: dict[str, Any] = {
            "host": parts.hostname or "localhost",
            "port": parts.port or 3306,
            "user": unquote(parts.username or ""),
            "password": unquote(parts.password or "").encode(),
            "database": decoded(parts.path.removeprefix("/")),
            **options,
        }
        if "ssl_ca" in options:
            login |= {"ssl_verify_cert": True, "ssl_verify_identity": True}
        # The connection is local; without this the driver reads all certificates each time.
        return login | ({"ssl_disabled": True} if "unix_socket" in options else {})

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default schema first."""
        rows = (await self.run(_CATALOG, {})).to_pylist()
        keys = {_names(row): row["position"] for row in (await self.run(_KEYS, {})).to_pylist()}
        json = await self._json_columns(rows)
        partly = await self._partly_hidden(dict.fromkeys(_names(row)[:2] for row in rows))
        known = (
            (
                *_names(row),
                _type_of(row, is_json=_names(row) in json) if row["readable"] else None,
                Declaration(
                    nullable=row["is_nullable"] == "YES",
                    collation=row["collation_name"] or "",
                    key=int(keys.get(_names(row), 0)),
                ),
            )
            for row in rows
        )
        hidden = ((*table, _OTHERS, None, Declaration()) for table in partly)
        return tables_of("mysql", (*known, *hidden))

    async def _partly_hidden(self, tables: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The tables of which the user may not read all columns, by rights to single columns."""
        grants = [text for text in await self.read(MySQLSession.grants) if _OF_COLUMNS.search(text)]
        hidden: list[tuple[str, str]] = []
        for schema, table in tables:
            if any(schema in text and table in text for text in grants):
                name = ".".join(f"`{part.replace('`', '``')}`" for part in (schema, table))
                try:
                    await self.run(f"SELECT * FROM {name} LIMIT 0", {})  # noqa: S608 - of the catalogue
                except QueryError:
                    hidden.append((schema, table))
        return hidden

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


def _type_of(row: Mapping[str, Any], *, is_json: bool) -> ColumnType:
    if is_json:
        return ColumnType("text", "json")
    return column_type(row["data_type"], row["column_type"], row["numeric_scale"])


def _names(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["table_schema"], row["table_name"], row["column_name"]

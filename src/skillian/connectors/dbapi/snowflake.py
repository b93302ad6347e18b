"""Snowflake, by its connector for Python."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.dbapi.rules import vendor_rules
from skillian.connectors.servers import decoded

_FORM = "'YYYY-MM-DD HH24:MI:SS.FF6'"
adapt = vendor_rules(
    "snowflake",
    text="CAST(v AS VARCHAR)",
    timestamp=f"RTRIM(RTRIM(TO_VARCHAR(v, {_FORM}), '0'), '.')",
    timestamptz=f"RTRIM(RTRIM(TO_VARCHAR(CONVERT_TIMEZONE('UTC', v), {_FORM}), '0'), '.') || '+00'",
    whole="DECIMAL(38, 0)",
    functions={exp.IntDiv: "CAST((v - v % w) / w AS DECIMAL(38, 0))", exp.Normalize: None},
)

# The driver reports a type by its number in this list.
_CODES = (
    "FIXED", "REAL", "TEXT", "DATE", "TIMESTAMP", "VARIANT", "TIMESTAMP_LTZ", "TIMESTAMP_TZ",
    "TIMESTAMP_NTZ", "OBJECT", "ARRAY", "BINARY", "TIME", "BOOLEAN",
)  # fmt: skip

_SESSION = {"TIMEZONE": "UTC", "BINARY_OUTPUT_FORMAT": "HEX", "STATEMENT_TIMEOUT_IN_SECONDS": 3600}


class SnowflakeConnector(DBAPIConnector):
    """A `Connector` to one database of Snowflake."""

    dialect = "snowflake"
    form = "snowflake://user:password@account/database/schema"
    options = ("warehouse", "role", "authenticator")
    driver = "snowflake.connector"
    paramstyle = "qmark"
    catalogue = """
SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.numeric_scale, c.is_nullable
FROM information_schema.columns AS c
WHERE c.table_schema <> 'INFORMATION_SCHEMA'
ORDER BY CASE WHEN c.table_schema = CURRENT_SCHEMA() THEN 0 ELSE 1 END, c.table_schema,
    c.table_name, c.ordinal_position
"""
    kinds: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "STRING"), "text"),
        **dict.fromkeys(("FIXED", "NUMBER", "DECIMAL", "NUMERIC"), "decimal"),
        **dict.fromkeys(("REAL", "FLOAT", "DOUBLE"), "float"),
        "BOOLEAN": "boolean",
        "DATE": "date",
        **dict.fromkeys(("TIMESTAMP_NTZ", "DATETIME"), "timestamp"),
        **dict.fromkeys(("TIMESTAMP_LTZ", "TIMESTAMP_TZ"), "timestamptz"),
    }

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments."""
        database, _, schema = parts.path.removeprefix("/").partition("/")
        login = {
            "account": decoded(parts.hostname),
            "user": decoded(parts.username),
            "database": decoded(database),
            "paramstyle": "qmark",
            "login_timeout": 30,
            "session_parameters": _SESSION,
        }
        if parts.password:
            login["password"] = decoded(parts.password)
        return login | ({"schema": decoded(schema)} if schema else {}) | dict(options)

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The name of the type's number."""
        code = column[1]
        is_known = isinstance(code, int) and code < len(_CODES)
        return _CODES[code] if is_known else str(code), column[5]

    @staticmethod
    def cancel(connection: Any, cursor: Any) -> object:
        """Stop the statement of a cursor."""
        del connection
        return cursor.abort_query(cursor.sfqid)

"""SQL Server and Azure SQL, by Microsoft's mssql-python."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.dbapi.rules import vendor_rules
from skillian.connectors.servers import decoded

# Bytes decide, except that SQL Server treats spaces at the end of a text as absent.
_TEXT = "CAST(v AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2"
adapt = vendor_rules(
    "tsql",
    text=_TEXT,
    timestamp="FORMAT(v, 'yyyy-MM-dd HH:mm:ss.FFFFFF')",
    timestamptz="FORMAT(SWITCHOFFSET(v, '+00:00'), 'yyyy-MM-dd HH:mm:ss.FFFFFF') + '+00'",
    whole="DECIMAL(38, 0)",
    functions={
        exp.IntDiv: "CAST((v - v % w) / w AS DECIMAL(38, 0))",
        exp.Length: "LEN(v + N'.') - 1",
        exp.Pad: "REPLICATE(x, w - LEN(v + N'.') + 1) + v",
        **dict.fromkeys((exp.Normalize, exp.RegexpLike, exp.StrToTime)),
    },
)


class SQLServerConnector(DBAPIConnector):
    """A `Connector` to one database of SQL Server."""

    dialect = "tsql"
    form = "mssql://user:password@host:1433/database"
    options = ("encrypt", "trust_server_certificate", "authentication")
    driver = "mssql_python"
    paramstyle = "qmark"
    settings = ("SET ANSI_NULLS, QUOTED_IDENTIFIER, ARITHABORT, ANSI_WARNINGS ON",)
    catalogue = """
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.NUMERIC_SCALE, c.IS_NULLABLE
FROM INFORMATION_SCHEMA.COLUMNS AS c
ORDER BY CASE WHEN c.TABLE_SCHEMA = SCHEMA_NAME() THEN 0 ELSE 1 END, c.TABLE_SCHEMA,
    c.TABLE_NAME, c.ORDINAL_POSITION
"""
    kinds: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(("CHAR", "VARCHAR", "TEXT", "NCHAR", "NVARCHAR", "NTEXT", "STR"), "text"),
        **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "integer"),
        **dict.fromkeys(("DECIMAL", "NUMERIC", "MONEY", "SMALLMONEY"), "decimal"),
        **dict.fromkeys(("REAL", "FLOAT"), "float"),
        **dict.fromkeys(("BIT", "BOOL"), "boolean"),
        "DATE": "date",
        **dict.fromkeys(("DATETIME", "DATETIME2", "SMALLDATETIME"), "timestamp"),
        "DATETIMEOFFSET": "timestamptz",
    }

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments."""
        text = {
            "Server": f"{decoded(parts.hostname)},{parts.port or 1433}",
            "Database": decoded(parts.path.removeprefix("/")),
            "UID": decoded(parts.username) if parts.username else "",
            "PWD": decoded(parts.password) if parts.password else "",
            "Encrypt": options.get("encrypt", "yes"),
            "TrustServerCertificate": options.get("trust_server_certificate", "no"),
            "Authentication": options.get("authentication", ""),
            "ApplicationIntent": "ReadOnly",
        }
        given = {name: value for name, value in text.items() if value}
        listed = (f"{name}={{{value.replace('}', '}}')}}}" for name, value in given.items())
        return {"connection_str": ";".join(listed)}

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The name of the Python type that the driver reports."""
        kind = column[1]
        return getattr(kind, "__name__", str(kind)), column[5]

"""Oracle, by python-oracledb in its thin mode."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.dbapi.rules import vendor_rules
from skillian.connectors.servers import decoded

_FORM = "'YYYY-MM-DD HH24:MI:SS.FF6'"


def _boolean(node: exp.Boolean) -> exp.Expr:
    # Oracle has no literal for true before version 23.
    one, other = exp.Literal.number(1), exp.Literal.number(1 if node.this else 0)
    return exp.EQ(this=one, expression=other)


adapt = vendor_rules(
    "oracle",
    text="CAST(v AS VARCHAR2(4000))",
    timestamp=f"RTRIM(RTRIM(TO_CHAR(CAST(v AS TIMESTAMP), {_FORM}), '0'), '.')",
    timestamptz=f"RTRIM(RTRIM(TO_CHAR(SYS_EXTRACT_UTC(v), {_FORM}), '0'), '.') || '+00'",
    whole="NUMBER(38, 0)",
    functions={
        exp.IntDiv: "CAST(TRUNC(v / w) AS NUMBER(38, 0))",
        exp.Normalize: "COMPOSE(v)",
        exp.Boolean: _boolean,
    },
)


class OracleConnector(DBAPIConnector):
    """A `Connector` to one service of Oracle. An empty text is NULL there."""

    dialect = "oracle"
    form = "oracle://user:password@host:1521/service"
    driver = "oracledb"
    paramstyle = "named"
    settings = (
        (
            "ALTER SESSION SET TIME_ZONE = '+00:00' NLS_COMP = BINARY NLS_SORT = BINARY"
            " NLS_NUMERIC_CHARACTERS = '.,' NLS_DATE_FORMAT = 'YYYY-MM-DD'"
            " NLS_DATE_LANGUAGE = ENGLISH"
        ),
        "SET TRANSACTION READ ONLY",
    )
    catalogue = """
SELECT c.OWNER, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.DATA_SCALE, c.NULLABLE
FROM ALL_TAB_COLUMNS c JOIN ALL_USERS u ON u.USERNAME = c.OWNER AND u.ORACLE_MAINTAINED = 'N'
ORDER BY CASE WHEN c.OWNER = USER THEN 0 ELSE 1 END, c.OWNER, c.TABLE_NAME, c.COLUMN_ID
"""
    kinds: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(
            ("CHAR", "VARCHAR", "VARCHAR2", "NCHAR", "NVARCHAR", "NVARCHAR2", "CLOB", "NCLOB",
             "LONG"),
            "text",
        ),
        "NUMBER": "decimal",
        **dict.fromkeys(("BINARY_FLOAT", "BINARY_DOUBLE", "FLOAT"), "float"),
        "BOOLEAN": "boolean",
        "DATE": "timestamp",  # it has hours, minutes and seconds
        "TIMESTAMP": "timestamp",
        **dict.fromkeys(
            ("TIMESTAMP_TZ", "TIMESTAMP_LTZ", "TIMESTAMP WITH TIME ZONE"), "timestamptz"
        ),
    }  # fmt: skip

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments."""
        del options
        service = decoded(parts.path.removeprefix("/"))
        return {
            "user": decoded(parts.username),
            "password": decoded(parts.password),
            "dsn": f"{decoded(parts.hostname)}:{parts.port or 1521}/{service}",
        }

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The name without its prefix, as in `DB_TYPE_NUMBER`; -127 stands for no scale."""
        name = str(getattr(column[1], "name", column[1])).removeprefix("DB_TYPE_")
        scale = column[5]
        return name, None if scale is None or scale < 0 else scale

    @staticmethod
    def cancel(connection: Any, cursor: Any) -> object:
        """Stop the statement of a connection."""
        del cursor
        return connection.cancel()

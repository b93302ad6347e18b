"""Databases skillian can read, by the scheme of their URL.

Other packages add theirs by the entry point group `skillian.connectors`: the name is the scheme,
the value a class that implements `Connector`.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from skillian.connectors.base import Connector
from skillian.errors import UnavailableError, missing_extra

__all__ = [
    "ENGINES",
    "PATHS",
    "UNTRIED",
    "Connector",
    "Engine",
    "connect",
    "dialect_of",
    "engine_of",
    "load_dialect",
    "scheme",
    "schemes",
]

_GROUP = "skillian.connectors"
PATHS = frozenset({"duckdb", "files", "sqlite"})
"""The schemes of URLs that have nothing but a path, and options after it."""


UNTRIED = "not yet run against the real thing"
"""The label of an engine whose statements are tested, but never ran on the vendor's own server."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of database.

    Attributes:
        title: Its name in texts.
        schemes: The schemes of its URLs.
        dialect: The sqlglot dialect of its statements.
        query_dialect: That of hand-written queries; empty if it is the same.
        connector: Module and class, as in `mysql.connector:MySQLConnector`.
        rules: The module whose `adapt` changes what sqlglot does not translate itself.
        extra: The extra that installs its driver.
        drivers: The modules of its driver, which only connectors import.
        is_tried: Whether it is tested against the real database.
    """

    title: str
    schemes: tuple[str, ...]
    dialect: str
    connector: str
    rules: str
    extra: str = "skillian"
    drivers: tuple[str, ...] = ()
    is_tried: bool = True
    query_dialect: str = ""

    @property
    def label(self) -> str:
        """Its name, with the label of an engine that was never tried."""
        return self.title if self.is_tried else f"{self.title} ({UNTRIED})"


def _engine(title: str, connector: str, *drivers: str, **stated: Any) -> Engine:
    """An engine; names that are not stated are those of its connector's folder or module."""
    module = connector.partition(":")[0]
    folder, _, file = module.partition(".")
    own, rules = (file, module) if folder == "dbapi" else (folder, f"{folder}.dialect")
    named: dict[str, Any] = {"schemes": (own,), "dialect": own, "rules": rules, "extra": own}
    return Engine(title=title, connector=connector, drivers=drivers, **{**named, **stated})


_BY_DUCKDB = {"dialect": "duckdb", "rules": "duckdb.statement", "extra": "skillian"}
"""How a DuckDB runs the statements of an engine."""
ENGINES = (
    _engine(
        "ClickHouse",
        "clickhouse.connector:ClickHouseConnector",
        "clickhouse_connect",
        is_tried=False,
    ),
    _engine(
        "SQL Server",
        "dbapi.sqlserver:SQLServerConnector",
        "mssql_python",
        schemes=("mssql",),
        dialect="tsql",
        is_tried=False,
    ),
    _engine("Oracle", "dbapi.oracle:OracleConnector", "oracledb", is_tried=False),
    _engine("Snowflake", "dbapi.snowflake:SnowflakeConnector", "snowflake", is_tried=False),
    _engine(
        "BigQuery", "dbapi.bigquery:BigQueryConnector", "google.cloud.bigquery", is_tried=False
    ),
    _engine(
        "Databricks",
        "dbapi.databricks:DatabricksConnector",
        "databricks",
        rules="spark.dialect",
        is_tried=False,
    ),
    _engine("DuckDB", "duckdb.connector:DuckDBConnector", "duckdb", **_BY_DUCKDB),
    _engine(
        "CSV, Parquet, Excel", "files.connector:FilesConnector", "python_calamine", **_BY_DUCKDB
    ),
    _engine(
        "MySQL, MariaDB",
        "mysql.connector:MySQLConnector",
        "pymysql",
        schemes=("mysql", "mariadb"),
    ),
    _engine(
        "PostgreSQL",
        "postgres.connector:PostgresConnector",
        "psycopg",
        schemes=("postgresql", "postgres"),
    ),
    _engine("Spark", "spark.connect:SparkConnectConnector", "pyspark", schemes=("sc",)),
    _engine("SQLite", "sqlite.connector:SQLiteConnector", query_dialect="sqlite", **_BY_DUCKDB),
)
"""The databases that this package reads."""


def engine_of(kind: str) -> Engine | None:
    """The engine of a URL's scheme."""
    return next((each for each in ENGINES if kind in each.schemes), None)


def scheme(url: str) -> str:
    """The part of a database URL that names the kind of database, or an empty string."""
    head, separator, _ = url.partition("://")
    return head.lower() if separator else ""


def schemes() -> tuple[str, ...]:
    """The schemes of all kinds of databases, those of other packages last."""
    own = (kind for engine in ENGINES for kind in engine.schemes)
    return (*own, *(point.name for point in _others()))


def dialect_of(kind: str) -> str | None:
    """The sqlglot dialect of a scheme; None for an unknown scheme."""
    engine = engine_of(kind)
    if engine is not None:
        return engine.dialect
    return next((str(point.load().dialect) for point in _others() if point.name == kind), None)


def connect(name: str, url: str, folder: Path) -> Connector:
    """The connector for connection `name`; the database is opened by its first statement.

    The path in `duckdb:///ledger.duckdb` is relative to `folder`; with four slashes it is
    absolute. Raises `UnavailableError` for an unknown kind of database, or one whose
    driver is not installed.
    """
    try:
        connector: Connector = _class(name, scheme(url)).from_url(name, url, folder)
    except ModuleNotFoundError as error:
        engine = engine_of(scheme(url))
        if engine is None:
            reason = f"{error.name} is not installed; install it"
        else:
            reason = missing_extra(engine.title, engine.extra)
        raise UnavailableError(f"connection {name!r}: {reason}") from None
    return connector


def load_dialect(name: str) -> None:
    """Load a dialect of sqlglot, which registers it before it is complete.

    An import waits until another thread has completed it.
    """
    import_module(f"sqlglot.dialects.{name}")


def _class(name: str, kind: str) -> Any:
    engine = engine_of(kind)
    if engine is not None:
        for dialect in {engine.dialect, engine.query_dialect} - {""}:
            load_dialect(dialect)
        module, _, connector = engine.connector.partition(":")
        return getattr(import_module(f"{__name__}.{module}"), connector)
    for point in _others():
        if point.name == kind:
            return point.load()
    known = ", ".join(f"{known}://" for known in schemes())
    raise UnavailableError(f"connection {name!r}: unknown kind of database; known: {known}")


@cache
def _others() -> tuple[EntryPoint, ...]:
    """The entry points of other packages; reading those of all packages takes 10 ms."""
    return tuple(entry_points(group=_GROUP))

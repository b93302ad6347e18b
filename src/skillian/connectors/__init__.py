"""Databases skillian can read, by the scheme of their URL; one folder an engine.

Other packages add theirs by the entry point group `skillian.connectors`: the name is the scheme,
the value a class that implements `Connector`.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

from skillian.connectors.base import Connector
from skillian.errors import UnavailableError, how_to_install

__all__ = ["Connector", "connect", "dialect_of", "scheme", "schemes"]

_GROUP = "skillian.connectors"


class _Engine(NamedTuple):
    """A kind of database: its sqlglot dialect, its class, and the extra that brings its driver."""

    dialect: str
    module: str
    connector: str
    extra: str = "skillian"


_DUCKDB = _Engine("duckdb", "duckdb.connector", "DuckDBConnector")
_FILES = _Engine("duckdb", "files.connector", "FilesConnector")
_SQLITE = _Engine("duckdb", "sqlite.connector", "SQLiteConnector")
_POSTGRES = _Engine("postgres", "postgres.connector", "PostgresConnector", "postgres")
_MYSQL = _Engine("mysql", "mysql.connector", "MySQLConnector", "mysql")
_CLICKHOUSE = _Engine("clickhouse", "clickhouse.connector", "ClickHouseConnector", "clickhouse")
_SPARK = _Engine("spark", "spark.local", "SparkConnector", "spark")
_SPARK_CONNECT = _Engine("spark", "spark.connect", "SparkConnectConnector", "spark")
_ENGINES = {
    "duckdb": _DUCKDB,
    "files": _FILES,
    "sqlite": _SQLITE,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "clickhouse": _CLICKHOUSE,
    "spark": _SPARK,
    "sc": _SPARK_CONNECT,
}


def scheme(url: str) -> str:
    """Return the part of a database URL that names the kind of database, or an empty string."""
    head, separator, _ = url.partition("://")
    return head.lower() if separator else ""


def schemes() -> tuple[str, ...]:
    """Return the schemes of all kinds of databases, those of other packages last."""
    return (*_ENGINES, *(point.name for point in _others()))


def dialect_of(kind: str) -> str | None:
    """Return the sqlglot dialect of a scheme; None for an unknown scheme."""
    if kind in _ENGINES:
        return _ENGINES[kind].dialect
    return next((str(point.load().dialect) for point in _others() if point.name == kind), None)


def connect(name: str, url: str, folder: Path) -> Connector:
    """Return the connector for connection `name`; the database is opened by its first statement.

    The path in `duckdb:///ledger.duckdb` is relative to `folder`; with four slashes it is
    absolute. Raises `UnavailableError` for an unknown kind of database, or one whose
    driver is not installed.
    """
    connector: Connector = _class(name, scheme(url)).from_url(name, url, folder)
    return connector


def _class(name: str, kind: str) -> Any:
    if kind in _ENGINES:
        _, module, connector, extra = _ENGINES[kind]
        try:
            return getattr(import_module(f"{__name__}.{module}"), connector)
        except ModuleNotFoundError as error:
            raise UnavailableError(
                f"connection {name!r}: {error.name} is not installed; {how_to_install(extra)}"
            ) from None
    for point in _others():
        if point.name == kind:
            return point.load()
    known = ", ".join(f"{known}://" for known in schemes())
    raise UnavailableError(f"connection {name!r}: unknown kind of database; known: {known}")


def _others() -> Iterator[EntryPoint]:
    yield from entry_points(group=_GROUP)

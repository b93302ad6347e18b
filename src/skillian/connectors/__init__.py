"""Databases skillian can read, by the scheme of their URL.

Others come by the entry point group `skillian.connectors`: the name is the scheme, the value a
class like `Connector` with a `from_url(name, url, folder)`.
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


class _Kind(NamedTuple):
    """A kind of database: its sqlglot dialect, its class, and the extra that brings its driver."""

    dialect: str
    module: str
    connector: str
    extra: str = "skillian"


_DUCKDB = _Kind("duckdb", "duckdb", "DuckDBConnector")
_FILES = _Kind("duckdb", "files", "FilesConnector")
_SQLITE = _Kind("duckdb", "sqlite", "SQLiteConnector")
_POSTGRES = _Kind("postgres", "postgres", "PostgresConnector", "postgres")
_MYSQL = _Kind("mysql", "mysql", "MySQLConnector", "mysql")
_SPARK = _Kind("spark", "spark", "SparkConnector", "spark")
_SPARK_CONNECT = _Kind("spark", "spark_connect", "SparkConnectConnector", "spark")
_KINDS = {
    "duckdb": _DUCKDB,
    "files": _FILES,
    "sqlite": _SQLITE,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "spark": _SPARK,
    "sc": _SPARK_CONNECT,
}


def scheme(url: str) -> str:
    """Return the part of a database URL that names the kind of database, or an empty string."""
    head, separator, _ = url.partition("://")
    return head.lower() if separator else ""


def schemes() -> tuple[str, ...]:
    """Return the schemes of all kinds of databases, those of other packages last."""
    return (*_KINDS, *(point.name for point in _others()))


def dialect_of(kind: str) -> str | None:
    """Return the sqlglot dialect of a scheme; None for one that nothing here reads."""
    if kind in _KINDS:
        return _KINDS[kind].dialect
    return next((str(point.load().dialect) for point in _others() if point.name == kind), None)


def connect(name: str, url: str, folder: Path) -> Connector:
    """Return the connector for connection `name`; the database is opened by its first statement.

    A path such as that of `duckdb:///ledger.duckdb` is relative to `folder`, with four slashes
    absolute. Raises `UnavailableError` for a kind of database that is not known, or whose driver
    is not installed.
    """
    connector: Connector = _class(name, scheme(url)).from_url(name, url, folder)
    return connector


def _class(name: str, kind: str) -> Any:
    if kind in _KINDS:
        _, module, connector, extra = _KINDS[kind]
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
    raise UnavailableError(f"connection {name!r}: no such kind of database; known: {known}")


def _others() -> Iterator[EntryPoint]:
    yield from entry_points(group=_GROUP)

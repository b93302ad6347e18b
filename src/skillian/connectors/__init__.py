"""Databases skillian can read, by the scheme of their URL."""

from pathlib import Path

from skillian.connectors.base import Connector
from skillian.connectors.duckdb import DuckDBConnector
from skillian.errors import UnavailableError

__all__ = ["DIALECTS", "Connector", "connect", "scheme"]

# URL scheme -> sqlglot dialect of the databases that it opens.
DIALECTS = {"duckdb": DuckDBConnector.dialect}


def scheme(url: str) -> str:
    """Return the part of a database URL that names the kind of database, or an empty string."""
    head, separator, _ = url.partition("://")
    return head.lower() if separator else ""


def connect(name: str, url: str, folder: Path) -> Connector:
    """Return the connector for connection `name`; the database is opened by its first statement.

    `duckdb:///ledger.duckdb` is relative to `folder`, `duckdb:////srv/ledger.duckdb` absolute.
    Raises `UnavailableError` for a kind of database that this version does not know.
    """
    if scheme(url) != "duckdb":
        known = ", ".join(f"{known}://" for known in DIALECTS)
        raise UnavailableError(f"connection {name!r}: no such kind of database; known: {known}")
    path = url.partition("://")[2].removeprefix("/")
    return DuckDBConnector(folder / path, name)

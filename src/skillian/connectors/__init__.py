"""Databases skillian can read, by the scheme of their URL; each folder lists its `ENGINES`.

Other packages add theirs by the entry point group `skillian.connectors`: the name is the scheme,
the value a class that implements `Connector`.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from skillian.connectors.base import Connector
from skillian.connectors.engines import engine_of, engines
from skillian.errors import UnavailableError, missing_extra

__all__ = ["PATHS", "Connector", "connect", "dialect_of", "scheme", "schemes"]

_GROUP = "skillian.connectors"
PATHS = frozenset({"duckdb", "files", "sqlite"})
"""The schemes of URLs that have nothing but a path, and options after it."""


def scheme(url: str) -> str:
    """The part of a database URL that names the kind of database, or an empty string."""
    head, separator, _ = url.partition("://")
    return head.lower() if separator else ""


def schemes() -> tuple[str, ...]:
    """The schemes of all kinds of databases, those of other packages last."""
    own = (scheme for engine in engines() for scheme in engine.schemes)
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


def _class(name: str, kind: str) -> Any:
    engine = engine_of(kind)
    if engine is not None:
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

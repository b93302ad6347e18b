"""From a URL to a database."""

from __future__ import annotations

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from skillian.storage.database import Database
from skillian.storage.errors import StoreUrlError
from skillian.storage.postgres import PostgresDatabase
from skillian.storage.sqlite import SqliteDatabase


def connect(url: str) -> Database:
    """The database at this URL; nothing is asked of it yet.

    Args:
        url: `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…`.

    Raises:
        StoreUrlError: it is neither.
        StoreUnavailable: the file cannot be opened.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = make_url("none://")
    kind = parsed.get_backend_name()
    if kind in {"postgresql", "postgres"}:
        return PostgresDatabase(parsed)
    if kind == "sqlite" and parsed.database:
        return SqliteDatabase(parsed)
    raise StoreUrlError(
        "the session store's URL is not one of sqlite:///FILE and"
        " postgresql://USER:PASSWORD@HOST/DATABASE; set DATABASE_URL to such a one"
    )

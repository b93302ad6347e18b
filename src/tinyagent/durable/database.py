"""The runs' database: connections that notice when the other side is gone, and wait for it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext

# Both sides give up a peer that is cut off after 5 + 3 * 2 seconds of silence.
_KEEPALIVES = {"idle": 5, "interval": 2, "count": 3}
_USER_TIMEOUT_MS = 12_000
_CONNECT_SECONDS = 10
_IDLE_TRANSACTION_MS = 15_000
_POOL_SIZE = 5
_SQLITE_WITH_SUBSECONDS = (3, 42)
_SQLITE_BUSY_MS = 30_000


def open_engine(url: str) -> Engine | None:
    """The engine for DBOS; None if DBOS can make its own, on SQLite 3.42 or later.

    Args:
        url: Of the database; its options for the server are kept.
    """
    parsed = make_url(url)
    if is_sqlite(url):
        recent = sqlite3.sqlite_version_info >= _SQLITE_WITH_SUBSECONDS
        return None if recent else _open_old_sqlite(url)
    settings = {**server_options(), "idle_in_transaction_session_timeout": _IDLE_TRANSACTION_MS}
    own = parsed.query.get("options", "")
    options = [own] if isinstance(own, str) else list(own)
    options += [f"-c {name}={value}" for name, value in settings.items()]
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=_POOL_SIZE,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={
            "application_name": "tinyagent",
            "options": " ".join(filter(None, options)),
            **client_options(),
        },
    )
    event.listen(engine, "handle_error", _wait_for_the_server)
    return engine


def is_sqlite(url: str) -> bool:
    """Whether the runs are in a SQLite file."""
    return make_url(url).get_backend_name() == "sqlite"


def _open_old_sqlite(url: str) -> Engine:
    """An engine whose connections know `unixepoch('subsec')`.

    DBOS stores moments with it on Python 3.12 and later. SQLite before 3.42, which Debian 12 has,
    returns NULL for it, and no run could be stored.
    """
    engine = create_engine(url)
    event.listen(engine, "connect", _prepare_old_sqlite)
    return engine


def _prepare_old_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Set the connection up as DBOS does, and add what this SQLite lacks."""
    connection.isolation_level = "IMMEDIATE"
    connection.execute(f"PRAGMA busy_timeout={_SQLITE_BUSY_MS}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.create_function("unixepoch", 1, _unix_time)


def _unix_time(_modifier: str) -> float:
    return time.time()


def client_options() -> Mapping[str, Any]:
    """Options of libpq, so that this side notices a broken connection."""
    named = {f"keepalives_{name}": value for name, value in _KEEPALIVES.items()}
    return {
        "keepalives": 1,
        **named,
        "tcp_user_timeout": _USER_TIMEOUT_MS,
        "connect_timeout": _CONNECT_SECONDS,
    }


def server_options() -> Mapping[str, int]:
    """Settings of the server, so that it notices a broken connection and releases its locks."""
    named = {f"tcp_keepalives_{name}": value for name, value in _KEEPALIVES.items()}
    return {**named, "tcp_user_timeout": _USER_TIMEOUT_MS}


def _wait_for_the_server(context: ExceptionContext) -> None:
    """Make DBOS wait for a server that is away: it knows the messages of an older driver only."""
    if context.connection is None and isinstance(
        context.original_exception, psycopg.OperationalError
    ):
        context.is_disconnect = True

"""The runs' database: connections that notice when the other side is gone, and wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext

# A peer that is cut off is given up after 5 + 3 * 2 seconds of silence, by both sides.
_KEEPALIVES = {"idle": 5, "interval": 2, "count": 3}
_USER_TIMEOUT_MS = 12_000
_CONNECT_SECONDS = 10
_IDLE_TRANSACTION_MS = 15_000
_POOL_SIZE = 5


def open_engine(url: str) -> Engine | None:
    """The engine for DBOS on PostgreSQL; None for SQLite, where DBOS makes its own.

    Args:
        url: of the database; options that it gives to the server are kept.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return None
    settings = {**server_options(), "idle_in_transaction_session_timeout": _IDLE_TRANSACTION_MS}
    given = parsed.query.get("options", "")
    options = [given] if isinstance(given, str) else list(given)
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


def client_options() -> Mapping[str, Any]:
    """What libpq is told, so that this side notices."""
    named = {f"keepalives_{name}": value for name, value in _KEEPALIVES.items()}
    return {
        "keepalives": 1,
        **named,
        "tcp_user_timeout": _USER_TIMEOUT_MS,
        "connect_timeout": _CONNECT_SECONDS,
    }


def server_options() -> Mapping[str, int]:
    """What the server is told, so that it notices, and lets go of the locks of the other side."""
    named = {f"tcp_keepalives_{name}": value for name, value in _KEEPALIVES.items()}
    return {**named, "tcp_user_timeout": _USER_TIMEOUT_MS}


def _wait_for_the_server(context: ExceptionContext) -> None:
    """Have DBOS wait for a server that is away: it tells one by the words of an older driver."""
    if context.connection is None and isinstance(
        context.original_exception, psycopg.OperationalError
    ):
        context.is_disconnect = True

"""One database, SQLite or PostgreSQL: its transactions and its clock."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import stamina
from sqlalchemy import URL, Connection, event, func, make_url, select
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from skillian.storage.errors import StoreUnavailable, StoreUrlError

logger = logging.getLogger("skillian")
T = TypeVar("T")

# How long a writer waits for another process's transaction, which lasts milliseconds.
_BUSY_SECONDS = 30
_SWITCH_SECONDS = 30
_POSTGRES = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
    "prepare_threshold": None,  # a proxy may hand the session on
    "client_encoding": "utf8",
}
_POOL: dict[str, Any] = {"pool_size": 8, "max_overflow": 0, "pool_timeout": 60}
_WRITES = "skillian_writes"


class Database:
    """The transactions of one database. All work is given as functions of a connection.

    Args:
        url: `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…`.

    Raises:
        StoreUrlError: it is neither.
    """

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self.is_postgres = parsed.get_backend_name() == "postgresql"
        if self.is_postgres:
            parsed = parsed.set(drivername="postgresql+psycopg")
            self._engine = create_async_engine(
                parsed, connect_args=_POSTGRES, hide_parameters=True, pool_pre_ping=True, **_POOL
            )
            self._one_writer: asyncio.Lock | nullcontext[None] = nullcontext()
        else:
            self._engine = _sqlite_engine(parsed)
            # SQLite has one writer at a time; here they queue, while it would have them poll.
            self._one_writer = asyncio.Lock()
        self._writing = self._engine.execution_options(**{_WRITES: True})

    async def open(self) -> None:
        """Prepare the database for use.

        Raises:
            StoreUnavailable: it cannot be reached or opened.
        """
        if self.is_postgres:
            return
        await _whole(self._switch_to_wal())

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What `work` gives, in a transaction that only reads.

        A cancellation takes effect when the work is done, in `write` as well: no connection is
        left in the middle of a statement. Raises `StoreUnavailable` where the database does.
        """
        return await _whole(self._in_transaction(self._engine, work))

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What `work` gives, in a transaction that is committed; an error rolls it back."""
        return await _whole(self._in_writing(work))

    async def now(self, connection: AsyncConnection) -> datetime:
        """The time in UTC by the one clock that all processes at this database share."""
        if not self.is_postgres:
            return datetime.now(UTC)
        now: datetime = (await connection.execute(select(func.clock_timestamp()))).scalar_one()
        return now.astimezone(UTC)

    async def aclose(self) -> None:
        """Close all connections."""
        await _whole(self._engine.dispose())

    async def _in_writing(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with self._one_writer:
            return await self._in_transaction(self._writing, work)

    async def _in_transaction(
        self, engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]
    ) -> T:
        try:
            async with engine.begin() as connection:
                return await work(connection)
        except (SQLAlchemyError, OSError) as error:
            raise _unavailable(error) from None

    async def _switch_to_wal(self) -> None:
        # Kept in the file. While another process does the same, SQLite refuses without waiting.
        try:
            async for attempt in stamina.retry_context(
                on=OperationalError, attempts=None, timeout=_SWITCH_SECONDS
            ):
                with attempt:
                    async with self._engine.connect() as connection:
                        raw = await connection.get_raw_connection()
                        cursor = await raw.driver_connection.execute(  # type: ignore[union-attr]
                            "PRAGMA journal_mode = WAL"
                        )
                        await cursor.close()
        except (SQLAlchemyError, OSError) as error:
            raise _unavailable(error) from None


def as_text(moment: datetime) -> str:
    """A time as it is stored: UTC, ISO 8601, to the microsecond, so texts sort as times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        backend, parsed = "", URL.create("none")
    if backend == "postgres":
        return parsed.set(drivername="postgresql")
    if backend == "postgresql" or (backend == "sqlite" and parsed.database not in {None, ""}):
        return parsed
    raise StoreUrlError(
        "the session store's URL is not one of sqlite:///FILE and"
        " postgresql://USER:PASSWORD@HOST/DATABASE; set DATABASE_URL to such a one"
    )


def _sqlite_engine(url: URL) -> AsyncEngine:
    file = Path(url.database or "")
    if str(file) == ":memory:":
        raise StoreUrlError("the session store is a file: write sqlite:///FILE")
    try:
        # What is said to a session is nobody else's business; SQLite's other files follow suit.
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnavailable(
            f"the session store's file cannot be opened for writing: {error.strerror}"
        ) from None
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"), hide_parameters=True, **_POOL
    )
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    # The driver would begin transactions when it likes; _begin does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA foreign_keys = ON")
    # A message that was stored survives a loss of power too, at one fsync a transaction.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    # A writer that had begun as a reader would be refused when another has written meanwhile.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


async def _whole(work: Awaitable[T]) -> T:
    """Await `work` to its end, even where this task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue  # it will be raised all the same
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the session store failed while its caller was cancelled: %s", error)
        raise


def _unavailable(error: Exception) -> StoreUnavailable:
    reason = error.orig if isinstance(error, DBAPIError) else error
    logger.error("the session store failed: %s", reason)
    return StoreUnavailable("the session store does not answer; the reason is in skillian's log")

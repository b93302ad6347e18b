"""The session store in a file, by SQLite in WAL mode.

A transaction runs in a thread as a whole: handing each statement over by itself costs several
times what SQLite takes for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import stamina
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from skillian.storage.database import Database, Kind, T, Work, unavailable
from skillian.storage.errors import StoreUnavailable, StoreUrlError

_READERS = 4
# How long a writer waits for another process's transactions, which last milliseconds.
_BUSY_SECONDS = 30
_KIND = "skillian_kind"
# One fsync a transaction, so that a message which was stored survives a loss of power; the others
# wait for the next of these.
_SYNCHRONOUS = {"lasting": "FULL", "passing": "NORMAL"}


class SqliteDatabase(Database):
    """One writer, as SQLite has it, and a few readers.

    Raises:
        StoreUrlError: the URL names no file.
        StoreUnavailable: the file cannot be opened.
    """

    is_postgres = False

    def __init__(self, url: URL) -> None:
        _make(url.database or "")
        self._engine = create_engine(
            url.set(drivername="sqlite"), hide_parameters=True, pool_size=_READERS + 1
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._writer = ThreadPoolExecutor(1, "skillian-writer")
        self._readers = ThreadPoolExecutor(_READERS, "skillian-reader")

    async def open(self) -> None:
        """Switch to write-ahead logging, which the file remembers."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._switch_to_wal)

    async def run(self, work: Work[T], kind: Kind) -> T:
        """What `work` gives, in a transaction."""
        thread = self._readers if kind == "read" else self._writer
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread, self._transaction, work, kind)

    def now(self, connection: Connection) -> datetime:  # noqa: ARG002 - the file is on this machine
        """This machine's time."""
        return datetime.now(UTC)

    async def aclose(self) -> None:
        """Close all connections, after what is under way."""
        await asyncio.to_thread(self._close)

    def _transaction(self, work: Work[T], kind: Kind) -> T:
        try:
            with self._engine.execution_options(**{_KIND: kind}).begin() as connection:
                return work(connection)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise unavailable(error) from None

    def _switch_to_wal(self) -> None:
        # While another process does the same, SQLite refuses without waiting.
        again = stamina.retry_context(
            sqlite3.OperationalError, attempts=None, timeout=_BUSY_SECONDS
        )
        try:
            for attempt in again:
                with attempt, self._engine.connect() as connection:
                    cursor = connection.connection.cursor()
                    cursor.execute("PRAGMA journal_mode = WAL")
                    cursor.close()
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise unavailable(error) from None

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        self._engine.dispose()


def _make(name: str) -> None:
    """Make the file where there is none: what is said to a session is nobody else's business."""
    if name == ":memory:":
        raise StoreUrlError("the session store is a file: write sqlite:///FILE")
    try:
        os.close(os.open(Path(name), os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnavailable(
            f"the session store's file cannot be opened for writing: {error.strerror}"
        ) from None


def _prepare(connection: Any, _record: object) -> None:
    # The driver would begin transactions when it likes; _begin does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    kind = connection.get_execution_options()[_KIND]
    if kind == "read":
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA synchronous = {_SYNCHRONOUS[kind]}")
    # A writer that had begun as a reader would be refused when another has written meanwhile.
    connection.exec_driver_sql("BEGIN IMMEDIATE")

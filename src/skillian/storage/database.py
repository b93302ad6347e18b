"""The transactions of the store, in SQLite or PostgreSQL, and one clock for all its processes."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import stamina
from sqlalchemy import URL, Connection, create_engine, event, extract, func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from skillian.private_files import create_private
from skillian.storage.errors import StorageError, StoreBusy, StoreUnavailable, StoreUrlError

logger = logging.getLogger("skillian")
T = TypeVar("T")

TransactionKind = Literal["read", "passing", "lasting"]

Work = Callable[[Connection], T]
"""The code of one transaction; it is the same for every driver."""


class Database(ABC):
    """The transactions of one database.

    A cancellation takes effect when the current transaction has ended, so that no statement is
    interrupted, and it is known what was committed.
    """

    is_postgres: bool

    async def read(self, work: Work[T]) -> T:
        """The result of `work` in a transaction that only reads.

        Raises:
            StoreUnavailable: The database does not answer, or refuses.
        """
        return await _whole(self.run(work, "read"))

    async def write(self, work: Work[T], *, lasting: bool = True) -> T:
        """The result of `work` in a transaction that is committed; an error rolls it back.

        A write that is not `lasting` may be lost if the machine loses power, but not if a process
        ends.
        """
        return await _whole(self.run(work, "lasting" if lasting else "passing"))

    @abstractmethod
    async def open(self) -> None:
        """Prepare the database for use; raises `StoreUnavailable`."""

    @abstractmethod
    async def run(self, work: Work[T], kind: TransactionKind) -> T:
        """The result of `work` in a transaction; must not be cancelled."""

    @abstractmethod
    def now(self, connection: Connection) -> datetime:
        """The time in UTC by the clock that all processes at this database share."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close all connections."""


def as_text(moment: datetime) -> str:
    """The stored form of a time: UTC in ISO 8601 with microseconds, which sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def unavailable(error: Exception) -> StoreUnavailable:
    """The error that callers see for a driver's error; the reason is logged without parameters."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    logger.error("the session store failed: %s", reason)
    is_busy = getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    kind = StoreBusy if is_busy else StoreUnavailable
    return kind("the session store does not answer; the reason is in skillian's log")


async def _whole(work: Awaitable[T]) -> T:
    """Await `work` to its end, even if this task is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue  # it is raised at the end
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, StorageError):
            logger.warning("a cancelled use of the session store failed", exc_info=error)
        raise


_READERS = 4
# How long a writer waits for the transactions of other processes, which take milliseconds. A
# client waits for its answer during that time.
_BUSY_SECONDS = 4
_OPENING_SECONDS = 30
_KIND = "skillian_kind"
# One fsync for each lasting transaction, so that a stored message survives a loss of power; other
# transactions wait for the next of these.
_SYNCHRONOUS = {"lasting": "FULL", "passing": "NORMAL"}

_WriteOutcome = tuple[Any, Exception | None]


@dataclass(frozen=True, slots=True)
class _Write:
    work: Work[Any]
    kind: TransactionKind
    done: asyncio.Future[Any]


class SqliteDatabase(Database):
    """A file in WAL mode: one writer, which is all that SQLite allows, and a few readers.

    A whole transaction runs in a thread, because passing single statements to a thread costs
    several times as much as SQLite takes for them. Writes that come during another write share the
    next transaction (group commit): under load, threads, locks and syncs cost more than writing.

    Raises:
        StoreUrlError: The URL does not name a file.
        StoreUnavailable: The file cannot be opened.
    """

    is_postgres = False

    def __init__(self, url: URL) -> None:
        self._path = url.database or ""
        self._file = _make_file(self._path)
        self._engine = create_engine(
            url.set(drivername="sqlite"), hide_parameters=True, pool_size=_READERS + 1
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._writer = ThreadPoolExecutor(1, "skillian-writer")
        self._readers = ThreadPoolExecutor(_READERS, "skillian-reader")
        self._waiting: list[_Write] = []
        self._writing: asyncio.Future[list[_WriteOutcome]] | None = None

    async def open(self) -> None:
        """Switch to write-ahead logging, which the file remembers."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._switch_to_wal)

    async def run(self, work: Work[T], kind: TransactionKind) -> T:
        """The result of `work` in a transaction."""
        loop = asyncio.get_running_loop()
        if kind == "read":
            return await loop.run_in_executor(self._readers, self._transaction, work, kind)
        done: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Write(work, kind, done))
        if self._writing is None:
            self._write_waiting()
        return await done

    def now(self, connection: Connection) -> datetime:  # noqa: ARG002 - the file is on this machine
        """This machine's time."""
        return datetime.now(UTC)

    async def aclose(self) -> None:
        """Close all connections once the current transactions have ended."""
        while self._writing is not None:
            await asyncio.wait([self._writing])
        await asyncio.to_thread(self._close)

    def _write_waiting(self) -> None:
        writes, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        self._writing = loop.run_in_executor(self._writer, self._write, writes)
        self._writing.add_done_callback(partial(self._deliver, writes))

    def _deliver(
        self, writes: Sequence[_Write], written: asyncio.Future[list[_WriteOutcome]]
    ) -> None:
        self._writing = None
        if self._waiting:
            self._write_waiting()
        if written.cancelled():  # with the whole loop
            return
        for write, (value, error) in zip(writes, written.result(), strict=True):
            if write.done.done():
                continue
            if error is None:
                write.done.set_result(value)
            else:
                write.done.set_exception(error)

    def _write(self, writes: Sequence[_Write]) -> list[_WriteOutcome]:
        """Do the writes in one transaction or, if one of them fails, each in its own."""
        if len(writes) > 1:
            kind: TransactionKind = (
                "lasting" if any(one.kind == "lasting" for one in writes) else "passing"
            )

            def together(connection: Connection) -> list[_WriteOutcome]:
                return [(one.work(connection), None) for one in writes]

            outcomes, error = self._outcome(together, kind)
            if error is None:
                return cast("list[_WriteOutcome]", outcomes)
            if isinstance(error, StoreBusy):  # each alone would wait as long again
                return [(None, error) for _ in writes]
        return [self._outcome(write.work, write.kind) for write in writes]

    def _outcome(self, work: Work[Any], kind: TransactionKind) -> _WriteOutcome:
        try:
            return self._transaction(work, kind), None
        except Exception as error:  # noqa: BLE001 - raised where the write is awaited
            return None, error

    def _transaction(self, work: Work[T], kind: TransactionKind) -> T:
        self._check_file(self._path)
        try:
            with self._engine.execution_options(**{_KIND: kind}).begin() as connection:
                value = work(connection)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise unavailable(error) from None
        if kind != "read":
            # What was written into a deleted file is lost.
            self._check_file(self._path, f"{self._path}-wal")
        return value

    def _check_file(self, *paths: str) -> None:
        """Raise `StoreUnavailable` if a file is missing, or the first was replaced."""
        try:
            first, *_ = [_identity(Path(path)) for path in paths]
            is_ours = first == self._file
        except OSError:
            is_ours = False
        if not is_ours:
            raise unavailable(OSError("its file was deleted or replaced: restart skillian"))

    def _switch_to_wal(self) -> None:
        # While another process does this, SQLite refuses without waiting.
        again = stamina.retry_context(
            sqlite3.OperationalError, attempts=None, timeout=_OPENING_SECONDS
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


def _identity(path: Path) -> tuple[int, int]:
    file = path.stat()
    return file.st_dev, file.st_ino


def _make_file(name: str) -> tuple[int, int]:
    """Create the file if it does not exist, readable for this user only.

    Returns:
        The identity of the file: device and inode.
    """
    if name == ":memory:":
        raise StoreUrlError("the session store must be a file: write sqlite:///FILE")
    path = Path(name)
    try:
        create_private(path)
        return _identity(path)
    except OSError as error:
        raise StoreUnavailable(
            f"the session store's file cannot be opened for writing: {error.strerror}"
        ) from None


def _prepare(connection: Any, _record: object) -> None:
    # The driver would begin transactions itself; _begin does that.
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
    # A writer that begins as a reader is refused if another has written in the meantime.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


_CONNECTIONS = 8
_WAIT_SECONDS = 60.0
_STATEMENT_SECONDS = 10.0
_GRACE_SECONDS = 2.0
_POSTGRES_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
    "prepare_threshold": None,  # a proxy may give the session to another client
    "client_encoding": "utf8",
}


class PostgresDatabase(Database):
    """At most eight connections, checked before use because the server may have closed them."""

    is_postgres = True

    def __init__(self, url: URL) -> None:
        self._engine = create_async_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=_POSTGRES_OPTIONS,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=_CONNECTIONS,
            max_overflow=0,
        )
        self._free = asyncio.Semaphore(_CONNECTIONS)

    async def open(self) -> None:
        """Nothing needs preparing."""

    async def run(self, work: Work[T], kind: TransactionKind) -> T:  # noqa: ARG002 - all writes are lasting
        """The result of `work` in a transaction, within a deadline once a connection is free.

        The server stops a statement that takes too long; a server that has stopped itself is given
        up, and the connection is closed.
        """
        limit = text(f"SET LOCAL statement_timeout = {int(_STATEMENT_SECONDS * 1000)}")
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._free.acquire()
            try:
                async with (
                    asyncio.timeout(_STATEMENT_SECONDS + _GRACE_SECONDS),
                    self._engine.begin() as connection,
                ):
                    await connection.execute(limit)
                    return await connection.run_sync(work)
            finally:
                self._free.release()
        except TimeoutError:
            raise unavailable(OSError("the server does not answer in time")) from None
        except (SQLAlchemyError, OSError) as error:
            raise unavailable(error) from None

    def now(self, connection: Connection) -> datetime:
        """The server's time."""
        # As a number, because the text form of times depends on the server's settings.
        seconds = connection.scalar(select(extract("epoch", func.clock_timestamp())))
        return datetime.fromtimestamp(float(seconds or 0), UTC)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._engine.dispose()

"""What the store needs of a database: transactions, and one clock for all its processes."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Literal, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from skillian.storage.errors import StorageError, StoreUnavailable

logger = logging.getLogger("skillian")
T = TypeVar("T")

Kind = Literal["read", "passing", "lasting"]

Work = Callable[[Connection], T]
"""What is done in one transaction: plain code, whatever the driver behind the connection."""


class Database(ABC):
    """The transactions of one database.

    A cancellation takes effect when the transaction under way has ended, so nothing is left in
    the middle of a statement, and what was committed is known.
    """

    is_postgres: bool

    async def read(self, work: Work[T]) -> T:
        """What `work` gives, in a transaction that only reads.

        Raises:
            StoreUnavailable: the database does not answer, or refuses.
        """
        return await _whole(self.run(work, "read"))

    async def write(self, work: Work[T], *, lasting: bool = True) -> T:
        """What `work` gives, in a transaction that is committed; an error rolls it back.

        What is not `lasting` may be lost with the machine's power; no process's end can undo it.
        """
        return await _whole(self.run(work, "lasting" if lasting else "passing"))

    @abstractmethod
    async def open(self) -> None:
        """Prepare the database for use; raises `StoreUnavailable`."""

    @abstractmethod
    async def run(self, work: Work[T], kind: Kind) -> T:
        """What `work` gives, in a transaction; not to be cancelled."""

    @abstractmethod
    def now(self, connection: Connection) -> datetime:
        """The time in UTC by the clock that all processes at this database share."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close all connections."""


def as_text(moment: datetime) -> str:
    """A time as it is stored: UTC, ISO 8601, to the microsecond, so texts sort as times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def unavailable(error: Exception) -> StoreUnavailable:
    """What callers are told of a driver's error; the log has the reason, without parameters."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    logger.error("the session store failed: %s", reason)
    return StoreUnavailable("the session store does not answer; the reason is in skillian's log")


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
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, StorageError):
            logger.warning("a cancelled use of the session store failed", exc_info=error)
        raise

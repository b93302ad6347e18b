"""Database: the transactions of the store, and one clock for all its processes."""

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
    async def run(self, work: Work[T], kind: Kind) -> T:
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
    return StoreUnavailable("the session store does not answer; the reason is in skillian's log")


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

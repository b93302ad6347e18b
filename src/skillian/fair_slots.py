"""Slots for the work of several owners, who take turns."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class FairSlots:
    """A bound on the work in progress, and on that of each owner.

    An owner queues at most `per_owner` pieces of work with the others, which are served in order:
    whoever has much to do waits for itself, and the others for one round.

    Args:
        total: How much work may be in progress.
        per_owner: How much of it may be of one owner.
    """

    def __init__(self, total: int, per_owner: int) -> None:
        self._all = asyncio.Semaphore(total)
        self._per_owner = per_owner
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, owner: str) -> AsyncGenerator[None]:
        """Wait for a slot, and hold it during the block."""
        own = self._own.setdefault(owner, asyncio.Semaphore(self._per_owner))
        async with own, self._all:
            yield

"""Who waits for a session in this process: turns in their order, readers for news."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from skillian.storage.errors import SessionBusy


class Waiting:
    """Queues and alarms by session; what nobody waits for takes no room."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._alarms: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    @asynccontextmanager
    async def in_line(self, session_id: str, seconds: float) -> AsyncGenerator[None]:
        """Hold the session among the tasks of this process, first come first served.

        Raises:
            SessionBusy: those in front took longer than `seconds`.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        try:
            async with asyncio.timeout(seconds):
                await lock.acquire()
        except TimeoutError:
            raise SessionBusy(seconds) from None
        try:
            yield
        finally:
            lock.release()

    def alarm(self, session_id: str) -> asyncio.Event:
        """An event that is set when something happens in the session, here, from now on."""
        return self._alarms.setdefault(session_id, asyncio.Event())

    def tell(self, session_id: str) -> None:
        """Something has happened in the session."""
        alarm = self._alarms.pop(session_id, None)
        if alarm is not None:
            alarm.set()

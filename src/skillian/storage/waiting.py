"""Waiting for a session within this process: turns in their order, readers for changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from skillian.storage.errors import SessionBusy


class Waiting:
    """Queues and alarms by session; a session that nobody waits for takes no room."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._alarms: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    @asynccontextmanager
    async def in_line(self, session_id: str, seconds: float) -> AsyncGenerator[None]:
        """Hold the session among the tasks of this process, first come first served.

        Raises:
            SessionBusy: The tasks ahead took longer than `seconds`.
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
        """An event that is set when this process next changes the session."""
        return self._alarms.setdefault(session_id, asyncio.Event())

    def notify(self, session_id: str) -> None:
        """Set the alarm of a session that has changed."""
        alarm = self._alarms.pop(session_id, None)
        if alarm is not None:
            alarm.set()

"""Gate: which calls may begin, and when those under way have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any


class Gate:
    """Lets calls begin, until it is closed: then those under way end, and none begins."""

    def __init__(self) -> None:
        self.under_way = 0
        self.writes: set[asyncio.Task[Any]] = set()
        """Of records, which are finished even where their execution has been cancelled."""
        self._is_open = True
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around a call; behind a closed gate it waits until its process ends."""
        if not self._is_open:
            await asyncio.get_running_loop().create_future()
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._changed.set()

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self.under_way:
            self._changed.clear()
            await self._changed.wait()

    def close(self) -> None:
        """Let nothing begin any more."""
        self._is_open = False

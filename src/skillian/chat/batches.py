"""An agent's events in batches: as they come, but text not piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Self

from tinyagent import Event, TextDelta

DELTA_SECONDS = 0.1
LONGEST_SECONDS = 0.5
# Text waits this many times as long as it took to hand on the last: under load, pieces grow.
_PATIENCE = 20
DELTA_CHARACTERS = 512


class Batches:
    """Takes the events of a stream as they come. Leaving the block ends the stream.

    Text is handed on at most every `DELTA_SECONDS` (more where handing on takes long) or
    `DELTA_CHARACTERS`, all else at once, with what else there is.
    """

    def __init__(self, stream: AsyncGenerator[Event, None]) -> None:
        self._stream = stream
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._take())
        self._next_text = 0.0
        self._handed_on = 0.0

    def stop(self) -> None:
        """End the stream; what has come is still handed on."""
        self._task.cancel()

    async def next(self) -> Sequence[Event]:
        """The next events, at least one; none when the stream has ended.

        Raises:
            Exception: what the stream raised.
        """
        loop = asyncio.get_running_loop()
        if self._handed_on:
            taken = loop.time() - self._handed_on
            pause = min(max(DELTA_SECONDS, taken * _PATIENCE), LONGEST_SECONDS)
            self._next_text = self._handed_on + pause
        batch = [await self._queue.get()]
        while True:
            while batch[-1] is not None and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            if not _can_wait(batch) or loop.time() >= self._next_text:
                break
            try:
                async with asyncio.timeout_at(self._next_text):
                    batch.append(await self._queue.get())
            except TimeoutError:
                break
        self._handed_on = loop.time()
        events = [event for event in batch if event is not None]
        if len(events) < len(batch):
            self._queue.put_nowait(None)  # the end stays the end
            if not events and not self._task.cancelled():
                await self._task
        return events

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # was raised by `next`, or came after the end

    async def _take(self) -> None:
        try:
            async with aclosing(self._stream) as events:
                async for event in events:
                    self._queue.put_nowait(event)
        finally:
            self._queue.put_nowait(None)


def _can_wait(batch: Sequence[Event | None]) -> bool:
    texts = [event.text for event in batch if isinstance(event, TextDelta)]
    return len(texts) == len(batch) and sum(map(len, texts)) < DELTA_CHARACTERS

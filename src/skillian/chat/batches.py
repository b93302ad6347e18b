"""An agent's events in batches: as they come, but with the pieces of text joined."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from itertools import groupby
from types import TracebackType
from typing import Self, cast

from tinyagent import Event, TextDelta

DELTA_SECONDS = 0.1
LONGEST_SECONDS = 1.0
# Text waits this many times as long as the last batch took: under load, batches grow.
_PATIENCE = 50
DELTA_CHARACTERS = 512


class Batches:
    """Reads the events of a stream as they come. Leaving the block ends the stream.

    A batch of text only is returned every `DELTA_SECONDS` (less often if its reader is slow) or
    `DELTA_CHARACTERS`; any other event returns the batch at once.
    """

    def __init__(self, stream: AsyncGenerator[Event, None]) -> None:
        self._stream = stream
        self._events: list[Event] = []
        self._characters = 0
        self._has_ended = False
        self._some = asyncio.Event()
        # Text comes in thousands of pieces; they do not wake the reader before it is time.
        self._urgent = asyncio.Event()
        self._returned = 0.0
        self._task = asyncio.create_task(self._take())

    def stop(self) -> None:
        """End the stream; the events so far are still returned."""
        self._task.cancel()

    async def next(self) -> Sequence[Event]:
        """The next events, at least one, or none when the stream has ended; text is joined.

        Raises:
            Exception: The exception of the stream.
        """
        loop = asyncio.get_running_loop()
        due = self._due(loop.time())
        await self._some.wait()
        if not self._urgent.is_set() and loop.time() < due:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._urgent.wait()
        batch, self._events, self._characters = self._events, [], 0
        if not self._has_ended:  # otherwise the flags stay set
            self._some.clear()
            self._urgent.clear()
        elif not batch and not self._task.cancelled():
            await self._task
        self._returned = loop.time()
        return joined(batch)

    def _due(self, now: float) -> float:
        """When a batch of text only is due."""
        if not self._returned:
            return now
        pause = max(DELTA_SECONDS, (now - self._returned) * _PATIENCE)
        return self._returned + min(pause, LONGEST_SECONDS)

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
            self._task.exception()  # `next` raised it, or it came after the end

    async def _take(self) -> None:
        try:
            async with aclosing(self._stream) as events:
                async for event in events:
                    self._events.append(event)
                    self._some.set()
                    if isinstance(event, TextDelta):
                        self._characters += len(event.text)
                    if not isinstance(event, TextDelta) or self._characters >= DELTA_CHARACTERS:
                        self._urgent.set()
        finally:
            self._has_ended = True
            self._some.set()
            self._urgent.set()


def joined(events: Iterable[Event]) -> list[Event]:
    """The events, with adjacent pieces of the same text joined."""
    result: list[Event] = []
    for text, run in groupby(events, _text_of):
        if text is None:
            result += run
        else:
            pieces = cast("Iterator[TextDelta]", run)
            result.append(TextDelta(text[0], "".join(piece.text for piece in pieces), text[1]))
    return result


def _text_of(event: Event) -> tuple[int, str] | None:
    """The text that it is a piece of; None if it is not text, or restarts a text."""
    if isinstance(event, TextDelta) and event.kind != "restart":
        return event.step, event.kind
    return None

"""What LOCAL code prints: kept within its limit, and passed on as it comes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from tinyagent.core.untrusted import cut_middle

_ROOM = 4


class Output:
    """The printed text of one step. Written in the code's thread, read on the loop.

    Args:
        max_chars: how much is kept, and how much is passed on.
        loop: where `listen` is called.
        listen: takes each piece of text.
    """

    def __init__(
        self,
        max_chars: int,
        loop: asyncio.AbstractEventLoop,
        listen: Callable[[str], None] | None,
    ) -> None:
        self._max = max_chars
        self._loop = loop
        self._listen = listen
        self._parts: list[str] = []
        self._size = 0
        self._room = max_chars
        self._waiting: deque[str] = deque()

    def write(self, text: str) -> None:
        """Take a piece of text."""
        self._parts.append(text)
        self._size += len(text)
        if self._size > _ROOM * self._max:
            kept = cut_middle("".join(self._parts), 2 * self._max)
            self._parts[:] = [kept]
            self._size = len(kept)
        if self._listen is not None and self._room > 0 and text:
            first = not self._waiting
            self._waiting.append(text[: self._room])
            self._room -= len(text)
            if first:
                with suppress(RuntimeError):  # the loop is closed: nobody listens
                    self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        """Pass on what was printed since the last time; on the loop."""
        pieces: list[str] = []
        with suppress(IndexError):
            while True:
                pieces.append(self._waiting.popleft())
        if pieces and self._listen is not None:
            self._listen("".join(pieces))

    def text(self) -> str:
        """All of it; cut in the middle if there was more than four times what is kept."""
        return "".join(self._parts)

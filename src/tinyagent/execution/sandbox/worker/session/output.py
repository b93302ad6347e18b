"""What the code prints: sent line by line, and kept within its limit."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import cast

_PIECE = 1 << 16  # bytes that go in one message, and that are kept of the end at most


class OutputSink(io.RawIOBase):
    """The end of standard output: passes text on until the limit, then keeps only the last part.

    Args:
        send: takes each piece of text.
        max_bytes: what is passed on of each step, in UTF-8; the last part is kept of the rest.
    """

    def __init__(self, send: Callable[[str], None], max_bytes: int) -> None:
        self._send = send
        self._max_bytes = max_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.begin()

    def begin(self) -> None:
        """Start a step: nothing has been printed."""
        self._room = self._max_bytes
        self._tail = b""
        self._skipped = 0
        self._decoder.reset()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: object, /) -> int:
        """Take the bytes, all of them."""
        view = memoryview(data).cast("B")  # type: ignore[arg-type]  # a buffer, as io promises
        head = view[: self._room]
        self._room -= len(head)
        for start in range(0, len(head), _PIECE):
            text = self._decoder.decode(bytes(head[start : start + _PIECE]))
            if text:
                self._send(text)
        rest = len(view) - len(head)
        if rest:
            kept = min(self._max_bytes // 2, _PIECE)
            last = bytes(view[max(len(head), len(view) - kept) :])
            tail = (self._tail + last)[-kept:]
            self._skipped += len(self._tail) + rest - len(tail)
            self._tail = tail
        return len(view)

    def ending(self) -> tuple[str, int]:
        """The last part of what went over the limit, and how many bytes before it are lost."""
        return self._tail.decode("utf-8", "replace"), self._skipped


def open_output(sink: OutputSink) -> io.TextIOWrapper:
    """A text stream into the sink, flushed at each line.

    No buffered writer stands between: a thread may hold its lock while the process forks.
    """
    return io.TextIOWrapper(
        cast("io.BufferedWriter", sink),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )

"""Server-sent events, as far as data goes.

Source: HTML Living Standard, "Server-sent events", section "Interpreting an event stream".
"""

from __future__ import annotations

from tinyagent.core.errors import ModelReplyError


class SseDecoder:
    """Takes bytes as they come and gives the data of each event that is whole.

    Args:
        max_bytes: the most that one event may hold.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest: list[bytes] = []  # the pieces of a line that has not ended
        self._rest_size = 0
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` completes, in order.

        Raises:
            ModelReplyError: an event is larger than `max_bytes`.
        """
        events: list[bytes] = []
        self._rest.append(chunk)
        self._rest_size += len(chunk)
        if b"\n" in chunk:
            *lines, last = b"".join(self._rest).split(b"\n")
            self._rest, self._rest_size = [last], len(last)
            for line in lines:
                self._take_line(line.removesuffix(b"\r"), events)
        if self._size + self._rest_size > self._max_bytes:
            raise ModelReplyError(f"the stream has an event of over {self._max_bytes:,} bytes")
        return events

    def _take_line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data.clear()
            self._size = 0

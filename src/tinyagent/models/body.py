"""The body of an HTTP reply: bounded, and parsed as JSON or as server-sent events.

Source: HTML Living Standard, "Server-sent events", section "Interpreting an event stream".
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

from tinyagent.core.errors import ModelReplyError

MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_STREAM_BYTES = 8 * MAX_REPLY_BYTES
_DONE = b"[DONE]"


async def read_json(chunks: AsyncIterable[bytes], kind: str, where: str) -> Any:
    """The JSON of a whole reply. `kind` is its Content-Type, `where` the address it came from.

    Raises:
        ModelReplyError: it is too large, or not JSON.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise ModelReplyError(
                f"{where} sent over {MAX_REPLY_BYTES:,} bytes; the rest is not read"
            )
        parts.append(chunk)
    return _parse(b"".join(parts), kind, where)


async def read_events(
    chunks: AsyncIterable[bytes], kind: str, where: str
) -> AsyncGenerator[Any, None]:
    """The JSON of each event of a streamed reply, up to `[DONE]` or its end.

    A server that does not stream sends one event: its whole reply.

    Raises:
        ModelReplyError: it is too large, or not JSON.
    """
    if "text/event-stream" not in kind:
        yield await read_json(chunks, kind, where)
        return
    decoder = SseDecoder(MAX_REPLY_BYTES)
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_STREAM_BYTES:
            raise ModelReplyError(f"{where} streamed over {MAX_STREAM_BYTES:,} bytes")
        for data in decoder.feed(chunk):
            if data == _DONE:
                return
            yield _parse(data, kind, where)


def _parse(data: bytes, kind: str, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        hint = "" if "/v1/" in where else " It usually ends with /v1"
        raise ModelReplyError(
            f"{where} did not answer with JSON (Content-Type: {kind or 'none'},"
            f" {len(data):,} bytes); is OPENAI_BASE_URL right?{hint}"
        ) from None


class SseDecoder:
    """Takes bytes as they arrive and returns the data of each complete event.

    Args:
        max_bytes: the largest allowed event.
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

"""The body of a reply, whoever fetched it: bounded, and JSON or an error that says what came."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Generator
from contextlib import contextmanager
from typing import Any

from tinyagent.core.errors import ModelError, ModelReplyError
from tinyagent.models.sse import SseDecoder

MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_STREAM_BYTES = 8 * MAX_REPLY_BYTES
_DONE = b"[DONE]"
_SECRET = 8  # servers without keys are given "x" or "none", and words hold such letters


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
                f"{where} sent over {MAX_REPLY_BYTES:,} bytes; they are not read further"
            )
        parts.append(chunk)
    return _parse(b"".join(parts), kind, where)


async def read_events(
    chunks: AsyncIterable[bytes], kind: str, where: str
) -> AsyncGenerator[Any, None]:
    """The JSON of each event of a streamed reply, to `[DONE]` or its end.

    A server that does not stream gives one event: its whole reply.

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


@contextmanager
def hiding(key: str | None, variables: str = "OPENAI") -> Generator[None]:
    """Take a key out of the words of a `ModelError`: servers echo it in the oddest places.

    The environment variables that it names are those that begin with `variables`.
    """
    try:
        yield
    except ModelError as error:
        if variables != "OPENAI":
            error.args = tuple(str(word).replace("OPENAI_", f"{variables}_") for word in error.args)
        if key and len(key) >= _SECRET:
            error.args = tuple(str(word).replace(key, "***") for word in error.args)
        raise


def _parse(data: bytes, kind: str, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ModelReplyError(
            f"{where} did not answer with JSON (Content-Type: {kind or 'none'},"
            f" {len(data):,} bytes); is OPENAI_BASE_URL right? It usually ends with /v1"
        ) from None

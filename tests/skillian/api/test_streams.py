from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message, Scope
from tests.support.waits import soon

from skillian.api import streams
from skillian.api.streams import EventStream, encode, encoded
from skillian.storage import StoreUnavailable, TurnEvent

SCOPE: Scope = {"type": "http"}


async def stays() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def test_an_event_is_three_lines_whatever_its_text() -> None:
    event = TurnEvent(7, 2, "delta", {"text": "a\n\ndata: b\r\u2028\ud800"})
    lines = encode(event, "s").split(b"\n")
    assert [lines[0], lines[2]] == [b"event: delta", b"id: 7"]
    assert lines[1].startswith(b'data: {"turn":2,"text":"a\\n\\ndata: b\\r')
    assert lines[3:] == [b"", b""]


async def test_an_error_ends_the_events_without_details() -> None:
    async def events() -> AsyncGenerator[TurnEvent, None]:
        yield TurnEvent(1, 1, "delta", {})
        raise StoreUnavailable("postgresql://secret")

    chunks = [chunk async for chunk in encoded(events(), "s")]
    assert chunks[1].startswith(b"event: error\ndata: {")
    assert b"store_unavailable" in chunks[1]
    assert b"secret" not in chunks[1]


async def test_a_quiet_stream_sends_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "KEEP_ALIVE_SECONDS", 0.01)
    done = asyncio.Event()
    sent: list[Message] = []

    async def chunks() -> AsyncGenerator[bytes, None]:
        await done.wait()
        yield b"at last"

    async def send(message: Message) -> None:
        sent.append(message)

    answering = asyncio.create_task(EventStream(chunks())(SCOPE, stays, send))
    await soon(lambda: len(sent) >= 3)
    assert sent[1]["body"] == sent[2]["body"] == b": still here\n\n"
    done.set()
    await answering
    assert [message["body"] for message in sent[-2:]] == [b"at last", b""]


async def test_the_chunks_are_closed_when_the_client_disconnects() -> None:
    closed, gone = asyncio.Event(), asyncio.Event()

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message.get("body"):
            gone.set()

    await EventStream(chunks())(SCOPE, receive, send)
    assert closed.is_set()

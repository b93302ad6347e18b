from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tinyagent import ModelError, ModelReplyError, ModelServerError
from tinyagent.models import body
from tinyagent.models.body import hiding, read_events, read_json

STREAM = "text/event-stream; charset=utf-8"


async def _chunks(*chunks: bytes) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_a_whole_reply_is_put_together() -> None:
    assert await read_json(_chunks(b'{"a"', b": 1}"), "application/json", "here") == {"a": 1}


async def test_events_end_at_done() -> None:
    chunks = _chunks(b"data: 1\n\ndata: 2\n", b"\ndata: [DONE]\n\ndata: 3\n\n")
    assert [event async for event in read_events(chunks, STREAM, "here")] == [1, 2]


async def test_events_end_with_the_connection() -> None:
    assert [event async for event in read_events(_chunks(b"data: 1\n\n"), STREAM, "here")] == [1]


async def test_a_reply_that_is_no_stream_is_one_event() -> None:
    events = read_events(_chunks(b'{"a": 1}'), "application/json", "here")
    assert [event async for event in events] == [{"a": 1}]


@pytest.mark.parametrize("data", [b"", b"<html>", b"[" * 100_000, b"\xff\xfe"])
async def test_what_is_not_json_is_said_to_be_none_with_the_likely_cause(data: bytes) -> None:
    with pytest.raises(ModelReplyError) as caught:
        await read_json(_chunks(data), "text/html", "http://host/v1")
    assert str(caught.value) == (
        f"http://host/v1 did not answer with JSON (Content-Type: text/html, {len(data):,} bytes);"
        " is OPENAI_BASE_URL right? It usually ends with /v1"
    )


async def test_no_more_than_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MAX_REPLY_BYTES", 10)
    chunks = _chunks(b"[1, 2, 3]", b"  ", b"left")
    with pytest.raises(ModelReplyError, match="here sent over 10 bytes"):
        await read_json(chunks, "", "here")
    assert await anext(chunks) == b"left"


async def test_a_stream_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MAX_STREAM_BYTES", 1000)

    async def for_ever() -> AsyncGenerator[bytes]:
        while True:
            yield b"data: 1\n\n"

    with pytest.raises(ModelReplyError, match="here streamed over 1,000 bytes"):
        async for _ in read_events(for_ever(), STREAM, "here"):
            pass


def test_a_key_is_taken_out_of_an_errors_words() -> None:
    with pytest.raises(ModelServerError) as caught, hiding("sk-secret"):
        raise ModelServerError("no sk-secret here", retry_after=3.0)
    assert str(caught.value) == "no *** here"
    assert caught.value.retry_after == 3.0


@pytest.mark.parametrize("key", [None, "", "x", "none"])
def test_what_is_no_secret_is_not_taken_for_one(key: str | None) -> None:
    with pytest.raises(ModelError, match=r"^none x$"), hiding(key):
        raise ModelError("none x")

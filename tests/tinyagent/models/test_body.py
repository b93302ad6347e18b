from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core import ModelReplyError
from tinyagent.models import endpoint
from tinyagent.models.endpoint import SseDecoder, read_events, read_json

STREAM = "text/event-stream; charset=utf-8"


async def _chunks(*chunks: bytes) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_a_whole_reply_is_assembled() -> None:
    assert await read_json(_chunks(b'{"a"', b": 1}"), "application/json", "here") == {"a": 1}


async def test_events_end_at_done() -> None:
    chunks = _chunks(b"data: 1\n\ndata: 2\n", b"\ndata: [DONE]\n\ndata: 3\n\n")
    assert [event async for event in read_events(chunks, STREAM, "here")] == [1, 2, "[DONE]"]


async def test_events_end_with_the_connection() -> None:
    assert [event async for event in read_events(_chunks(b"data: 1\n\n"), STREAM, "here")] == [1]


async def test_a_reply_that_is_not_a_stream_is_one_event() -> None:
    events = read_events(_chunks(b'{"a": 1}'), "application/json", "here")
    assert [event async for event in events] == [{"a": 1}]


@pytest.mark.parametrize("data", [b"", b"<html>", b"[" * 100_000, b"\xff\xfe"])
async def test_a_reply_that_is_not_json_is_reported_with_the_likely_cause(data: bytes) -> None:
    with pytest.raises(ModelReplyError) as caught:
        await read_json(_chunks(data), "text/html", "http://host/v1")
    assert str(caught.value) == (
        f"http://host/v1 did not answer with JSON (Content-Type: text/html, {len(data):,} bytes);"
        " is OPENAI_BASE_URL right? It usually ends with /v1"
    )


async def test_no_more_than_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_REPLY_BYTES", 10)
    chunks = _chunks(b"[1, 2, 3]", b"  ", b"left")
    with pytest.raises(ModelReplyError, match="here sent over 10 bytes"):
        await read_json(chunks, "", "here")
    assert await anext(chunks) == b"left"


async def test_a_stream_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_STREAM_BYTES", 1000)

    async def for_ever() -> AsyncGenerator[bytes]:
        while True:
            yield b"data: 1\n\n"

    with pytest.raises(ModelReplyError, match="here streamed over 1,000 bytes"):
        async for _ in read_events(for_ever(), STREAM, "here"):
            pass


line = st.sampled_from(
    [b"data: a", b"data:b", b"data:  c", b"data:", b": comment", b"event: x", b"id: 1", b"", b"x"]
)
stream = st.lists(st.tuples(line, st.sampled_from([b"\n", b"\r\n"]))).map(
    lambda lines: b"".join(part for pair in lines for part in pair)
)


def _feed(chunks: list[bytes]) -> list[bytes]:
    decoder = SseDecoder(1_000_000)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@given(stream, st.lists(st.integers(0, 200)))
def test_events_are_the_same_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data) + max(cuts, default=0)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    assert b"".join(chunks) == data
    assert _feed(chunks) == _feed([data])


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data: a\r\n\r\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a \n\n", [b" a "]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b": keep-alive\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"data: not ended\n", []),
        (b"database: no\n\n", []),
        ("data: Zürich\n\n".encode(), ["Zürich".encode()]),
    ],
)
def test_what_counts_as_an_event(data: bytes, events: list[bytes]) -> None:
    assert _feed([data]) == events


@pytest.mark.parametrize("data", [b"data: " + b"x" * 200, b"data: xxxxxxxxx\n" * 20])
def test_an_endless_event_is_not_buffered(data: bytes) -> None:
    with pytest.raises(ModelReplyError, match="an event of over 100 bytes"):
        SseDecoder(100).feed(data)


def test_many_small_events_are_not_one_large_one() -> None:
    assert len(SseDecoder(100).feed(b"data: xxxxxxxxx\n\n" * 50)) == 50


def test_a_large_event_in_small_pieces_is_read_in_linear_time() -> None:
    decoder = SseDecoder(32_000_000)
    for _ in range(30_000):
        assert decoder.feed(b"x" * 1000) == []

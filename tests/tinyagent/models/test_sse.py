from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.errors import ModelReplyError
from tinyagent.models.sse import SseDecoder

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
def test_an_event_without_end_is_not_kept(data: bytes) -> None:
    with pytest.raises(ModelReplyError, match="an event of over 100 bytes"):
        SseDecoder(100).feed(data)


def test_many_small_events_are_not_one_large_one() -> None:
    assert len(SseDecoder(100).feed(b"data: xxxxxxxxx\n\n" * 50)) == 50


def test_a_large_event_in_small_pieces_is_read_in_linear_time() -> None:
    decoder = SseDecoder(32_000_000)
    for _ in range(30_000):
        assert decoder.feed(b"x" * 1000) == []

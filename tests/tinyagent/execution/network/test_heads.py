"""Heads and bodies of requests: what is passed on exactly, and what reading them costs."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from tests.support.cost import cost_of

from tinyagent.execution.network.heads import MAX_HEAD, Head, RequestRefused, read_body, read_head

_FIRST = b"GET / HTTP/1.1\r\nHost: a.com\r\n"


@pytest.mark.parametrize("filler", [b" ", b"\t ", b"a ", b"a", b"\x80", b":", b"-"])
@pytest.mark.parametrize("end", [b"\x01", b"x", b" \x00", b""])
def test_a_hostile_header_costs_little(filler: bytes, end: bytes) -> None:
    room = MAX_HEAD - len(_FIRST) - len(end) - 8
    head = _FIRST + b"X:" + filler * (room // len(filler)) + end + b"\r\n\r\n"

    def read() -> None:
        with suppress(RequestRefused):
            read_head(head)

    assert cost_of(read) < 0.05


def _headers(line: bytes) -> list[tuple[str, str]]:
    return read_head(_FIRST + line + b"\r\n\r\n").headers[1:]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"X: y", "y"),
        (b"X:y", "y"),
        (b"X:", ""),
        (b"X:  \t", ""),
        (b"X: \t a \t b \t ", "a \t b"),
        ("X: \u00e9\u4e2d".encode(), "\u00e9\u4e2d"),
    ],
)
def test_a_value_is_passed_on_as_it_came(line: bytes, value: str) -> None:
    assert _headers(line) == [("x", value)]


@pytest.mark.parametrize(
    "line",
    [
        b"X",
        b": y",
        b"X : y",
        b" X: y",
        b"X: \x01y",
        b"X: a\nb",
        b"X: \x7f",
        b"X\xe9: y",
        b"X: \xe9",
    ],
)
def test_what_is_not_a_header_is_refused(line: bytes) -> None:
    with pytest.raises(RequestRefused) as raised:
        _headers(line)
    assert raised.value.status == 400


async def _pieces(data: bytes, length: int | None) -> list[bytes]:
    reader = asyncio.StreamReader(limit=MAX_HEAD)
    reader.feed_data(data)
    reader.feed_eof()
    return [piece async for piece in read_body(reader, length)]


def _chunked(parts: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])


async def test_small_chunks_are_read_together() -> None:
    """Otherwise each costs the host a turn of its loop, and an object in a buffer."""
    pieces = await _pieces(_chunked([b"x"] * 10_000), None)
    assert b"".join(pieces) == b"x" * 10_000
    assert len(pieces) < 20


@pytest.mark.parametrize("cut", range(1, 30))
async def test_chunks_may_come_in_any_pieces(cut: int) -> None:
    data = _chunked([b"one", b"x" * 20, b"\r\n"])
    reader = asyncio.StreamReader(limit=MAX_HEAD)

    async def feed() -> None:
        for at in range(0, len(data), cut):
            reader.feed_data(data[at : at + cut])
            await asyncio.sleep(0)

    feeding = asyncio.create_task(feed())
    body = b"".join([piece async for piece in read_body(reader, None)])
    await feeding
    assert body == b"one" + b"x" * 20 + b"\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"g\r\n",
        b"\r\n",
        b"1\nx\n0\n\n",
        b"1;a=b\r\nx\r\n0\r\n\r\n",
        b"123456789\r\n",
        b"1\r\nxy\r\n0\r\n\r\n",
        b"0\r\nTrailer: x\r\n\r\n",
        b"0\r\n\r\nGET / HTTP/1.1\r\n",
        b"1" * 200,
    ],
)
async def test_chunks_that_cannot_be_read_are_refused(data: bytes) -> None:
    with pytest.raises(RequestRefused):
        await _pieces(data, None)


@pytest.mark.parametrize(("data", "length"), [(b"1\r\nx\r\n0\r\n", None), (b"abc", 4)])
async def test_a_body_that_is_cut_off_is_an_error(data: bytes, length: int | None) -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await _pieces(data, length)


def test_the_target_is_passed_on_as_it_came() -> None:
    head: Head = read_head(b"GET /a%20b?c=%2f HTTP/1.1\r\nHost: a.com\r\n\r\n")
    assert (head.target, head.path) == ("/a%20b?c=%2f", "/a%20b")

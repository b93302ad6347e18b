"""Requests of sandboxed code, read strictly: nothing that can be read in two ways is passed on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import NamedTuple

MAX_HEAD = 32 << 10
_MAX_HEADERS = 100
_MAX_CHUNK_LINE = 10
_CHUNKS_AT_ONCE = 1 << 14  # bytes: of the smallest chunks, what takes a few milliseconds
_MAX_LENGTH_DIGITS = 12
_PIECE = 1 << 16

_REQUEST_LINE = re.compile(
    rb"([A-Za-z!#$%&'*+.^_`|~0-9-]{1,32}) ([!-~]{1,16384}) HTTP/([0-9.]{1,5})"
)
_METHOD = re.compile(r"[A-Z]{1,20}")
_HEADER_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_NOT_IN_VALUES = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_DIGITS = re.compile(rf"[0-9]{{1,{_MAX_LENGTH_DIGITS}}}")

HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "trailers", "transfer-encoding", "upgrade", "http2-settings",
})  # fmt: skip
# Beginnings of headers by which some servers let a request be another one than it says.
OVERRIDES = (
    "x-http-method", "x-method-override", "x-original-", "x-rewrite-", "x-forwarded-", "x-host",
    "forwarded",
)  # fmt: skip


def plain_name(header: str) -> str:
    """The name of a header as servers may read it that know no difference between `_` and `-`."""
    return header.replace("_", "-")


class RequestRefused(Exception):
    """A request that is answered here; the words say why and what to do instead.

    Args:
        status: Of the answer.
        reason: For who wrote the code.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Head(NamedTuple):
    """The head of one request.

    Args:
        target: As sent: a path, perhaps with a query.
        headers: Names in lower case, as they came.
        length: Bytes of the body; None if it comes in chunks.
        expects: Whether the client waits for `100 Continue` before it sends the body.
        closes: Whether it asks to close the connection.
    """

    method: str
    target: str
    headers: list[tuple[str, str]]
    length: int | None
    expects: bool
    closes: bool

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]

    def get(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for key, value in self.headers if key == name]


def read_head(data: bytes) -> Head:
    """The head of a request, which ends with an empty line.

    Raises:
        RequestRefused: It is not exactly HTTP/1.1.
    """
    lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    first = _REQUEST_LINE.fullmatch(lines[0])
    if not first:
        raise RequestRefused(400, "the first line of this request is not HTTP/1.1")
    method, target, version = (part.decode("ascii") for part in first.groups())
    if version != "1.1":
        raise RequestRefused(505, f"HTTP/{version} is not spoken here: use HTTP/1.1")
    if method == "CONNECT":
        raise RequestRefused(501, "there is no proxy here: connect to the host itself, by its name")
    if not _METHOD.fullmatch(method):
        raise RequestRefused(400, f"the method {method!r} is not in capital letters")
    if not target.startswith("/") or "#" in target:
        raise RequestRefused(400, "the target of a request is a path here, such as /items?page=1")
    if len(lines) - 1 > _MAX_HEADERS:
        raise RequestRefused(431, f"a request has {_MAX_HEADERS} headers at most")
    return _with_framing(method, target, [_header(line) for line in lines[1:]])


def _header(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _HEADER_NAME.fullmatch(name) or _NOT_IN_VALUES.search(value):
        raise RequestRefused(400, "a line of this request's head is not a header")
    key = name.decode("ascii").lower()
    try:
        return key, value.strip(b" \t").decode()
    except UnicodeDecodeError:  # the host's client writes headers as UTF-8
        raise RequestRefused(
            400, f"the header {key} is not UTF-8: encode its value as UTF-8, or percent-encode it"
        ) from None


def _with_framing(method: str, target: str, headers: list[tuple[str, str]]) -> Head:
    head = Head(method, target, headers, 0, expects=False, closes=False)
    lengths, codings = head.get("content-length"), head.get("transfer-encoding")
    if lengths and codings:
        raise RequestRefused(400, "a request has a Content-Length or chunks, not both")
    if len(lengths) > 1 or not all(_DIGITS.fullmatch(text) for text in lengths):
        raise RequestRefused(400, "Content-Length is not one number")
    if codings and codings != ["chunked"]:
        raise RequestRefused(501, "the only transfer coding of requests here is 'chunked'")
    options = {
        option.strip().lower() for value in head.get("connection") for option in value.split(",")
    }
    if "upgrade" in options or head.get("upgrade"):
        raise RequestRefused(501, "connections are not upgraded here: no WebSocket, no HTTP/2")
    expected = [value.lower() for value in head.get("expect")]
    if expected and expected != ["100-continue"]:
        raise RequestRefused(417, "the only expectation of requests here is '100-continue'")
    dropped = {*HOP_BY_HOP, "expect", *options}
    if dropped & {"host", "authorization", "content-length"} & options:
        raise RequestRefused(400, "the Connection header names a header that is passed on")
    kept = [(name, value) for name, value in headers if name not in dropped]
    length = None if codings else int(lengths[0]) if lengths else 0
    return Head(method, target, kept, length, bool(expected), "close" in options)


async def read_body(reader: asyncio.StreamReader, length: int | None) -> AsyncIterator[bytes]:
    """The body, piece by piece.

    Raises:
        RequestRefused: Its chunks cannot be read.
        IncompleteReadError: The client has gone.
    """
    if length is None:
        async for piece in _chunks(reader):
            yield piece
        return
    while length:
        piece = await reader.read(min(length, _PIECE))
        if not piece:
            raise asyncio.IncompleteReadError(b"", length)
        length -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    chunks = _Chunks()
    while not chunks.is_over:
        data = await reader.read(_CHUNKS_AT_ONCE)
        if not data:
            raise asyncio.IncompleteReadError(b"", None)
        content = chunks.take(data)
        if content:
            yield content


class _Chunks:
    """Reads a body in chunks; the content of those that arrive together is one piece."""

    def __init__(self) -> None:
        self.is_over = False
        self._is_last = False
        self._left: int | None = None
        """Bytes of the chunk that are still to come; None before its size is known."""
        self._unread: bytes = b""

    def take(self, data: bytes) -> bytes:
        """The content of what has arrived.

        Raises:
            RequestRefused: It cannot be read, or something follows the last chunk.
        """
        data, at = self._unread + data, 0
        content: list[bytes] = []
        while not self.is_over:
            if self._left is None:
                line = _CHUNK_LINE.match(data, at)
                if not line:
                    _check_size(data[at : at + _MAX_CHUNK_LINE])
                    break
                self._left, at = int(line[1], 16), line.end()
                self._is_last = not self._left
            content.append(data[at : at + self._left])
            at += len(content[-1])
            self._left -= len(content[-1])
            end = data[at : at + 2]
            if not b"\r\n".startswith(end):
                raise RequestRefused(400, "a chunk of this request is not as long as it says")
            if len(end) < 2:  # noqa: PLR2004 - the length of a line break
                break
            at, self._left, self.is_over = at + 2, None, self._is_last
        self._unread = data[at:]
        if self.is_over and self._unread:
            raise RequestRefused(400, "more follows the last chunk of this request")
        return b"".join(content)


def _check_size(line: bytes) -> None:
    """Refuse what cannot be the beginning of a line with a size."""
    if len(line) == _MAX_CHUNK_LINE or b"\n" in line:
        raise RequestRefused(400, "a chunk of this request has no plain size")

"""Limits: on the work in progress, and on the rate, size and duration of requests."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillian.api.problems import ProblemError, SlowClient

MAX_BUCKETS = 10_000
"""The maximum number of keys and addresses that are counted; the least recent is dropped first."""


class Slots:
    """A limit on the work in progress.

    Args:
        limit: The number of slots.

    Attributes:
        free: The number of free slots.
    """

    def __init__(self, limit: int) -> None:
        self.free = limit

    def check(self) -> None:
        """Do nothing if a slot is free.

        Raises:
            ProblemError: All are taken (503).
        """
        if not self.free:
            detail = "This server is busy; try again in a second."
            raise ProblemError(503, "overloaded", detail, {"Retry-After": "1"})

    @contextmanager
    def taken(self) -> Generator[None]:
        """Hold a slot during the block; raises as `check` does."""
        self.check()
        self.free -= 1
        try:
            yield
        finally:
            self.free += 1


async def in_slot(slots: Slots, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The chunks, in a slot that is taken at once and held to their end.

    Raises:
        ProblemError: All slots are taken (503).
    """
    stream = _held(slots, chunks)
    await anext(stream)
    return stream


async def _held(slots: Slots, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    with slots.taken():
        yield b""
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """A token bucket for each client of this process, which holds the requests of a minute.

    Args:
        per_minute: The number of requests a minute; 0 means no limit.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, client: str) -> None:
        """Count a request of a known key, or of an address.

        Raises:
            ProblemError: It is one too many (429).
        """
        if not self._per_minute:
            return
        now = monotonic()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        refilled = bucket.tokens + (now - bucket.at) * self._per_minute / 60
        bucket.tokens, bucket.at = min(self._per_minute, refilled), now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) * 60 / self._per_minute)
            detail = f"The limit is {self._per_minute} requests a minute for a key or an address."
            raise ProblemError(429, "too_many_requests", detail, {"Retry-After": str(wait)})
        bucket.tokens -= 1


RECEIVE_SECONDS = 30.0
SEND_SECONDS = 30.0
DISCARD_SECONDS = 10.0
DISCARD_BYTES = 256 * 1024 * 1024
"""Bytes of a refused body that are read and discarded, so that the client sees the answer."""
UPLOADS = "/uploads"
"""The path whose bodies are files, which are not held in memory."""
UPLOAD_SECONDS = 4 * 3600.0
"""How long a file may take to arrive."""
MAX_FRAME = 256 * 1024
"""Characters or bytes of a message on a page's socket."""
FRAMES_PER_MINUTE = 3000
"""The maximum number of messages on a page's socket."""
MAX_HEADERS = 100
MAX_HEAD = 32 * 1024
"""Bytes of a request's headers; the server itself reads no more before it has all of them."""
MAX_TARGET = 16 * 1024
"""Bytes of a request's path and query."""
MAX_VALUES = 10_000
"""The maximum number of values in a JSON text: members, items, objects and arrays."""
MAX_DEPTH = 50

# These identify the client. Two readers could each use another one of two such headers.
_SINGLE = ("host", "origin", "authorization", "content-type", "content-length", "sec-fetch-site")

# Texts and signs. Possessive, and an unclosed text reaches to the end: matching takes linear time.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[\]{}]', re.DOTALL)
_DEPTHS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}

_POLICY_VIOLATION, _TOO_BIG = 1008, 1009

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def _has_file(scope: Scope) -> bool:
    """Whether the body is a file, which is stored as it arrives."""
    path: str = scope["path"]
    if scope["method"] == "PUT":
        return path.startswith(f"{UPLOADS}/")
    return path == UPLOADS and bool(scope["method"] == "POST")


class _BodyReader:
    """The body that a client sends: read, or discarded once it is refused."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._has_more = True

    async def __call__(self) -> Message:
        message = await self._receive()
        self._has_more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    def discarding(self, send: Send) -> Send:
        """A `send` that ends an answer only after the rest of the body, within bounds.

        A connection that is closed with unread data is reset, and a reset can destroy the
        answer before the client has read it (RFC 9112, 9.6).
        """

        async def send_and_discard(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(DISCARD_SECONDS):
                    await self._discard()
            await send({"type": "http.response.body", "body": b""})

        return send_and_discard

    async def _discard(self) -> None:
        left = DISCARD_BYTES
        while self._has_more and left > 0:
            left -= len((await self()).get("body", b""))


class Bounded:
    """Reads a whole body within its limits of size and time, and drops clients that do not read.

    The body of an upload is passed on as it arrives.

    Args:
        app: The application behind it.
        max_body: The maximum size of a body, in bytes.
        receive_seconds: How long a body may take.
        send_seconds: How long a client may take to read a part of its answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_body: int,
        *,
        receive_seconds: float = RECEIVE_SECONDS,
        send_seconds: float = SEND_SECONDS,
    ) -> None:
        self._app = app
        self._max_body = max_body
        self._receive_seconds = receive_seconds
        self._send_seconds = send_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body, or answer it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, _bounded(receive, send), send)
            return

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(self._send_seconds):
                    await send(message)
            except TimeoutError:
                raise SlowClient from None

        body = _BodyReader(receive)
        if _has_file(scope):
            steady = _steady(body, self._receive_seconds)
            await self._app(scope, steady, body.discarding(send_in_time))
            return
        try:
            first = await self._read(scope, body)
        except ProblemError as problem:
            problem.headers["Connection"] = "close"
            is_too_slow = problem.status == HTTPStatus.REQUEST_TIMEOUT
            answer = send_in_time if is_too_slow else body.discarding(send_in_time)
            await problem.response(scope["path"])(scope, receive, answer)
            return
        if first is None:
            return
        pending = [first]

        async def receive_again() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, receive_again, send_in_time)

    async def _read(self, scope: Scope, receive: Receive) -> Message | None:
        """The whole body as one message; None if the client has disconnected."""
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._max_body:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self._receive_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self._max_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise ProblemError(408, "request_timeout", "The body did not arrive in time.") from None
        content = bytes(body)
        body.clear()
        if content and scope["method"] in _WITH_BODY:
            _check_type(headers)
            check_json(content)
        return {"type": "http.request", "body": content, "more_body": False}

    def _too_large(self) -> ProblemError:
        detail = f"The body has more than {self._max_body} bytes."
        return ProblemError(413, "body_too_large", detail)


def _bounded(receive: Receive, send: Send) -> Receive:
    """The messages of a socket; a socket that sends too much is closed."""
    buckets = Buckets(FRAMES_PER_MINUTE)

    async def receive_bounded() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive":
            return message
        content: str | bytes = message.get("text") or message.get("bytes") or b""
        code = _TOO_BIG if len(content) > MAX_FRAME else 0
        try:
            buckets.take("")
        except ProblemError:
            code = _POLICY_VIOLATION
        if not code:
            return message
        await send({"type": "websocket.close", "code": code})
        return {"type": "websocket.disconnect", "code": code}

    return receive_bounded


def _steady(receive: Receive, seconds: float) -> Receive:
    """The messages of a body that must not pause for longer than `seconds`, nor take for ever."""
    deadline = monotonic() + UPLOAD_SECONDS
    has_more = True

    async def receive_steadily() -> Message:
        nonlocal has_more
        if not has_more:
            return await receive()
        try:
            async with asyncio.timeout(min(seconds, deadline - monotonic())):
                message = await receive()
        except TimeoutError:
            raise ProblemError(408, "request_timeout", "The file did not arrive in time.") from None
        has_more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    return receive_steadily


def _check_type(headers: Headers) -> None:
    """Refuse types other than JSON: a foreign page can make a browser send texts and forms here."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        detail = "The body must be JSON; send Content-Type: application/json."
        raise ProblemError(415, "unsupported_media_type", detail)


def check_head(scope: Scope) -> None:
    """Check that a request's target and headers are within their bounds.

    Raises:
        ProblemError: They are too long (414, 431), or a header is sent twice (400).
    """
    path = scope.get("raw_path") or scope["path"].encode()
    if len(path) + len(scope.get("query_string", b"")) > MAX_TARGET:
        detail = f"The address has more than {MAX_TARGET} bytes; shorten the query."
        raise ProblemError(414, "address_too_long", detail)
    headers = scope["headers"]
    if len(headers) > MAX_HEADERS or sum(len(k) + len(v) for k, v in headers) > MAX_HEAD:
        detail = f"A request can have {MAX_HEADERS} headers with {MAX_HEAD} bytes in total."
        raise ProblemError(431, "headers_too_large", detail)
    counts = Counter(name for name, _ in headers)
    for name in _SINGLE:
        if counts[name.encode()] > 1:
            raise ProblemError(400, "duplicate_header", f"The header {name} occurs twice.")


def check_json(body: bytes) -> None:
    """Check that a text that should be JSON is within its bounds.

    Raises:
        ProblemError: It holds too many values, or too deep ones (422), or is not in UTF-8 (400).
    """
    if b"\x00" in body:  # UTF-16 and -32, in which these bytes mean something else
        raise ProblemError(400, "invalid_json", "The body is not JSON in UTF-8.")
    counts = Counter[bytes]()
    depth = 0
    for token in _TOKENS.finditer(body):
        sign = body[token.start() : token.start() + 1]
        counts[sign] += 1
        values = max(counts[b","] + counts[b"["] + counts[b"{"], counts[b'"'] // 2)
        if values > MAX_VALUES:
            detail = f"The body has more than {MAX_VALUES} values."
            raise ProblemError(422, "too_many_values", detail)
        depth += _DEPTHS.get(sign, 0)
        if depth > MAX_DEPTH:
            detail = f"The body is nested more than {MAX_DEPTH} levels deep."
            raise ProblemError(422, "too_deep", detail)
        if depth < 0:  # it is not JSON: whoever reads it stops here
            return

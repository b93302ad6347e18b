"""How large, how often and how slow a request and a socket may be."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillian.api.bounds import check_json
from skillian.api.problems import ProblemError, SlowClient

RECEIVE_SECONDS = 30.0
SEND_SECONDS = 30.0
DISCARD_SECONDS = 10.0
DISCARD_BYTES = 256 * 1024 * 1024
"""How much of a body that is refused is read and discarded, so that the client sees the answer."""
MAX_BUCKETS = 10_000
"""How many keys and addresses are counted; the one that asked longest ago makes room."""
MAX_FRAME = 256 * 1024
"""Characters or bytes of a message by a page's socket."""
FRAMES_PER_MINUTE = 3000
"""How many messages a page's socket may send."""

_POLICY_VIOLATION, _TOO_BIG = 1008, 1009

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """A token bucket for each asker, in this process: a minute's requests at once, then evenly.

    Args:
        per_minute: how many requests; 0 means any number.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, asker: str) -> None:
        """Count a request of a known key, or of an address.

        Raises:
            ProblemError: it is one too many (429).
        """
        if not self._per_minute:
            return
        now = monotonic()
        bucket = self._buckets.setdefault(asker, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(asker)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        refilled = bucket.tokens + (now - bucket.at) * self._per_minute / 60
        bucket.tokens, bucket.at = min(self._per_minute, refilled), now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) * 60 / self._per_minute)
            detail = f"A key, or an address without one, has {self._per_minute} requests a minute."
            raise ProblemError(429, "too_many_requests", detail, {"Retry-After": str(wait)})
        bucket.tokens -= 1


class _Body:
    """What a client sends: read, or discarded once it is refused."""

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
    """Reads a body as a whole, within its size and time, and drops clients that do not read.

    Args:
        app: what is behind it.
        max_body: bytes of a body.
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

        body = _Body(receive)
        try:
            first = await self._read(scope, body)
        except ProblemError as problem:
            problem.headers["Connection"] = "close"
            is_too_slow = problem.status == HTTPStatus.REQUEST_TIMEOUT
            answer = send_in_time if is_too_slow else body.discarding(send_in_time)
            await problem.response()(scope, receive, answer)
            return
        if first is None:
            return
        pending = [first]

        async def receive_again() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, receive_again, send_in_time)

    async def _read(self, scope: Scope, receive: Receive) -> Message | None:
        """The whole body as one message; None where the client has gone."""
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
            raise ProblemError(408, "request_timeout", "The body did not come in time.") from None
        if body and scope["method"] in _WITH_BODY:
            _check_type(headers)
            check_json(bytes(body))
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    def _too_large(self) -> ProblemError:
        detail = f"The body has more than {self._max_body} bytes."
        return ProblemError(413, "body_too_large", detail)


def _bounded(receive: Receive, send: Send) -> Receive:
    """What a socket says; one that says too much is closed."""
    buckets = Buckets(FRAMES_PER_MINUTE)

    async def receive_bounded() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive":
            return message
        said: str | bytes = message.get("text") or message.get("bytes") or b""
        code = _TOO_BIG if len(said) > MAX_FRAME else 0
        try:
            buckets.take("")
        except ProblemError:
            code = _POLICY_VIOLATION
        if not code:
            return message
        await send({"type": "websocket.close", "code": code})
        return {"type": "websocket.disconnect", "code": code}

    return receive_bounded


def _check_type(headers: Headers) -> None:
    """A page of elsewhere can make a browser send texts and forms here, but no JSON."""
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        detail = "The body is JSON: send Content-Type: application/json."
        raise ProblemError(415, "unsupported_media_type", detail)

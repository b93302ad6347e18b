"""One request of sandboxed code: decided, written again by the host's client, and answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import NamedTuple, Protocol

import aiohttp

from tinyagent.core.execution import NetworkRequest
from tinyagent.execution.network.heads import (
    HOP_BY_HOP,
    OVERRIDES,
    Head,
    RequestRefused,
    plain_name,
    read_body,
)
from tinyagent.execution.network.names import host_name, ip_address
from tinyagent.execution.network.rules import HostPolicy, Target
from tinyagent.execution.network.secrets import Secret
from tinyagent.execution.network.upstream import READ_SECONDS, StaleConnection, reason_of, url_of

SHOWN_PATH = 200
_SMALL_BODY = 1 << 16
_PIECE = 1 << 16
_MOST_STALE = 70  # more than there are connections
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
_NO_BODY = frozenset({204, 304})
_NOT_WITH_SECRETS = frozenset({"accept-encoding", "range", "if-range"})


class ByteBudget:
    """The bytes that a step may send and receive."""

    def __init__(self, most: int) -> None:
        self._left = self._most = most

    def take(self, count: int) -> None:
        """Count bytes.

        Raises:
            RequestRefused: They are too many.
        """
        self._left -= count
        if self._left < 0:
            raise RequestRefused(
                413, f"this step has used up its {self._most:,} bytes of network traffic"
            )


class Services(NamedTuple):
    """The state that all requests of a step share.

    Args:
        policy: Decides.
        secrets: Of hosts.
        client: Reaches the network.
        budget: Of bytes.
    """

    policy: HostPolicy
    secrets: dict[str, Secret]
    client: aiohttp.ClientSession
    budget: ByteBudget


class Pipe(Protocol):
    """The writer of an answer."""

    async def write(self, data: bytes) -> None:
        """Write, and wait until there is room."""
        ...


@dataclass(slots=True)
class Progress:
    """The progress of a request.

    Args:
        target: Where it goes.
    """

    target: Target
    method: str = "?"
    path: str = ""
    status: int | None = None
    is_allowed: bool = False
    has_answer: bool = False
    """Whether a part of the answer was written: then it can only be cut short."""
    sent: int = 0
    received: int = 0
    reason: str = ""
    started: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    def record(self) -> NetworkRequest:
        """The request, for the events of the run."""
        return NetworkRequest(
            self.method,
            str(self.target),
            self.path[:SHOWN_PATH],
            allowed=self.is_allowed,
            status=self.status,
            sent=self.sent,
            received=self.received,
            reason=self.reason,
        )


class Exchange:
    """Answers one request.

    Args:
        services: Of the step.
        progress: Updated as the request goes on.
        reader: Where its body comes from.
        pipe: Where the answer goes.
    """

    def __init__(
        self, services: Services, progress: Progress, reader: asyncio.StreamReader, pipe: Pipe
    ) -> None:
        self._services = services
        self._progress = progress
        self._reader = reader
        self._pipe = pipe

    async def answer(self, head: Head) -> bool:
        """Answer the request; returns whether the connection can serve another.

        Raises:
            RequestRefused: It is refused, or the host cannot be reached; nothing was written.
            ConnectionError: The answer was cut short.
        """
        progress, target = self._progress, self._progress.target
        progress.method, progress.path = head.method, head.path
        self._check(head, target)
        progress.is_allowed = True
        secret = self._services.secrets.get(target.host)
        try:
            return await self._forward(head, secret)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if isinstance(error, asyncio.IncompleteReadError | ConnectionAbortedError):
                raise
            status, reason = reason_of(error, target)
            progress.reason = reason
            if progress.has_answer:
                raise ConnectionAbortedError(reason) from None
            raise RequestRefused(status, reason) from None

    def _check(self, head: Head, target: Target) -> None:
        """Decide.

        Raises:
            RequestRefused: The request is not allowed.
        """
        hosts = head.get("host")
        if len(hosts) != 1 or not _is_same(hosts[0], target):
            raise RequestRefused(
                421, f"the Host header of a request to {target} names {target.host}"
            )
        policy = self._services.policy
        reason = policy.refuse(target, head.method, head.path)
        if reason:
            raise RequestRefused(403, reason)
        if policy.is_narrow(target):
            wrong = [name for name, _ in head.headers if plain_name(name).startswith(OVERRIDES)]
            if wrong:
                raise RequestRefused(
                    403, f"the header {min(wrong)} is not passed on to {target.host}"
                )

    async def _forward(self, head: Head, secret: Secret | None) -> bool:
        body = await self._body(head)
        headers = _request_headers(head, secret, self._progress.target)
        if head.length is not None and not isinstance(body, bytes | None):
            headers.append(("Content-Length", str(head.length)))
        url = url_of(self._progress.target, head.target)
        for _ in range(_MOST_STALE):
            with suppress(StaleConnection):
                async with self._services.client.request(
                    head.method, url, headers=headers, data=body, allow_redirects=False
                ) as response:
                    await self._pass_on(head, response, secret)
                return not head.closes
        raise RequestRefused(502, f"{self._progress.target} sent an answer without a request")

    async def _body(self, head: Head) -> bytes | AsyncIterator[bytes] | None:
        """The body: whole if it is small, otherwise piece by piece."""
        if head.length == 0:
            return b"" if head.get("content-length") else None
        if head.expects:
            await self._pipe.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces = self._counted(read_body(self._reader, head.length))
        if head.length is None or head.length > _SMALL_BODY:
            return pieces
        return b"".join([piece async for piece in pieces])

    async def _counted(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while True:
            async with asyncio.timeout(READ_SECONDS):
                piece = await anext(pieces, b"")
            if not piece:
                return
            self._services.budget.take(len(piece))
            self._progress.sent += len(piece)
            yield piece

    async def _pass_on(
        self, head: Head, response: aiohttp.ClientResponse, secret: Secret | None
    ) -> None:
        """Write the answer: its head, and its body as it comes."""
        status = response.status
        if status < HTTPStatus.OK:
            raise RequestRefused(
                502, f"{self._progress.target} answered {status}, which is not passed on"
            )
        if (
            secret is not None
            and response.headers.get("content-encoding", "identity") != "identity"
        ):
            raise RequestRefused(
                502, "this host has a secret, and its answer is encoded: echoes could not be masked"
            )
        has_body = head.method != "HEAD" and status not in _NO_BODY
        lines, is_chunked = _answer_head(response, secret, has_body=has_body)
        self._services.budget.take(
            sum(len(name) + len(value) for name, value in response.raw_headers)
        )
        self._progress.status = status
        self._progress.has_answer = True
        if not has_body:
            await self._pipe.write(lines)
            return
        await self._copy(response, secret, lines, is_chunked=is_chunked)

    async def _copy(
        self,
        response: aiohttp.ClientResponse,
        secret: Secret | None,
        head: bytes,
        *,
        is_chunked: bool,
    ) -> None:
        pending, tail = head, b""
        async for piece in response.content.iter_any():
            self._count(len(piece))
            ready = piece
            if secret is not None:
                ready, tail = secret.mask_stream(tail, piece)
            if ready:
                await self._pipe.write(pending + _chunk(ready, is_chunked=is_chunked))
                pending = b""
        if tail and secret is not None:
            pending += _chunk(secret.mask(tail), is_chunked=is_chunked)
        if is_chunked:
            pending += b"0\r\n\r\n"
        if pending:
            await self._pipe.write(pending)

    def _count(self, size: int) -> None:
        self._progress.received += size
        try:
            self._services.budget.take(size)
        except RequestRefused as fault:
            self._progress.reason = fault.reason
            raise ConnectionAbortedError(fault.reason) from None


def _is_same(host: str, target: Target) -> bool:
    """Whether a Host header names the target."""
    name, colon, port = host.partition(":")
    if colon and port != str(target.port):
        return False
    usual = target.port == {"http": 80, "https": 443}[target.scheme]
    return (host_name(name) or ip_address(name)) == target.host and (bool(colon) or usual)


def _request_headers(head: Head, secret: Secret | None, target: Target) -> list[tuple[str, str]]:
    """The headers that go to the host, with the secret if it goes there encrypted."""
    dropped = {"content-length", "host"}
    added: list[tuple[str, str]] = []
    if secret is not None:
        dropped |= {*_NOT_WITH_SECRETS, secret.header}
        added.append(("Accept-Encoding", "identity"))
        if target.scheme == "https":
            added.append((secret.header.title(), secret.value))
    usual = target.port == {"http": 80, "https": 443}[target.scheme]
    added.append(("Host", target.host if usual else f"{target.host}:{target.port}"))
    return [*added, *(item for item in head.headers if plain_name(item[0]) not in dropped)]


def _answer_head(
    response: aiohttp.ClientResponse, secret: Secret | None, *, has_body: bool
) -> tuple[bytes, bool]:
    """The head of the answer, and whether its body comes in chunks."""
    phrase = _PHRASES.get(response.status, "Unknown")  # the server's may say anything
    lines = [f"HTTP/1.1 {response.status} {phrase}".encode()]
    dropped = {name.encode() for name in (*HOP_BY_HOP, "content-length")}
    dropped |= {
        option.strip().lower().encode()
        for value in response.headers.getall("connection", ())
        for option in value.split(",")
    }
    lines += [
        name + b": " + value for name, value in response.raw_headers if name.lower() not in dropped
    ]
    if secret is not None:
        lines = [secret.mask(line) for line in lines]
    length = response.headers.get("content-length")
    is_chunked = has_body and length is None
    if is_chunked:
        lines.append(b"Transfer-Encoding: chunked")
    elif length is not None and length.isdecimal():
        lines.append(f"Content-Length: {length}".encode())
    return b"\r\n".join([*lines, b"", b""]), is_chunked


def _chunk(data: bytes, *, is_chunked: bool) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data

"""The HTTP part of the mock servers, on loopback: requests in, exact replies out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, cast
from urllib.parse import parse_qsl, urlsplit

Ending = Literal["whole", "cut", "hang"]


@dataclass(frozen=True)
class Reply:
    """An exact HTTP reply.

    `ending` is what happens after the body: `"whole"` ends it properly, `"cut"` drops the
    connection before its end, `"hang"` sends nothing more and keeps the connection open.
    """

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    ending: Ending = "whole"


def json_reply(data: Any, *, status: int = 200, ending: Ending = "whole") -> Reply:
    """A reply with a JSON body."""
    return Reply(json.dumps(data).encode(), status, ending=ending)


@dataclass(frozen=True)
class Request:
    """An HTTP request: header names in lower case, the body as bytes."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """The API key, from whichever header or query parameter carries it."""
        for name in ("x-api-key", "x-goog-api-key"):
            if name in self.headers:
                return self.headers[name]
        bearer = self.headers.get("authorization", "").removeprefix("Bearer").strip()
        return bearer or self.query.get("key", "")


class HttpServer:
    """Answers every request on a free port of 127.0.0.1 with the result of `answer`."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        if self._server is None:
            name = type(self).__name__
            raise RuntimeError(f"the server is not running; use `async with {name}(...)`")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop listening and drop all connections, like a server that dies."""
        if self._server is None:
            return
        self._server.close()
        handlers = tuple(self._connections.values())
        for writer in self._connections:
            writer.transport.abort()
        await asyncio.gather(*handlers)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections[writer] = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            while (request := await _read_request(reader)) is not None:
                if not await _send(self._answer(request), reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            del self._connections[writer]
            writer.transport.abort()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request; None if the client has disconnected."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return Request(method, url.path, dict(parse_qsl(url.query)), headers, body)


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; return whether the connection can take another request."""
    announced = len(reply.body) + (0 if reply.ending == "whole" else 1)
    lines = [
        f"HTTP/1.1 {reply.status} Mock",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {announced}",
        *(f"{name}: {value}" for name, value in reply.headers.items()),
    ]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + reply.body)
    await writer.drain()
    if reply.ending == "hang":
        await reader.read()  # until the client gives up
    return reply.ending == "whole"

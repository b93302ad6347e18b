"""MockServer: a chat completions server on loopback that answers, and fails, as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, cast

from tinyagent.core.types import ModelResponse
from tinyagent.testing.completions import completion_json, completion_sse

Ending = Literal["whole", "cut", "hang"]


@dataclass(frozen=True)
class Reply:
    """One HTTP reply, to the byte.

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


def error_reply(status: int, message: str, **headers: str) -> Reply:
    """A failure as chat completions servers send it; `Retry_After="1"` sets that header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": message, "type": "mock"}}).encode()
    return Reply(body, status, headers=named)


Answer = Reply | ModelResponse | str
Script = Iterable[Answer] | Callable[[dict[str, Any]], Answer]


class MockServer:
    """Serves `POST /v1/chat/completions` on a free port of 127.0.0.1.

    Use it as `async with MockServer(script) as server` and give `server.base_url` to a model. The
    script is a list, one answer a request (after its end the last one is repeated), or a function
    of the request's body. An answer is a text, a `ModelResponse` (sent plain or streamed, as the
    request asks) or a `Reply`. `requests` keeps the bodies that came, `keys` their API keys.
    """

    def __init__(self, script: Script) -> None:
        self._answer = script if callable(script) else _one_after_the_other(list(script))
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def base_url(self) -> str:
        """Where it listens, `/v1` included."""
        if self._server is None:
            raise RuntimeError("the server is not running; use `async with MockServer(...)`")
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

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
        """Stop listening and drop all connections, as a server that dies does."""
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
                headers, body = request
                self.requests.append(body)
                self.keys.append(headers.get("authorization", "").removeprefix("Bearer "))
                reply = _as_reply(self._answer(body), stream=bool(body.get("stream")))
                if not await _send(reply, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            del self._connections[writer]
            writer.transport.abort()


def _one_after_the_other(answers: list[Answer]) -> Callable[[dict[str, Any]], Answer]:
    position = -1

    def answer(_body: dict[str, Any]) -> Answer:
        nonlocal position
        position = min(position + 1, len(answers) - 1)
        return answers[position]

    return answer


def _as_reply(answer: Answer, *, stream: bool) -> Reply:
    if isinstance(answer, Reply):
        return answer
    response = ModelResponse(answer) if isinstance(answer, str) else answer
    if stream:
        return Reply(completion_sse(response), content_type="text/event-stream")
    return json_reply(completion_json(response))


async def _read_request(
    reader: asyncio.StreamReader,
) -> tuple[dict[str, str], dict[str, Any]] | None:
    """The headers and the JSON body of the next request; None when the client has gone."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return headers, json.loads(body or b"{}")


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; says whether the connection can take another request."""
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

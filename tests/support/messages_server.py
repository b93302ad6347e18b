"""A server of Anthropic's messages API on loopback: it refuses what the real one refuses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from tinyagent.core import ModelResponse

_KNOWN = {
    "model",
    "max_tokens",
    "messages",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "output_config",
    "cache_control",
    "thinking",
}
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}


@dataclass(frozen=True)
class Raw:
    """A reply to the byte; `"cut"` drops the connection before its end, `"hang"` sends no more."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    ending: Literal["whole", "cut", "hang"] = "whole"


Answer = ModelResponse | Raw


def failure(status: int, kind: str, message: str, **headers: str) -> Raw:
    """An error as the API sends it; `Retry_After="1"` sets that header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw(json.dumps(error_event(kind, message)).encode(), status, headers=named)


def error_event(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def message_json(response: ModelResponse) -> dict[str, Any]:
    """The body of a plain reply."""
    blocks: list[dict[str, Any]] = []
    if response.content is not None:
        blocks.append({"type": "text", "text": response.content})
    for call in response.tool_calls:
        arguments = json.loads(call.arguments)
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
    return {
        "id": response.id,
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": blocks,
        "stop_reason": _stop_reason(response),
        "usage": _usage(response),
    }


def events(response: ModelResponse, thought: str = "") -> list[dict[str, Any]]:
    """The events of a streamed reply: a piece a word, calls in two pieces."""
    head = {**message_json(response), "content": [], "stop_reason": None}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": head}, {"type": "ping"}]
    out += _numbered(_blocks(response, thought))
    end = {"stop_reason": _stop_reason(response), "stop_sequence": None}
    usage = {"output_tokens": response.usage.output_tokens}
    out += [{"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]
    return out


def sse(sent: Sequence[dict[str, Any]], ending: Literal["whole", "cut", "hang"] = "whole") -> Raw:
    """Events on their way."""
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in sent]
    return Raw("".join(lines).encode(), content_type="text/event-stream", ending=ending)


def refusal(body: dict[str, Any]) -> str | None:
    """What the API has against a request."""
    unknown = sorted(set(body) - _KNOWN)
    if unknown:
        return f"{unknown[0]}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    return next(_faults(body["messages"]), None)


class MessagesServer:
    """Serves `POST /v1/messages` on a free port: one answer a request, the last one repeated."""

    def __init__(self, script: Sequence[Answer] | Callable[[dict[str, Any]], Answer]) -> None:
        self._script = script
        self.left = asyncio.Event()  # a client has gone in the middle of a reply
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/messages", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        key = request.headers.get("X-Api-Key") or request.headers.get("Authorization") or ""
        self.keys.append(key.removeprefix("Bearer "))
        return await self._send(request, self._reply(body))

    def _reply(self, body: dict[str, Any]) -> Raw:
        refused = refusal(body)
        if refused is not None:
            return failure(400, "invalid_request_error", refused)
        answer = (
            self._script(body)
            if callable(self._script)
            else self._script[min(len(self.requests), len(self._script)) - 1]
        )
        if isinstance(answer, Raw):
            return answer
        if body.get("stream"):
            return sse(events(answer))
        return Raw(json.dumps(message_json(answer)).encode())

    async def _send(self, request: web.Request, reply: Raw) -> web.StreamResponse:
        out = web.StreamResponse(status=reply.status, headers=reply.headers)
        out.content_type = reply.content_type
        out.content_length = len(reply.body) + (reply.ending != "whole")
        await out.prepare(request)
        await out.write(reply.body)
        if reply.ending == "hang":
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.left.set()
        if reply.ending != "whole" and request.transport is not None:
            request.transport.abort()
        return out


def _blocks(response: ModelResponse, thought: str) -> Iterator[list[dict[str, Any]]]:
    """For each block its beginning and its deltas."""
    if thought:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        yield [start, {"type": "thinking_delta", "thinking": thought}]
    if response.content is not None:
        pieces = re.findall(r"\s*\S+|\s+", response.content)
        yield [
            {"type": "text", "text": ""},
            *({"type": "text_delta", "text": piece} for piece in pieces),
        ]
    for call in response.tool_calls:
        half = len(call.arguments) // 2
        parts = (call.arguments[:half], call.arguments[half:])
        yield [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": {}},
            *({"type": "input_json_delta", "partial_json": part} for part in parts),
        ]


def _numbered(blocks: Iterator[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for index, (start, *deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _stop_reason(response: ModelResponse) -> str:
    reason = response.finish_reason
    return "tool_use" if response.tool_calls else _STOP_REASONS.get(reason, reason)


def _usage(response: ModelResponse) -> dict[str, Any]:
    used = response.usage
    return {
        "input_tokens": used.input_tokens - used.cached_tokens,
        "cache_read_input_tokens": used.cached_tokens,
        "cache_creation_input_tokens": None,
        "output_tokens": used.output_tokens,
    }


def _faults(messages: list[dict[str, Any]]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        yield f"messages: roles must alternate, beginning with user, not {roles}"
    wanted: list[str] = []
    for message in messages:
        blocks = message["content"]
        given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if given != wanted or any(block["type"] != "tool_result" for block in blocks[: len(given)]):
            yield "tool_use blocks without tool_result blocks immediately after"
        wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not blocks or any(not block.get("text", "x").strip() for block in blocks):
            yield "messages: text content blocks must be non-empty"
        if any(not _CALL_ID.fullmatch(call_id) for call_id in wanted):
            yield "tool_use.id: should match pattern"

"""Anthropic's messages format: requests into JSON, replies and stream events out of it.

Source: Anthropic API reference, "Messages" and "Streaming Messages", version 2026-10-21.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tinyagent.core.errors import ModelFormatRefused, ModelReplyError
from tinyagent.core.json_shape import as_array, as_object, describe
from tinyagent.core.messages import Message
from tinyagent.core.types import (
    ModelDelta,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    RequestFormat,
    Usage,
)

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def encode_request(
    model: str, request: ModelRequest, *, max_tokens: int, stream: bool
) -> dict[str, Any]:
    """The body of `POST /v1/messages`; `max_tokens` holds where the request names none.

    The temperature is left out: the API refuses it, at any value.

    Raises:
        ModelFormatRefused: the request wants a `response_format` that the API does not have.
    """
    system = [message.content for message in request.messages if message.role == "system"]
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or max_tokens,
        "messages": _encode_messages(request.messages),
        **_encode_format(request.format),
    }
    if any(system):
        body["system"] = "\n\n".join(text for text in system if text.strip())
    if stream:
        body["stream"] = True
    return body


def _encode_format(wanted: RequestFormat) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if wanted.tools:
        out["tools"] = [_encode_tool(tool["function"]) for tool in wanted.tools]
    if wanted.tool_choice is not None:
        out["tool_choice"] = {"type": wanted.tool_choice}
    if wanted.response_format is not None:
        kind = wanted.response_format.get("type")
        if kind != "json_schema":
            raise ModelFormatRefused(f"Anthropic's API takes no response_format of type {kind!r}")
        schema = wanted.response_format["json_schema"]["schema"]
        out["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return out


def _encode_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function declaration of chat completions as a tool of this API."""
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "input_schema": function.get("parameters") or _NO_ARGUMENTS,
    }


def _encode_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Turns of user and assistant: what follows each other in one role becomes one message."""
    blocks = (
        (_role(message), block)
        for message in messages
        if message.role != "system"
        for block in _encode_blocks(message)
    )
    return [
        {"role": role, "content": [block for _, block in turn]}
        for role, turn in groupby(blocks, key=itemgetter(0))
    ]


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _encode_blocks(message: Message) -> Iterator[dict[str, Any]]:
    if message.tool_call_id is not None:
        call_id = _call_id(message.tool_call_id)
        yield {"type": "tool_result", "tool_use_id": call_id, "content": message.content}
        return
    if message.content.strip():  # the API refuses blank text
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls:
        arguments = dict(call.arguments)
        yield {
            "type": "tool_use",
            "id": _call_id(call.id),
            "name": call.name,
            "input": arguments,
        }


def _call_id(call_id: str) -> str:
    """An id as the API takes it: another model of the same conversation may use more letters."""
    return _NOT_IN_AN_ID.sub("_", call_id)


def error_status(event: Any) -> int | None:
    """The HTTP status that an error sent as a reply or an event stands for; None: no error."""
    entry = as_object(event) or {}
    if entry.get("type") != "error":
        return None
    kind = (as_object(entry.get("error")) or {}).get("type")
    return _STATUSES.get(str(kind), 500)


def is_whole_reply(event: Any) -> bool:
    """Whether this is a reply in one piece rather than an event of a streamed one."""
    return (as_object(event) or {}).get("type") == "message"


def decode_response(data: Any) -> ModelResponse:
    """Read the JSON body of a reply.

    Raises:
        ModelReplyError: it is not a message; the message says what came instead.
    """
    body = _as_object(data)
    blocks = as_array(body.get("content"))
    if blocks is None:
        raise ModelReplyError(f"the reply has no 'content', only {describe(body)}")
    assembler = StreamAssembler()
    assembler.start(body)
    for index, block in enumerate(blocks):
        assembler.open_block(index, _as_object(block))
    return assembler.response()


class StreamAssembler:
    """Puts the events of a streamed reply together."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: dict[str, Any] = {}
        self._head: dict[str, str] = {"id": "", "model": ""}
        self._stop_reason = ""
        self.is_whole = False
        """Whether the server said that the answer has ended."""

    def add(self, data: Any) -> ModelDelta | None:
        """Take one event; gives its piece of text, if it has one.

        Raises:
            ModelReplyError: it is not an event of a message.
        """
        event = _as_object(data)
        match event.get("type"):
            case "message_start":
                self.start(_as_object(event.get("message")))
            case "content_block_start":
                block = _as_object(event.get("content_block"))
                return self.open_block(_index(event), block)
            case "content_block_delta":
                return self._add_delta(_index(event), _as_object(event.get("delta")))
            case "message_delta":
                self._end(event, _as_object(event.get("delta")))
            case "message_stop":
                self.is_whole = True
            case _:  # pings, and what the API may add
                pass
        return None

    def start(self, message: Mapping[str, Any]) -> None:
        """Take what stands around the content of a message."""
        self._head = {key: str(message.get(key) or "") for key in self._head}
        self._end(message, message)

    def open_block(self, index: int, block: Mapping[str, Any]) -> ModelDelta | None:
        """Take a block as far as it is there; a streamed one grows by deltas."""
        kind = block.get("type")
        if kind == "tool_use":
            head = {"id": str(block.get("id") or ""), "name": str(block.get("name") or "")}
            self._calls[index] = {**head, "input": block.get("input") or {}, "json": []}
        elif kind == "text":
            return self._add_text(index, block.get("text"))
        elif kind == "thinking":
            return _thought(block.get("thinking"))
        return None

    def response(self) -> ModelResponse:
        """The whole answer so far."""
        texts = [piece for _, pieces in sorted(self._texts.items()) for piece in pieces]
        return ModelResponse(
            content="".join(texts) if self._texts else None,
            tool_calls=tuple(_raw_call(call) for _, call in sorted(self._calls.items())),
            usage=_decode_usage(self._usage),
            finish_reason=_FINISH_REASONS.get(self._stop_reason, self._stop_reason or "stop"),
            model=self._head["model"],
            id=self._head["id"],
        )

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> ModelDelta | None:
        kind = delta.get("type")
        if kind == "text_delta":
            return self._add_text(index, delta.get("text"))
        if kind == "thinking_delta":
            return _thought(delta.get("thinking"))
        if kind == "input_json_delta" and index in self._calls:
            self._calls[index]["json"].append(str(delta.get("partial_json") or ""))
        return None

    def _add_text(self, index: int, text: Any) -> ModelDelta | None:
        pieces = self._texts.setdefault(index, [])
        if not isinstance(text, str) or not text:
            return None
        pieces.append(text)
        return ModelDelta(text)

    def _end(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
        self._stop_reason = str(delta.get("stop_reason") or self._stop_reason)
        counts = as_object(event.get("usage")) or {}
        self._usage |= {key: count for key, count in counts.items() if count is not None}


def _thought(text: Any) -> ModelDelta | None:
    return ModelDelta(text, "reasoning") if isinstance(text, str) and text else None


def _raw_call(call: Mapping[str, Any]) -> RawToolCall:
    written = "".join(call["json"])
    arguments = written or json.dumps(call["input"], ensure_ascii=False)
    return RawToolCall(call["id"], call["name"], arguments)


def _decode_usage(counts: Mapping[str, Any]) -> Usage:
    read = _as_count(counts.get("cache_read_input_tokens"))
    written = _as_count(counts.get("cache_creation_input_tokens"))
    return Usage(
        requests=1,
        input_tokens=_as_count(counts.get("input_tokens")) + written + read,
        output_tokens=_as_count(counts.get("output_tokens")),
        cached_tokens=read,
    )


def _as_count(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise ModelReplyError("the stream has a piece of content without its index")
    return index


def _as_object(value: Any) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ModelReplyError(f"the reply has {describe(value)} where an object belongs")
    return entry

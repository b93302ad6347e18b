"""The chat completions format: requests into JSON, replies and stream chunks out of it.

Source: OpenAI API reference, "Chat Completions"; what other servers leave out is optional here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from tinyagent.core.errors import ModelReplyError
from tinyagent.core.json_shape import as_array, as_object, describe
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import (
    ModelDelta,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    Usage,
)
from tinyagent.models.failures import status_error

_MAX_PARALLEL_CALLS = 128
_LAST_STATUS = 600


def encode_request(model: str, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
    """The body of `POST /chat/completions`."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_encode_message(message) for message in request.messages],
    }
    if request.format.tools:
        body["tools"] = request.format.tools
    if request.format.tool_choice is not None:
        body["tool_choice"] = request.format.tool_choice
    if request.format.response_format is not None:
        body["response_format"] = request.format.response_format
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _encode_message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["tool_calls"] = [_encode_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        out["tool_call_id"] = message.tool_call_id
    return out


def _encode_call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def decode_response(data: Any) -> ModelResponse:
    """Read the JSON body of a reply.

    Raises:
        ModelReplyError: it is not a chat completion; the message says what came instead.
        ModelServerError: it reports an error.
    """
    body = _without_error(data)
    choices = _as_list(body.get("choices"))
    if not choices:
        raise ModelReplyError(f"the reply has no 'choices', only {describe(body)}")
    choice = _as_object(choices[0])
    message = _as_object(choice.get("message"))
    calls = [_as_object(call) for call in _as_list(message.get("tool_calls"))]
    return ModelResponse(
        content=_as_text(message.get("content") or message.get("refusal")),
        tool_calls=tuple(_decode_call(call) for call in calls[:_MAX_PARALLEL_CALLS]),
        usage=_decode_usage(body.get("usage")),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        model=str(body.get("model") or ""),
        id=str(body.get("id") or ""),
    )


def is_whole_reply(data: Any) -> bool:
    """Whether this is a reply in one piece rather than a chunk of a streamed one."""
    choices = as_array((as_object(data) or {}).get("choices")) or [None]
    return "message" in (as_object(choices[0]) or {})


class StreamAssembler:
    """Puts the chunks of a streamed reply together."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._usage: Any = None
        self._head: dict[str, str] = {"id": "", "model": ""}
        self._finish_reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the server said how the answer ends."""
        return self._finish_reason is not None

    def add(self, data: Any) -> ModelDelta | None:
        """Take one chunk; gives its piece of text, if it has one.

        Raises:
            ModelReplyError: it is not a chunk of a chat completion.
            ModelServerError: the server reports an error in the middle of the stream.
        """
        chunk = _without_error(data)
        for key in self._head:
            self._head[key] = self._head[key] or str(chunk.get(key) or "")
        self._usage = chunk.get("usage") or self._usage
        choices = _as_list(chunk.get("choices"))
        if not choices:
            return None
        choice = _as_object(choices[0])
        self._finish_reason = str(choice.get("finish_reason") or "") or self._finish_reason
        delta = _as_object(choice.get("delta") or {})
        for call in _as_list(delta.get("tool_calls")):
            self._add_call(_as_object(call))
        return self._add_text(delta)

    def response(self) -> ModelResponse:
        """The whole answer so far."""
        calls = tuple(
            RawToolCall(call["id"], call["name"], "".join(self._arguments[index]))
            for index, call in sorted(self._calls.items())
        )
        return ModelResponse(
            content="".join(self._text) if self._text else None,
            tool_calls=calls,
            usage=_decode_usage(self._usage),
            finish_reason=self._finish_reason or "stop",
            model=self._head["model"],
            id=self._head["id"],
        )

    def _add_text(self, delta: Mapping[str, Any]) -> ModelDelta | None:
        text = delta.get("content") or delta.get("refusal")
        if isinstance(text, str):
            self._text.append(text)
            return ModelDelta(text)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        return ModelDelta(thought, "reasoning") if isinstance(thought, str) else None

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        index = self._index_of(piece)
        call = self._calls.setdefault(index, {"id": "", "name": ""})
        function = _as_object(piece.get("function") or {})
        call["id"] = call["id"] or str(piece.get("id") or "")
        call["name"] = call["name"] or str(function.get("name") or "")
        written = function.get("arguments") or ""
        text = written if isinstance(written, str) else json.dumps(written)
        self._arguments.setdefault(index, []).append(text)

    def _index_of(self, piece: Mapping[str, Any]) -> int:
        """The call that a piece belongs to; some servers leave the index out or repeat it."""
        index = piece.get("index")
        last = max(self._calls, default=-1)
        if not isinstance(index, int):
            index = last + 1 if piece.get("id") else max(last, 0)
        known = self._calls.get(index)
        starts = bool(piece.get("id")) and bool(_as_object(piece.get("function") or {}).get("name"))
        if known and starts and known["name"] and piece.get("id") != known["id"]:
            index = last + 1
        if not 0 <= index < _MAX_PARALLEL_CALLS:
            raise ModelReplyError(f"the stream has a tool call with index {index}")
        return index


def _decode_call(call: Mapping[str, Any]) -> RawToolCall:
    function = _as_object(call.get("function"))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments)
    return RawToolCall(str(call.get("id") or ""), str(function.get("name") or ""), arguments)


def _decode_usage(usage: Any) -> Usage:
    counts = as_object(usage) or {}
    details = as_object(counts.get("prompt_tokens_details")) or {}
    return Usage(
        requests=1,
        input_tokens=_as_count(counts.get("prompt_tokens")),
        output_tokens=_as_count(counts.get("completion_tokens")),
        cached_tokens=_as_count(details.get("cached_tokens")),
    )


def _as_count(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _as_text(value: Any) -> str | None:
    """Content as text; some servers send it in parts."""
    if value is None or isinstance(value, str):
        return value
    parts = [_as_object(part) for part in _as_list(value)]
    return "".join(str(part.get("text") or "") for part in parts)


def _without_error(data: Any) -> dict[str, Any]:
    body = _as_object(data)
    if body.get("error"):
        code: object = (as_object(body["error"]) or {}).get("code")
        if not isinstance(code, int) or not HTTPStatus.BAD_REQUEST <= code < _LAST_STATUS:
            code = HTTPStatus.INTERNAL_SERVER_ERROR
        raise status_error(code, {}, json.dumps(body), "the server")
    return body


def _as_object(value: Any) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ModelReplyError(f"the reply has {describe(value)} where an object belongs")
    return entry


def _as_list(value: Any) -> Sequence[Any]:
    items = as_array(value)
    if items is None and value is not None:
        raise ModelReplyError(f"the reply has {describe(value)} where a list belongs")
    return items or ()

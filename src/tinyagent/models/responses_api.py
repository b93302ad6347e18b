"""Replies and stream events of OpenAI's Responses API.

Source: OpenAI API reference, "Responses" and "Streaming".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tinyagent.core.errors import ModelError, ModelReplyError
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.types import (
    ModelDelta,
    ModelResponse,
    RawToolCall,
    ReplyPart,
    Usage,
    needed_parts,
    split_reply,
)
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.models.encoding import Origin
from tinyagent.models.failures import status_error

_TEXT_DELTAS = {"response.output_text.delta", "response.refusal.delta"}
_THOUGHT_DELTAS = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 504}
_BAD_REQUEST = 400
_SERVER_ERROR = 500
_MAX_CALLS = 128


def decode_response(data: Any, origin: Origin) -> ModelResponse:
    """Read the JSON body of a reply.

    Raises:
        ModelReplyError: it is not a response; the message says what came instead.
        ModelError: the response has failed.
    """
    body = _as_object(data)
    if body.get("error") or body.get("status") in {"failed", "cancelled"}:
        raise _failure(body)
    items = as_array(body.get("output"))
    if items is None:
        raise ModelReplyError(f"the reply has no 'output', only {describe(body)}")
    parts: list[ReplyPart] = []
    refused = False
    for item in items:
        entry = _as_object(item)
        part = _read_item(entry, origin)
        refused = refused or _is_refusal(entry)
        parts += [] if part is None else [part]
    content, calls = split_reply(parts)
    if len(calls) > _MAX_CALLS:
        raise ModelReplyError(f"the reply has {len(calls)} tool calls, more than {_MAX_CALLS}")
    return ModelResponse(
        content=content,
        tool_calls=calls,
        usage=_decode_usage(body.get("usage")),
        finish_reason="content_filter" if refused else _finish_reason(body, calls),
        model=str(body.get("model") or ""),
        id=str(body.get("id") or ""),
        parts=needed_parts(parts),
    )


def is_whole_reply(data: Any) -> bool:
    """Whether this is a reply in one piece rather than an event of a streamed one."""
    entry = as_object(data) or {}
    return "output" in entry and not str(entry.get("type") or "").startswith("response.")


class StreamAssembler:
    """Puts the events of a streamed reply together.

    Args:
        origin: who makes the reply; its opaque data is marked so.
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._items: dict[int, Any] = {}
        self._end: dict[str, Any] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the server said that the answer has ended."""
        return self._end is not None

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event; gives its piece of text or reasoning, if it has one.

        Raises:
            ModelReplyError: it is not an event of a response.
            ModelError: it says that the response has failed.
        """
        event = _as_object(data)
        kind = event.get("type")
        if kind in _TEXT_DELTAS or kind in _THOUGHT_DELTAS:
            words = event.get("delta")
            if isinstance(words, str) and words:
                return (ModelDelta(words, "text" if kind in _TEXT_DELTAS else "reasoning"),)
        elif kind == "response.output_item.done":
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = event.get("item")
        elif kind in _ENDS:
            self._end = _as_object(event.get("response"))
            if kind == "response.failed":
                raise _failure(self._end)
        elif kind == "error" or (kind is None and event.get("error")):
            raise _failure(event)
        return ()

    def response(self) -> ModelResponse:
        """The whole answer so far; items count as they were when they were done."""
        body = dict(self._end or {})
        if self._items:
            body["output"] = [self._items[index] for index in sorted(self._items)]
        return decode_response({"output": [], **body}, self._origin)


def _read_item(item: Mapping[str, Any], origin: Origin) -> ReplyPart | None:
    """An item as a part; None for one of a kind that nobody asked for."""
    match item.get("type"):
        case "reasoning":
            texts = [*_texts(item.get("summary")), *_texts(item.get("content"))]
            return Reasoning("\n\n".join(texts), origin.mark({"item": dict(item)}))
        case "message":
            kept = {key: value for key, value in item.items() if key != "content"}
            return Text("".join(_texts(item.get("content"))), origin.mark({"item": kept}))
        case "function_call":
            kept = {key: item[key] for key in ("id", "status") if item.get(key)}
            return RawToolCall(
                str(item.get("call_id") or ""),
                str(item.get("name") or ""),
                str(item.get("arguments") or ""),
                origin.mark({"item": kept}),
            )
        case _:
            return None


def _texts(pieces: Any) -> list[str]:
    entries = [as_object(piece) or {} for piece in as_array(pieces) or ()]
    return [str(each.get("text") or each.get("refusal") or "") for each in entries]


def _is_refusal(item: Mapping[str, Any]) -> bool:
    pieces = as_array(item.get("content")) or ()
    return any((as_object(piece) or {}).get("type") == "refusal" for piece in pieces)


def _finish_reason(body: Mapping[str, Any], calls: Sequence[RawToolCall]) -> str:
    if body.get("status") == "incomplete":
        reason = (as_object(body.get("incomplete_details")) or {}).get("reason")
        return _REASONS.get(str(reason), str(reason or "length"))
    return "tool_calls" if calls else "stop"


def _failure(body: Mapping[str, Any]) -> ModelError:
    """The error that a failed response or an `error` event stands for."""
    entry = as_object(body.get("error")) or body
    code = str(entry.get("code") or "")
    status = _STATUSES.get(code, _SERVER_ERROR if not code else _BAD_REQUEST)
    said = entry.get("message") or f"it ended as {body.get('status') or 'failed'}"
    words = f"{said} ({code})" if code else said
    return status_error(status, {}, json.dumps({"error": words}), "the server")


def _decode_usage(usage: Any) -> Usage:
    counts = as_object(usage) or {}
    read = as_object(counts.get("input_tokens_details")) or {}
    written = as_object(counts.get("output_tokens_details")) or {}
    return Usage(
        requests=1,
        input_tokens=_as_count(counts.get("input_tokens")),
        output_tokens=_as_count(counts.get("output_tokens")),
        cached_tokens=_as_count(read.get("cached_tokens")),
        cache_write_tokens=_as_count(read.get("cache_write_tokens")),
        reasoning_tokens=_as_count(written.get("reasoning_tokens")),
    )


def _as_count(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _as_object(value: Any) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ModelReplyError(f"the reply has {describe(value)} where an object belongs")
    return entry

"""Replies and stream events of OpenAI's Responses API.

Source: OpenAI API reference, "Responses" and "Streaming".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

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
from tinyagent.models.failures import error_detail
from tinyagent.models.provider import Provider
from tinyagent.models.wire.responses_request import responses_origin
from tinyagent.models.wire.shared import (
    MAX_PARALLEL_CALLS,
    Origin,
    as_count,
    finish_reason,
    json_text,
    reported_error,
    require_object,
    uncounted,
)

_DELTAS: Mapping[str, Literal["text", "reasoning"]] = {
    "response.output_text.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 504}


class ResponsesReply:
    """Reads a response, whole or event by event.

    Args:
        provider: The provider as it is for the model.
        model: The name of the model that was requested.
    """

    def __init__(self, provider: Provider, model: str) -> None:
        self._origin = responses_origin(provider, model)
        self._items: dict[int, Any] = {}
        self._end: dict[str, Any] | None = None

    def is_whole(self, *, done: bool) -> bool:
        """Whether the server reported the end of the streamed answer."""
        del done  # the last event of this API says how the answer ended
        return self._end is not None

    def is_unstreamed(self, data: Any) -> bool:
        """Whether this is a whole response rather than an event of one."""
        entry = as_object(data) or {}
        return "output" in entry and not str(entry.get("type") or "").startswith("response.")

    def read(self, data: Any) -> ModelResponse:
        """Read a whole response.

        Raises:
            ModelReplyError: It is not a response; the message says what came instead.
            ModelError: The response has failed.
        """
        body = require_object(data)
        if body.get("error") or body.get("status") in {"failed", "cancelled"}:
            raise _failure(body)
        items = as_array(body.get("output"))
        if items is None:
            raise ModelReplyError(f"the reply has no 'output', only {describe(body)}")
        entries = [require_object(item) for item in items]
        read = [_read_item(entry, self._origin) for entry in entries]
        parts = [part for part in read if part is not None]
        content, calls = split_reply(parts)
        if len(calls) > MAX_PARALLEL_CALLS:
            raise ModelReplyError(
                f"the reply has {len(calls)} tool calls, more than {MAX_PARALLEL_CALLS}"
            )
        refusal = "".join(words for entry in entries for words in _pieces(entry, "refusal"))
        return ModelResponse(
            content=(content or None) if refusal else content,
            tool_calls=calls,
            usage=_read_usage(body.get("usage")),
            finish_reason="refusal" if refusal else _finish_reason(body, calls),
            model=str(body.get("model") or ""),
            id=str(body.get("id") or ""),
            parts=needed_parts(parts),
            refusal=error_detail(refusal),
        )

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event and return its piece of text or reasoning.

        Raises:
            ModelReplyError: It is not an event of a response.
            ModelError: It reports that the response has failed.
        """
        event = require_object(data)
        kind = str(event.get("type") or "")
        if kind in _DELTAS:
            words = event.get("delta")
            if isinstance(words, str) and words:
                return (ModelDelta(words, _DELTAS[kind]),)
        elif kind == "response.output_item.done":
            index = event.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = event.get("item")
        elif kind in _ENDS:
            self._end = require_object(event.get("response"))
            if kind == "response.failed":
                raise _failure(self._end)
        elif kind == "error" or (not kind and event.get("error")):
            raise _failure(event)
        return ()

    def response(self) -> ModelResponse:
        """The answer so far; items count as they were when they were done."""
        body = dict(self._end or {})
        if self._items:
            body["output"] = [self._items[index] for index in sorted(self._items)]
        return self.read({"output": [], **body})


def _read_item(item: Mapping[str, Any], origin: Origin) -> ReplyPart | None:
    """An item as a part; None for a kind that was not requested."""
    match item.get("type"):
        case "reasoning":
            texts = [*_pieces(item, "text", "summary"), *_pieces(item, "text")]
            return Reasoning("\n\n".join(texts), origin.mark({"item": dict(item)}))
        case "message":
            fields = {key: value for key, value in item.items() if key != "content"}
            return Text("".join(_pieces(item, "text")), origin.mark({"item": fields}))
        case "function_call":
            fields = {key: item[key] for key in ("id", "status") if item.get(key)}
            return RawToolCall(
                str(item.get("call_id") or ""),
                str(item.get("name") or ""),
                json_text(item.get("arguments")),
                origin.mark({"item": fields}),
            )
        case _:
            return None


def _pieces(item: Mapping[str, Any], key: str, place: str = "content") -> list[str]:
    """The words under `key` of the pieces of an item."""
    pieces = [as_object(piece) or {} for piece in as_array(item.get(place)) or ()]
    return [str(piece[key]) for piece in pieces if piece.get(key)]


def _finish_reason(body: Mapping[str, Any], calls: Sequence[RawToolCall]) -> str:
    if body.get("status") == "incomplete":
        reason = (as_object(body.get("incomplete_details")) or {}).get("reason")
        return finish_reason(str(reason or "length"), has_calls=False)
    return finish_reason("", has_calls=bool(calls))


def _failure(body: Mapping[str, Any]) -> ModelError:
    """The error that a failed response or an `error` event reports."""
    entry = as_object(body.get("error")) or body
    code = str(entry.get("code") or "")
    status = HTTPStatus.BAD_REQUEST if code else HTTPStatus.INTERNAL_SERVER_ERROR
    words = entry.get("message") or f"it ended as {body.get('status') or 'failed'}"
    return reported_error(
        _STATUSES.get(code, status), {"error": f"{words} ({code})" if code else words}
    )


def _read_usage(usage: Any) -> Usage:
    counts = as_object(usage) or {}
    read = as_object(counts.get("input_tokens_details")) or {}
    written = as_object(counts.get("output_tokens_details")) or {}
    return Usage(
        requests=1,
        input_tokens=as_count(counts.get("input_tokens")),
        output_tokens=as_count(counts.get("output_tokens")),
        cached_tokens=as_count(read.get("cached_tokens")),
        cache_write_tokens=as_count(read.get("cache_write_tokens")),
        reasoning_tokens=as_count(written.get("reasoning_tokens")),
        uncounted=uncounted(counts.get("input_tokens"), counts.get("output_tokens")),
    )

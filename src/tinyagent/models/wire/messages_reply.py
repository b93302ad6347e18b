"""Replies and stream events of Anthropic's Messages API.

Source: Anthropic API reference, "Messages" and "Streaming Messages", version 2026-10-21.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from tinyagent.core.errors import ModelReplyError
from tinyagent.core.parts import Opaque, Reasoning, Text
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
from tinyagent.models.wire.shared import (
    as_count,
    finish_reason,
    json_text,
    reported_error,
    require_object,
    uncounted,
)

Mark = Callable[[Mapping[str, Any]], Opaque]
"""Makes opaque data of a block."""

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


class MessagesReply:
    """Reads a message, whole or event by event.

    Args:
        mark: Makes opaque data of a block of reasoning; without it the block is only text.
    """

    def __init__(self, mark: Mark | None = None) -> None:
        self._mark = mark
        self._blocks: dict[int, dict[str, Any]] = {}
        self._words: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._head: dict[str, str] = {"id": "", "model": ""}
        self._stop_reason = ""
        self._refusal = ""
        self._has_ended = False

    def is_whole(self, *, done: bool) -> bool:
        """Whether the server reported the end of the streamed answer."""
        del done  # this API does not send `[DONE]`
        return self._has_ended

    def is_unstreamed(self, data: Any) -> bool:
        """Whether this is a whole message rather than an event of one."""
        return (as_object(data) or {}).get("type") == "message"

    def read(self, data: Any) -> ModelResponse:
        """Read a whole message.

        Raises:
            ModelReplyError: It is not a message; the error says what came instead.
            ModelError: It reports an error.
        """
        body = _without_error(data)
        blocks = as_array(body.get("content"))
        if blocks is None:
            raise ModelReplyError(f"the reply has no 'content', only {describe(body)}")
        self._start(body)
        for index, block in enumerate(blocks):
            self._open_block(index, require_object(block))
        return self.response()

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event and return its piece of text or reasoning.

        Raises:
            ModelReplyError: It is not an event of a message.
            ModelError: The server reports an error in the middle of the stream.
        """
        event = _without_error(data)
        match event.get("type"):
            case "message_start":
                self._start(require_object(event.get("message")))
            case "content_block_start":
                block = require_object(event.get("content_block"))
                return self._open_block(_index(event), block)
            case "content_block_delta":
                return self._add_delta(_index(event), require_object(event.get("delta")))
            case "message_delta":
                self._end(event, require_object(event.get("delta")))
            case "message_stop":
                self._has_ended = True
            case _:  # pings, and types that the API may add
                pass
        return ()

    def _start(self, message: Mapping[str, Any]) -> None:
        self._head = {key: str(message.get(key) or "") for key in self._head}
        self._end(message, message)

    def _open_block(self, index: int, block: Mapping[str, Any]) -> Sequence[ModelDelta]:
        """Take a block as far as it has come; a streamed one grows by deltas."""
        kind = block.get("type")
        self._blocks[index] = dict(block)
        self._words[index] = []
        if kind == "text":
            return self._add_words(index, block.get("text"), "text")
        if kind == "thinking":
            return self._add_words(index, block.get("thinking"), "reasoning")
        return ()

    def response(self) -> ModelResponse:
        """The answer so far."""
        read = [self._part(index, self._blocks[index]) for index in sorted(self._blocks)]
        parts = [part for part in read if part is not None]
        content, calls = split_reply(parts)
        return ModelResponse(
            content=content,
            tool_calls=calls,
            usage=_read_usage(self._usage),
            finish_reason=finish_reason(self._stop_reason, has_calls=bool(calls)),
            model=self._head["model"],
            id=self._head["id"],
            parts=needed_parts(parts),
            refusal=self._refusal,
        )

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> Sequence[ModelDelta]:
        kind = delta.get("type")
        if kind == "text_delta":
            if index not in self._blocks:
                self._open_block(index, {"type": "text"})
            return self._add_words(index, delta.get("text"), "text")
        if kind == "thinking_delta":
            if index not in self._blocks:
                self._open_block(index, {"type": "thinking"})
            return self._add_words(index, delta.get("thinking"), "reasoning")
        if index not in self._blocks:
            return ()
        if kind == "input_json_delta":
            self._words[index].append(json_text(delta.get("partial_json")))
        elif kind == "signature_delta":
            block = self._blocks[index]
            block["signature"] = f"{block.get('signature') or ''}{delta.get('signature') or ''}"
        return ()

    def _add_words(
        self, index: int, words: Any, kind: Literal["text", "reasoning"]
    ) -> Sequence[ModelDelta]:
        if not isinstance(words, str) or not words:
            return ()
        self._words[index].append(words)
        return (ModelDelta(words, kind),)

    def _part(self, index: int, block: Mapping[str, Any]) -> ReplyPart | None:
        """A block as a part; None for a kind that was not requested."""
        words = "".join(self._words[index])
        match block.get("type"):
            case "text":
                return Text(words)
            case "tool_use":
                arguments = words or json.dumps(block.get("input") or {}, ensure_ascii=False)
                return RawToolCall(
                    str(block.get("id") or ""), str(block.get("name") or ""), arguments
                )
            case "thinking" | "redacted_thinking" as kind:
                fields = {key: value for key, value in block.items() if key != "thinking"}
                is_signed = bool(block.get("signature" if kind == "thinking" else "data"))
                opaque = self._mark(fields) if self._mark and is_signed else None
                return Reasoning(words, opaque) if words or opaque else None
            case _:
                return None

    def _end(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
        self._stop_reason = str(delta.get("stop_reason") or self._stop_reason)
        details = as_object(delta.get("stop_details")) or {}
        words = details.get("explanation") or details.get("category")
        self._refusal = error_detail(words) or self._refusal
        counts = as_object(event.get("usage")) or {}
        self._usage |= {key: count for key, count in counts.items() if count is not None}


def _read_usage(counts: Mapping[str, Any]) -> Usage:
    read = as_count(counts.get("cache_read_input_tokens"))
    written = as_count(counts.get("cache_creation_input_tokens"))
    details = as_object(counts.get("output_tokens_details")) or {}
    return Usage(
        requests=1,
        input_tokens=as_count(counts.get("input_tokens")) + written + read,
        output_tokens=as_count(counts.get("output_tokens")),
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=as_count(details.get("thinking_tokens")),
        uncounted=uncounted(counts.get("input_tokens"), counts.get("output_tokens")),
    )


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise ModelReplyError("the stream has a piece of content without its index")
    return index


def _without_error(data: Any) -> dict[str, Any]:
    """The reply or event; errors are sent in the middle of streams too."""
    entry = require_object(data)
    if entry.get("type") == "error":
        kind = (as_object(entry.get("error")) or {}).get("type")
        raise reported_error(_STATUSES.get(str(kind), HTTPStatus.INTERNAL_SERVER_ERROR), entry)
    return entry

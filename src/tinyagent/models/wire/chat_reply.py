"""Replies and stream chunks of chat completions.

Source: OpenAI API reference, "Chat Completions"; what other servers leave out is optional here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tinyagent.core.errors import ModelReplyError
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.types import (
    ModelDelta,
    ModelResponse,
    RawToolCall,
    ReplyPart,
    needed_parts,
    split_reply,
)
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.models.failures import error_detail
from tinyagent.models.provider import Provider
from tinyagent.models.providers import LENIENT
from tinyagent.models.wire.chat_usage import read_usage, reported_cost
from tinyagent.models.wire.shared import (
    MAX_PARALLEL_CALLS,
    Origin,
    finish_reason,
    json_text,
    reported_error,
    require_list,
    require_object,
)
from tinyagent.models.wire.think_tags import ThinkSplitter

_LAST_STATUS = 600
_FAILED = {"error", "insufficient_system_resource", "network_error"}
_TEXT = "text"
_CHUNK = "chunk"
_JOINED = ("text", "summary", "data")


class ChatReply:
    """Reads a chat completion, whole or chunk by chunk.

    Args:
        provider: The provider as it is for the model.
        model: The name of the model that was requested.
    """

    def __init__(self, provider: Provider = LENIENT, model: str = "") -> None:
        self._parts = _Parts(Origin(provider.name, model), think_tag=provider.think_tag)
        self._usage: Any = None
        self._reports_cost = provider.name == "openrouter"
        self._head: dict[str, str] = {"id": "", "model": ""}
        self._finish_reason = ""
        self._refusal: list[str] = []
        self._filter = ""

    def is_whole(self, *, done: bool) -> bool:
        """Whether the server reported the end of the streamed answer.

        Some servers end it with `[DONE]` and no reason: it is complete if it has text, or calls
        whose arguments can be read.
        """
        return bool(self._finish_reason) or (done and self._parts.are_whole)

    def is_unstreamed(self, data: Any) -> bool:
        """Whether this is a whole chat completion rather than a chunk of one."""
        choices = as_array((as_object(data) or {}).get("choices")) or [None]
        return "message" in (as_object(choices[0]) or {})

    def read(self, data: Any) -> ModelResponse:
        """Read a whole chat completion.

        Raises:
            ModelReplyError: It is not a chat completion; the message says what came instead.
            ModelServerError: It reports an error.
        """
        body = _without_error(data)
        choices = require_list(body.get("choices"))
        if not choices:
            raise ModelReplyError(f"the reply has no 'choices', only {describe(body)}")
        choice = require_object(choices[0])
        message = require_object(choice.get("message"))
        self._read_head(body)
        self._read_choice(choice, message, is_whole=True)
        return self.response()

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one chunk and return its pieces of text and reasoning.

        Raises:
            ModelReplyError: It is not a chunk of a chat completion.
            ModelServerError: The server reports an error in the middle of the stream.
        """
        chunk = _without_error(data)
        self._read_head(chunk)
        choices = require_list(chunk.get("choices"))
        if not choices:
            return ()
        choice = require_object(choices[0])
        return self._read_choice(choice, require_object(choice.get("delta") or {}))

    def response(self) -> ModelResponse:
        """The answer so far."""
        content, calls, parts = self._parts.result()
        reason = "refusal" if self._refusal else self._finish_reason
        return ModelResponse(
            content=content,
            tool_calls=calls,
            usage=read_usage(self._usage),
            finish_reason=finish_reason(reason, has_calls=bool(calls)),
            model=self._head["model"],
            id=self._head["id"],
            parts=parts,
            cost=reported_cost(self._usage) if self._reports_cost else None,
            refusal=error_detail("".join(self._refusal) or self._filter),
        )

    def _read_head(self, chunk: Mapping[str, Any]) -> None:
        for key, value in self._head.items():
            if not value and chunk.get(key):
                self._head[key] = str(chunk[key])
        self._usage = chunk.get("usage") or self._usage

    def _read_choice(
        self, choice: Mapping[str, Any], delta: Mapping[str, Any], *, is_whole: bool = False
    ) -> list[ModelDelta]:
        """Read a choice with its delta, or with the whole message."""
        deltas = [*self._read_content(delta), *self._read_calls(delta, is_whole=is_whole)]
        reason = choice.get("finish_reason")
        if reason:
            if reason in _FAILED:
                ended = {"error": f"it ended with {reason}"}
                raise reported_error(HTTPStatus.SERVICE_UNAVAILABLE, ended)
            self._finish_reason = str(reason)
            self._filter = _filter_words(choice)
            deltas += self._parts.end()
        return deltas

    def _read_content(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        parts = self._parts
        deltas = parts.add_reasoning(delta)
        content = delta.get("content")
        if isinstance(content, str):
            deltas += parts.add_text(content)
        elif content is not None:
            for piece in require_list(content):
                deltas += parts.add_content(require_object(piece))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
        return deltas

    def _read_calls(self, delta: Mapping[str, Any], *, is_whole: bool) -> list[ModelDelta]:
        calls = require_list(delta.get("tool_calls"))
        deltas = self._parts.end() if calls else []
        for at, each in enumerate(calls[:MAX_PARALLEL_CALLS]):
            call = require_object(each)
            function: Any = call.get("function")
            if function is None and not is_whole:
                function = {}
            self._parts.add_call(call, require_object(function), at if is_whole else None)
        if "extra_content" in delta:
            self._parts.add_extra(delta["extra_content"])
        return deltas


@dataclass(slots=True)
class _Piece:
    """Text, reasoning that came under one key, or a call, as far as it has come."""

    kind: str
    words: list[str] = field(default_factory=list[str])
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    call: dict[str, str] | None = None


class _Parts:
    """The parts of a message, put together from its deltas in their order.

    Args:
        origin: Who makes the reply; its opaque data is marked so.
        think_tag: The tag before the reasoning at the start of a text; empty if there is none.
    """

    def __init__(self, origin: Origin, *, think_tag: str) -> None:
        self._origin = origin
        self._pieces: list[_Piece] = []
        self._calls: dict[int, _Piece] = {}
        self._details: dict[tuple[Any, Any], dict[str, Any]] = {}
        self._think_tag = think_tag
        self._splitter: ThinkSplitter | None = None

    def add_text(self, text: str) -> list[ModelDelta]:
        """Take a piece of the content, which may still begin with reasoning between tags."""
        if not text:
            return []
        if self._splitter is None and text.lstrip()[:1] not in {"", "<"}:
            self._think_tag = ""  # reasoning between tags is at the start of the first piece
        if self._think_tag:
            splitter = self._splitter = self._splitter or ThinkSplitter(self._think_tag)
            deltas = self._add_split(*splitter.feed(text))
            self._think_tag = "" if splitter.is_plain else self._think_tag
            return deltas
        return self._add_split("", text)

    def add_reasoning(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the reasoning of a delta, under whichever key it comes."""
        for detail in as_array(delta.get("reasoning_details")) or ():
            self._add_detail(as_object(detail) or {})
        for key in ("reasoning_content", "reasoning"):
            thought = delta.get(key)
            if isinstance(thought, str) and thought:
                self._piece(key).words.append(thought)
                return [ModelDelta(thought, "reasoning")]
        return []

    def add_content(self, piece: Mapping[str, Any]) -> list[ModelDelta]:
        """Take a part of a content that is a list: text, or reasoning as Mistral sends it."""
        if piece.get("type") != "thinking":
            return self.add_text(str(piece.get("text") or ""))
        inner = as_array(piece.get("thinking")) or ()
        words = "".join(str((as_object(each) or {}).get("text") or "") for each in inner)
        chunk = self._piece(_CHUNK)
        chunk.words.append(words)
        chunk.data |= {key: value for key, value in piece.items() if key != "thinking"}
        return [ModelDelta(words, "reasoning")] if words else []

    def add_call(
        self, delta: Mapping[str, Any], function: Mapping[str, Any], index: int | None
    ) -> None:
        """Take a piece of a call, or the whole call at `index`.

        Raises:
            ModelReplyError: The server sends an impossible index.
        """
        written = json_text(function.get("arguments"))
        if index is None:
            index = self._index_of(delta, function, written)
        piece = self._calls.get(index)
        if piece is None:
            piece = self._calls[index] = _Piece("call", call={"id": "", "name": ""})
            self._pieces.append(piece)
        call = piece.call or {}
        call["id"] = call["id"] or str(delta.get("id") or "")
        call["name"] = call["name"] or str(function.get("name") or "")
        piece.words.append(written)
        if delta.get("extra_content"):
            piece.data["extra_content"] = delta["extra_content"]

    def add_extra(self, extra: Any) -> None:
        """Take what the provider wants back with the message's text."""
        texts = [piece for piece in self._pieces if piece.kind == _TEXT]
        if texts and extra:
            texts[-1].data["extra_content"] = extra

    @property
    def are_whole(self) -> bool:
        """Whether there are any besides reasoning, and the arguments of each call can be read."""
        calls = [piece for piece in self._pieces if piece.call is not None]
        if not calls:
            return any(piece.kind == _TEXT for piece in self._pieces)
        return all(_is_json(piece.words) for piece in calls)

    def end(self) -> list[ModelDelta]:
        """End the content and return what was held back of it."""
        if self._splitter is None or not self._think_tag:
            return []
        return self._add_split(*self._splitter.rest())

    def result(self) -> tuple[str | None, tuple[RawToolCall, ...], tuple[ReplyPart, ...]]:
        """The text, the calls, and the parts if these two are not all there is."""
        self.end()
        details = list(self._details.values())
        parts: list[ReplyPart] = []
        for piece in self._pieces:
            parts.append(self._part(piece, details))
            if "reasoning_details" in piece.data:
                details = []
        if details:
            words = "".join(str(each.get("text") or each.get("summary") or "") for each in details)
            mark = self._origin.mark({"reasoning_details": details})
            parts.insert(0, Reasoning(words, mark))
        content, calls = split_reply(parts)
        return content, calls, needed_parts(parts)

    def _part(self, piece: _Piece, details: list[dict[str, Any]]) -> ReplyPart:
        words = "".join(piece.words)
        opaque = self._origin.mark(piece.data) if piece.data else None
        if piece.call is not None:
            return RawToolCall(piece.call["id"], piece.call["name"], words, opaque)
        if piece.kind == _TEXT:
            return Text(words, opaque)
        if piece.kind == _CHUNK:
            return Reasoning(words, self._origin.mark({_CHUNK: piece.data}))
        if self._splitter is not None and piece.kind == self._splitter.tag:
            return Reasoning(
                words, self._origin.mark({"key": piece.kind, "gap": self._splitter.gap})
            )
        if details:
            piece.data["reasoning_details"] = details
            return Reasoning(words, self._origin.mark(piece.data))
        return Reasoning(words, self._origin.mark({} if self._details else {"key": piece.kind}))

    def _add_split(self, thought: str, text: str) -> list[ModelDelta]:
        deltas: list[ModelDelta] = []
        if thought and self._splitter is not None:
            self._piece(self._splitter.tag).words.append(thought)
            deltas.append(ModelDelta(thought, "reasoning"))
        if text:
            self._piece(_TEXT).words.append(text)
            deltas.append(ModelDelta(text))
        return deltas

    def _piece(self, kind: str) -> _Piece:
        """The last piece, or a new one if that is of another kind."""
        if not self._pieces or self._pieces[-1].kind != kind:
            self._pieces.append(_Piece(kind))
        return self._pieces[-1]

    def _add_detail(self, detail: Mapping[str, Any]) -> None:
        """Take a piece of OpenRouter's details: those of one index and type belong together."""
        number = detail.get("index", len(self._details))
        known = self._details.setdefault((number, detail.get("type")), {})
        for key, value in detail.items():
            if key in _JOINED and isinstance(value, str):
                known[key] = known.get(key, "") + value
            elif value is not None or key not in known:
                known[key] = value

    def _index_of(self, delta: Mapping[str, Any], function: Mapping[str, Any], written: str) -> int:
        """The call that a piece belongs to; some servers leave the index out or repeat it."""
        index = delta.get("index")
        last = max(self._calls, default=-1)
        if not isinstance(index, int):
            index = last + 1 if delta.get("id") else max(last, 0)
        known = self._calls.get(index)
        if known is not None and known.call is not None and function.get("name"):
            starts = bool(delta.get("id")) and delta.get("id") != known.call["id"]
            if known.call["name"] and (starts or _is_next(known, delta, written)):
                index = last + 1
        if not 0 <= index < MAX_PARALLEL_CALLS:
            raise ModelReplyError(f"the stream has a tool call with index {index}")
        return index


def _is_next(known: _Piece, delta: Mapping[str, Any], written: str) -> bool:
    """Whether a named piece without an id is a new call: the one before it is complete."""
    return not delta.get("id") and bool(written) and _is_json(known.words)


def _is_json(pieces: Sequence[str]) -> bool:
    try:
        json.loads("".join(pieces))
    except (ValueError, RecursionError):
        return False
    return True


def _filter_words(choice: Mapping[str, Any]) -> str:
    """The provider's words for a filtered answer: of Gemini, Azure or OpenRouter."""
    reason, _, words = str(choice["finish_reason"]).partition(":")
    if reason != "content_filter":
        return ""
    results = as_object(choice.get("content_filter_results")) or {}
    found = [name for name, each in results.items() if (as_object(each) or {}).get("filtered")]
    return words.strip() or ", ".join(found) or str(choice.get("native_finish_reason") or "")


def _without_error(data: Any) -> dict[str, Any]:
    body = require_object(data)
    if body.get("error"):
        error = as_object(body["error"]) or {}
        code: object = error.get("status_code") or error.get("code")
        if not isinstance(code, int) or not HTTPStatus.BAD_REQUEST <= code < _LAST_STATUS:
            code = HTTPStatus.INTERNAL_SERVER_ERROR
        raise reported_error(code, body)
    return body

"""The parts of a reply of chat completions, put together from its deltas in their order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyagent.core.errors import ModelReplyError
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.types import ModelDelta, RawToolCall, ReplyPart, needed_parts, split_reply
from tinyagent.core.untrusted import as_array, as_object
from tinyagent.models.chat_messages import THINK
from tinyagent.models.encoding import Origin
from tinyagent.models.thinking_tags import ThinkSplitter

_MAX_PARALLEL_CALLS = 128
_TEXT = "text"
_CHUNK = "chunk"
_JOINED = ("text", "summary", "data")


@dataclass(slots=True)
class _Piece:
    """Text, or reasoning that came under one key, as far as it is there; or a call."""

    kind: str
    words: list[str] = field(default_factory=list[str])
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    call: dict[str, str] | None = None


class ReplyParts:
    """Takes the deltas of a message and keeps their order.

    Args:
        origin: who makes the reply; its opaque data is marked so.
        think_tags: whether a text may begin with reasoning between tags.
    """

    def __init__(self, origin: Origin, *, think_tags: bool) -> None:
        self._origin = origin
        self._pieces: list[_Piece] = []
        self._calls: dict[int, _Piece] = {}
        self._details: dict[tuple[Any, Any], dict[str, Any]] = {}
        self._think_tags = think_tags
        self._splitter: ThinkSplitter | None = None

    def add_text(self, text: str) -> list[ModelDelta]:
        """Take a piece of the content."""
        if not text:
            return []
        if self._think_tags:
            return self._add_first_text(text)
        self._piece(_TEXT).words.append(text)
        return [ModelDelta(text)]

    def add_reasoning(self, delta: Mapping[str, Any]) -> list[ModelDelta]:
        """Take the reasoning of a delta, under whichever key it comes."""
        details = as_array(delta.get("reasoning_details")) or ()
        for detail in details:
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
        made = self._piece(_CHUNK)
        made.words.append(words)
        made.data |= {key: value for key, value in piece.items() if key != "thinking"}
        return [ModelDelta(words, "reasoning")] if words else []

    def add_call(
        self, delta: Mapping[str, Any], function: Mapping[str, Any], index: int | None
    ) -> None:
        """Take a piece of a call, or all of the call number `index`.

        Raises:
            ModelReplyError: the server numbers it impossibly.
        """
        written = function.get("arguments")
        if not isinstance(written, str):
            written = "" if written is None else json.dumps(written)
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

    def end(self) -> list[ModelDelta]:
        """The end of the content: what was held back."""
        if self._splitter is None or not self._think_tags:
            return []
        return self._take_split(*self._splitter.rest())

    def result(self) -> tuple[str | None, tuple[RawToolCall, ...], tuple[ReplyPart, ...]]:
        """The text, the calls, and the parts where these two do not say it all."""
        self.end()
        details = list(self._details.values())
        parts: list[ReplyPart] = []
        for piece in self._pieces:
            part = self._part(piece, details)
            if isinstance(part, Reasoning):
                details = [] if "reasoning_details" in piece.data else details
            parts.append(part)
        if details:
            words = "".join(str(each.get("text") or each.get("summary") or "") for each in details)
            mark = self._origin.mark({"reasoning_details": details})
            parts.insert(0, Reasoning(words, mark))
        content, calls = split_reply(parts)
        return content, calls, needed_parts(parts)

    def _part(self, piece: _Piece, details: list[dict[str, Any]]) -> ReplyPart:
        words = "".join(piece.words)
        if piece.call is not None:
            opaque = self._origin.mark(piece.data) if piece.data else None
            return RawToolCall(piece.call["id"], piece.call["name"], words, opaque)
        if piece.kind == _TEXT:
            return Text(words, self._origin.mark(piece.data) if piece.data else None)
        if piece.kind == _CHUNK:
            return Reasoning(words, self._origin.mark({_CHUNK: piece.data}))
        if piece.kind == THINK:
            gap = self._splitter.gap if self._splitter else ""
            return Reasoning(words, self._origin.mark({"key": THINK, "gap": gap}))
        if details:
            piece.data["reasoning_details"] = details
            return Reasoning(words, self._origin.mark(piece.data))
        data = {} if self._details else {"key": piece.kind}
        return Reasoning(words, self._origin.mark(data))

    def _add_first_text(self, text: str) -> list[ModelDelta]:
        """Take a piece of a text that may still begin with reasoning."""
        splitter = self._splitter = self._splitter or ThinkSplitter()
        deltas = self._take_split(*splitter.feed(text))
        self._think_tags = not splitter.is_plain
        return deltas

    def _take_split(self, thought: str, text: str) -> list[ModelDelta]:
        deltas: list[ModelDelta] = []
        if thought:
            self._piece(THINK).words.append(thought)
            deltas.append(ModelDelta(thought, "reasoning"))
        if text:
            self._piece(_TEXT).words.append(text)
            deltas.append(ModelDelta(text))
        return deltas

    def _piece(self, kind: str) -> _Piece:
        """The last piece, or a new one where that is of another kind."""
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
        if not 0 <= index < _MAX_PARALLEL_CALLS:
            raise ModelReplyError(f"the stream has a tool call with index {index}")
        return index


def _is_next(known: _Piece, delta: Mapping[str, Any], written: str) -> bool:
    """Whether a named piece without an id is a new call: the one before it is complete."""
    if delta.get("id") or not written:
        return False
    try:
        json.loads("".join(known.words))
    except (ValueError, RecursionError):
        return False
    return True

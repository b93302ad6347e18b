"""OfflinePlanner: answers without a language model, by rules over the vocabulary.

It stands behind the same `Model` protocol as any model: it asks for tool calls and words their
results. It never invents: each argument comes from the question or the catalogue, each number of
an answer from a tool's result.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

from rapidfuzz import fuzz, utils

from skillian.llm.grounding import Grounding, ground, named_sources, plain, split
from skillian.llm.vocabulary import Vocabulary
from skillian.llm.wording import word_help, word_result
from tinyagent import Message, ModelDelta, ModelRequest, ModelResponse, RawToolCall, Usage

NAME = "offline planner, no language model"

_LISTING = {"which source", "what source", "list source", "available source", "show source"}
_COMPARING = {
    *("compare", "comparison", "difference", "differ", "reconcile", "match", "agree"),
    *("against", "versus", "vs", "gap", "between", "deviation", "deviate"),
}
_PAIR = 2
_LIKE = 80.0


class OfflinePlanner:
    """The `Model` of a skillian without a key.

    Args:
        vocabulary: what can be spoken about.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @property
    def name(self) -> str:
        """Says that no language model answers."""
        return NAME

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Plan a call for a question, or word the result of a call."""
        turn = _current_turn(request.messages)
        last = turn[-1]
        if last.role == "tool":
            return self._after(turn)
        return self._plan(last.content)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The same, as a stream of one piece."""
        response = await self.complete(request)
        if response.content:
            yield ModelDelta(response.content)
        yield response

    def _plan(self, question: str) -> ModelResponse:
        found = ground(question, self._vocabulary)
        words = {word.plain for word in split(question)}
        if any(phrase in plain(question) for phrase in _LISTING):
            return _call("list_sources", {})
        if words & _COMPARING or len(found.sources) >= _PAIR:
            return self._plan_comparison(question, found)
        if len(found.sources) == 1 and not found.unread:
            return self._plan_query(found)
        return _say(word_help(self._vocabulary, found))

    def _plan_comparison(self, question: str, found: Grounding) -> ModelResponse:
        sources = found.sources if len(found.sources) >= _PAIR else named_sources(question)
        unread = [word for word in found.unread if word not in sources]
        measures = found.measures or self._shared_measures(sources)
        if len(sources) != _PAIR or unread or not measures:
            return _say(word_help(self._vocabulary, found))
        arguments: dict[str, Any] = {"source_a": sources[0], "source_b": sources[1]}
        arguments["measures"] = measures
        if found.breakdown:
            arguments["align_on"] = found.breakdown
        return _call("compare_sources", arguments | _filters(found))

    def _plan_query(self, found: Grounding) -> ModelResponse:
        source = found.sources[0]
        measures = found.measures or list(self._vocabulary.sources[source].measures)
        arguments: dict[str, Any] = {"source": source, "measures": measures}
        if found.breakdown:
            arguments["dimensions"] = found.breakdown
        return _call("query_source", arguments | _filters(found))

    def _after(self, turn: Sequence[Message]) -> ModelResponse:
        """Word the result, or mend a call whose source was not found, once."""
        call = next(m.tool_calls[-1] for m in reversed(turn) if m.tool_calls)
        result = _as_object(turn[-1].content)
        tried = sum(1 for message in turn if message.role == "tool")
        if result.get("type") == "not_found" and tried <= _PAIR:
            mended = self._mend(call.arguments, result)
            if mended is not None:
                return _call(call.name, mended)
        return _say(word_result(call.name, result, turn[-1].content))

    def _mend(
        self, arguments: Mapping[str, Any], result: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """The arguments with the unknown source replaced by the nearest one that is not used."""
        used = {value for value in arguments.values() if isinstance(value, str)}
        free = [name for name in result.get("available_sources", ()) if name not in used]
        for key in ("source_a", "source_b", "source"):
            asked = arguments.get(key)
            if isinstance(asked, str) and asked not in self._vocabulary.sources:
                near = (name for name in free if _is_like(asked, name))
                mended = next(near, None)
                return None if mended is None else {**arguments, key: mended}
        return None

    def _shared_measures(self, sources: Sequence[str]) -> list[str]:
        """The measures that all of the known sources have, for a question that names none."""
        known = [self._vocabulary.sources[s] for s in sources if s in self._vocabulary.sources]
        return [
            name
            for words in known[:1]
            for name in words.measures
            if all(name in other.measures for other in known)
        ]

    def __repr__(self) -> str:
        return "OfflinePlanner()"


def _filters(found: Grounding) -> dict[str, Any]:
    """The filters as an argument: one value as it is, several as a list."""
    if not found.filters:
        return {}
    one = {name: v[0] if len(v) == 1 else v for name, v in found.filters.items()}
    return {"filters": one}


def _is_like(asked: str, name: str) -> bool:
    """Whether a name may be what was meant by another: a part or a misspelling of it."""
    return fuzz.WRatio(asked, name, processor=utils.default_process) >= _LIKE


def _current_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages from the last question on."""
    start = max(i for i, message in enumerate(messages) if message.role == "user")
    return messages[start:]


def _as_object(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _call(name: str, arguments: Mapping[str, Any]) -> ModelResponse:
    call = RawToolCall("", name, json.dumps(arguments, ensure_ascii=False))
    return ModelResponse(None, (call,), Usage(requests=1), "tool_calls", NAME)


def _say(text: str) -> ModelResponse:
    return ModelResponse(text, (), Usage(requests=1), "stop", NAME)

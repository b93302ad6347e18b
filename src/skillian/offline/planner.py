"""OfflinePlanner: answers without a language model, by rules over the vocabulary.

It stands behind the same `Model` protocol as any model: it asks for tool calls and words their
results. It never invents: each argument comes from the question, the conversation or the
catalogue, each number of an answer from a tool's result. What a tool gives is never read as a
question.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from skillian.offline.earlier import COMPARE, Earlier, as_object, read_earlier
from skillian.offline.grounding import Grounding, ground
from skillian.offline.plans import Call, Plan, is_like, plan, wants_more
from skillian.offline.spoken import plan_spoken
from skillian.offline.vocabulary import Vocabulary
from skillian.offline.wording import word_help, word_result
from tinyagent import Message, Usage
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, RawToolCall

NAME = "offline planner, no language model"
NOT_UNDERSTOOD = "not_understood"
"""Finish reason of a reply that asks for a question in other words."""
TOOL_FAILED = "tool_failed"
"""Finish reason of a reply that reports why a tool gave no result."""

_SOURCE_ARGUMENTS = ("source_a", "source_b", "source")


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
        messages = request.messages
        start = max(i for i, message in enumerate(messages) if message.role == "user")
        turn = messages[start:]
        if turn[-1].role == "tool":
            return self._after(messages[:start], turn)
        earlier = read_earlier(messages[:start])
        found = ground(turn[0].text, self._vocabulary, earlier.sources)
        made = self._plan(turn[0].text, found, earlier)
        if isinstance(made, Call):
            return _call(made.tool, made.arguments)
        return _say(word_help(self._vocabulary, made.reason), NOT_UNDERSTOOD)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The same, as a stream of one piece."""
        response = await self.complete(request)
        if response.content:
            yield ModelDelta(response.content)
        yield response

    def _plan(self, question: str, found: Grounding, earlier: Earlier) -> Plan:
        """What is asked of the data, where a source is named; else a tool's phrase goes before."""
        made = plan(found, earlier, self._vocabulary)
        if isinstance(made, Call) and found.sources:
            return made
        return plan_spoken(question, self._vocabulary) or made

    def _after(self, before: Sequence[Message], turn: Sequence[Message]) -> ModelResponse:
        """Word the result, mend a call whose sources were not found, or look further into it."""
        call = next(m.tool_calls[-1] for m in reversed(turn) if m.tool_calls)
        result = as_object(turn[-1].text)
        tried = sum(1 for message in turn if message.role == "tool")
        if result.get("type") == "not_found" and tried == 1:
            mended = self._mend(call.arguments, result)
            if mended is not None:
                return _call(call.name, mended)
        if call.name == COMPARE and not result.get("error"):
            further = self._further(before, turn)
            if further is not None:
                return _call(further.tool, further.arguments)
        said = word_result(call.name, result, turn[-1].text)
        return _say(said, TOOL_FAILED if result.get("error") else "stop")

    def _further(self, before: Sequence[Message], turn: Sequence[Message]) -> Call | None:
        """The second call of a question such as "why do … and … differ?"."""
        earlier = read_earlier([*before, *turn])
        found = ground(turn[0].text, self._vocabulary, read_earlier(before).sources)
        if earlier.comparison is None or not wants_more(found):
            return None
        asked = Grounding(cues=found.cues, ordinal=found.ordinal, breakdown=[], filters={})
        made = plan(asked, earlier, self._vocabulary)
        return made if isinstance(made, Call) and "cache_key" in made.arguments else None

    def _mend(
        self, arguments: Mapping[str, Any], result: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """The arguments with each unknown source replaced by the nearest one that is not used."""
        available = [str(name) for name in result.get("available_sources", ())]
        mended = dict(arguments)
        for key in _SOURCE_ARGUMENTS:
            asked = mended.get(key)
            if not isinstance(asked, str) or asked in available:
                continue
            free = [name for name in available if name not in mended.values()]
            near = next((name for name in free if is_like(asked, name)), None)
            if near is None:
                return None
            mended[key] = near
        return mended if available and mended != arguments else None

    def __repr__(self) -> str:
        return "OfflinePlanner()"


def _call(name: str, arguments: Mapping[str, Any]) -> ModelResponse:
    call = RawToolCall("", name, json.dumps(arguments, ensure_ascii=False))
    return ModelResponse(None, (call,), Usage(requests=1), "tool_calls", NAME)


def _say(text: str, finish_reason: str) -> ModelResponse:
    return ModelResponse(text, (), Usage(requests=1), finish_reason, NAME)

"""OfflinePlanner: answers without a language model, by rules over the vocabulary.

It implements the `Model` protocol like any model: it requests tool calls and words their results.
It invents nothing: each argument is from the question, the conversation or the catalogue, and each
number of an answer from a tool's result. A tool's result is never read as a question.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.earlier import COMPARE, Earlier, as_object, read_earlier
from skillian.offline.language.periods import LONGEST_QUESTION
from skillian.offline.language.reading import read
from skillian.offline.language.said import Reading
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.looks import LOOKING, wanted_look
from skillian.offline.offers import offers
from skillian.offline.plans import plan
from skillian.offline.spoken import plan_spoken
from skillian.offline.wording import word_help, word_result
from tinyagent import Message, Usage
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, RawToolCall

NAME = "offline planner, no language model"
NOT_UNDERSTOOD = "not_understood"
"""Finish reason of a reply that asks the user to rephrase."""
TOOL_FAILED = "tool_failed"
"""Finish reason of a reply that reports why a tool failed."""


class OfflinePlanner:
    """The `Model` of a skillian without a key.

    Args:
        vocabulary: The names that questions can use.
        today: What "last month" is before; the date of the question by default.
    """

    def __init__(self, vocabulary: Vocabulary, today: date | None = None) -> None:
        self._vocabulary = vocabulary
        self._today = today

    @property
    def name(self) -> str:
        """A name that says that there is no language model."""
        return NAME

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """A call for a question, or the result of a call in words."""
        messages = request.messages
        start = max(i for i, message in enumerate(messages) if message.role == "user")
        turn = messages[start:]
        if turn[-1].role == "tool":
            return self._after(messages[:start], turn)
        earlier = read_earlier(messages[:start])
        planned = self.plan(turn[0].text, earlier)
        if isinstance(planned, PlannedCall):
            return _call(planned.tool, planned.arguments)
        offered = self.offers(turn[0].text, earlier)
        return _say(word_help(self._vocabulary, planned, offered), NOT_UNDERSTOOD)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The same as a stream of one part."""
        response = await self.complete(request)
        if response.content:
            yield ModelDelta(response.content)
        yield response

    def plan(self, question: str, earlier: Earlier) -> Plan:
        """The call that answers a question after a conversation, or why there is none.

        A tool's phrase has precedence unless the question names a source.
        """
        reading = self._read(question, earlier)
        planned = plan(reading, earlier, self._vocabulary)
        is_asked = isinstance(planned, PlannedCall) and reading.sources
        if is_asked or len(question) > LONGEST_QUESTION:
            return planned
        return plan_spoken(question, self._vocabulary) or planned

    def offers(self, question: str, earlier: Earlier) -> tuple[str, ...]:
        """At most three sentences near a question that was not understood; each is understood."""

        def planned(near: str | Reading) -> Plan:
            if isinstance(near, str):
                return self.plan(near, earlier)
            return plan(near, earlier, self._vocabulary)

        reads = partial(self._read, earlier=earlier)
        return offers(question, self._vocabulary, earlier, reads, planned)

    def _read(self, question: str, earlier: Earlier) -> Reading:
        """What a question says after a conversation."""
        return read(question, self._vocabulary, earlier.sources, self._today, earlier.years)

    def _after(self, before: Sequence[Message], turn: Sequence[Message]) -> ModelResponse:
        """Word the result, or look into the comparison."""
        call = next(m.tool_calls[-1] for m in reversed(turn) if m.tool_calls)
        result = as_object(turn[-1].text)
        is_failed = bool(result.get("error"))
        is_compared = call.name == COMPARE and not is_failed
        further = self._further(before, turn) if is_compared else None
        if isinstance(further, PlannedCall):
            return _call(further.tool, further.arguments)
        answer = word_result(call.name, result, turn[-1].text, call.arguments.get("limit"))
        answer += f"\n\nNot shown: {further}" if further is not None else ""
        return _say(answer, TOOL_FAILED if is_failed else "stop")

    def _further(self, before: Sequence[Message], turn: Sequence[Message]) -> Plan | None:
        """The second call of a question such as "why do … and … differ?"."""
        reading = read(turn[0].text, self._vocabulary, read_earlier(before).sources, self._today)
        earlier = read_earlier([*before, *turn])
        is_one = bool(reading.direction) and reading.is_singular
        if earlier.comparison is None or not (wanted_look(reading) or reading.count or is_one):
            return None
        says = {kind: t for kind, t in reading.says.items() if kind not in {"describe", "compare"}}
        parts = [each for each in reading.parts if each[0] in LOOKING]
        look = Reading(
            says={**says, "gap": "", "show": ""},
            parts=parts,
            count=reading.count,
            direction=reading.direction,
            is_singular=reading.is_singular,
            ordinal=reading.ordinal,
            lacking=reading.lacking,
            only_in=reading.only_in,
        )
        return plan(look, earlier, self._vocabulary)

    def __repr__(self) -> str:
        return "OfflinePlanner()"


def _call(name: str, arguments: Mapping[str, Any]) -> ModelResponse:
    call = RawToolCall("", name, json.dumps(arguments, ensure_ascii=False))
    return ModelResponse(None, (call,), Usage(requests=1), "tool_calls", NAME)


def _say(text: str, finish_reason: str) -> ModelResponse:
    return ModelResponse(text, (), Usage(requests=1), finish_reason, NAME)

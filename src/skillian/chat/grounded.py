"""Grounded: names in a question are looked up in code, whichever model answers.

The tool schemas of a turn are narrowed to the sources, measures and dimensions that the question
clearly names. A call is refused if neither the user's questions nor the catalogue have its filter
values, or if it leaves out a part of the question: a cell that a model has read is not a value to
search for, except as the group of a comparison to look into. What no call of the turn used makes
its answer a question.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from skillian.chat.question_check import CHECKED, Coverage
from skillian.errors import InvalidInputError, quoted
from skillian.offline.clauses import Reading
from skillian.offline.earlier import keys_in, read_earlier
from skillian.offline.periods import period_of, periods_of
from skillian.offline.planner import NOT_UNDERSTOOD
from skillian.offline.reading import read
from skillian.offline.vocabulary import Vocabulary
from tinyagent import Message, Middleware, RunContext, ToolCall, ToolResult
from tinyagent.core import ModelRequest, ModelResponse

_PAIR = 2
_NOT_COMPUTED = "no tool was called for it, so no figures were computed"


class Grounded(Middleware):
    """Narrows the tool schemas, and refuses invented filter values.

    Args:
        vocabulary: The names and values of the sources.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def bind(self, run: RunContext) -> Middleware:
        """Check one turn: its question, and the conversation up to each call."""
        return _GroundedTurn(self._vocabulary, run.task)


class _GroundedTurn(Middleware):
    def __init__(self, vocabulary: Vocabulary, question: str) -> None:
        self._vocabulary = vocabulary
        self._question = question
        self._coverage: Coverage | None = None
        self._messages: Sequence[Message] = ()
        self._faults: list[str] = []

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        self._messages = request.messages
        if self._coverage is None:
            self._coverage = self._covered(request.messages)
        enums = _enums(self._coverage.reading, self._vocabulary)
        if enums and request.format.tools:
            tools = tuple(_narrowed(tool, enums) for tool in request.format.tools)
            request = replace(request, format=replace(request.format, tools=tools))
        response = await call_next(request)
        if response.tool_calls or response.finish_reason == NOT_UNDERSTOOD:
            return response
        left_out = self._faults or [f"no result for {each}" for each in self._coverage.missing()]
        if not left_out and not _has_result(request.messages):
            invented = self._coverage.invents(response.content or "", self._question)
            left_out = [_NOT_COMPUTED] if invented else []
        if not left_out:
            return response
        return replace(response, content=_question_back(left_out), finish_reason=NOT_UNDERSTOOD)

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        refusal = self._refusal(call)
        if refusal is not None:
            return ToolResult(call, json.dumps(refusal.to_dict()))
        names = (call.arguments.get(each) for each in ("source", "source_a", "source_b"))
        is_unknown = any(name and name not in self._vocabulary.sources for name in names)
        if call.name in CHECKED and self._coverage is not None and not is_unknown:
            self._faults = self._coverage.faults_of(call.name, call.arguments)
            if self._faults:
                return ToolResult(call, json.dumps(_left_out(self._faults).to_dict()))
            self._coverage.note(call.name, call.arguments)
        return await call_next(call)

    def _covered(self, messages: Sequence[Message]) -> Coverage:
        """Read the question, which the conversation before it may explain."""
        asked = [at for at, message in enumerate(messages) if message.role == "user"]
        earlier = read_earlier(messages[: asked[-1]] if asked else ())
        reading = read(self._question, self._vocabulary, earlier.sources)
        compared = () if earlier.comparison is None else (earlier.comparison.arguments,)
        last = () if earlier.last is None else (earlier.last.arguments,)
        spoken = "\n".join(messages[at].text for at in asked[:-1]).lower()
        return Coverage(reading, (*compared, *last), spoken)

    def _refusal(self, call: ToolCall) -> InvalidInputError | None:
        for argument in ("filters", "key"):
            for dimension, value in _values(call.arguments.get(argument)):
                is_group = argument == "key" and self._is_group(dimension, value)
                if not is_group and not self._is_known(value):
                    return InvalidInputError(
                        f"{quoted(value)} for {quoted(dimension)} is in neither the user's"
                        " questions nor the catalogue; use a value that is, or ask for it"
                    )
        return None

    def _is_group(self, dimension: str, value: str) -> bool:
        """Whether a result has a group with this value of the dimension."""
        return any(
            str(key.get(dimension)) == value
            for message in self._messages
            if _is_result(message)
            for key in keys_in(message.text)
        )

    def _is_known(self, value: str) -> bool:
        text = value.lower()
        if any(text in values for values in self._vocabulary.values.values()):
            return True
        spoken = "\n".join([self._question, *_spoken(self._messages)]).lower()
        if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", spoken):
            return True
        # A day of a named period: "since March 2024".
        period = period_of(value)
        if period is None:
            return False
        first, last = period.days()
        named = (each.days() for each in periods_of(spoken) if each.year)
        return any(first <= end and start <= last for start, end in named)


def _left_out(faults: Sequence[str]) -> InvalidInputError:
    return InvalidInputError(
        f"this call would answer another question: {'; '.join(faults)}. Correct the call, or ask"
        " the user what is meant"
    )


def _question_back(faults: Sequence[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in faults)
    return (
        f"I have no answer to exactly this question:\n{lines}\n"
        "Please leave this part out, or say it in other words."
    )


def _spoken(messages: Sequence[Message]) -> Iterator[str]:
    """What the user has said; what tools return may be written by others."""
    return (message.text for message in messages if message.role == "user")


def _has_result(messages: Sequence[Message]) -> bool:
    """Whether a tool has returned something in the last turn."""
    turn = itertools.takewhile(lambda message: message.role != "user", reversed(messages))
    return any(map(_is_result, turn))


def _is_result(message: Message) -> bool:
    return message.role == "tool" and not message.text.startswith('{"error": true')


def _values(argument: object) -> Iterator[tuple[str, str]]:
    """Each dimension with each of its filter values."""
    if not isinstance(argument, Mapping):
        return
    for name, condition in cast("Mapping[str, object]", argument).items():
        inner = (
            list(cast("Mapping[str, object]", condition).values())
            if _is_map(condition)
            else [condition]
        )
        for each in inner:
            several = cast("list[object]", each) if isinstance(each, list) else [each]
            yield from (
                (name, str(value))
                for value in several
                if value is not None and not isinstance(value, bool)
            )


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _enums(reading: Reading, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The values that each argument may have, if the question clearly names its sources."""
    if not reading.sources or reading.unread:
        return {}
    part = vocabulary.within(reading.sources)
    measures = reading.measures or list(dict.fromkeys(part.measures.values()))
    named = list(dict.fromkeys((*reading.breakdown, *reading.members)))
    dimensions = named or list(dict.fromkeys(part.dimensions.values()))
    enums = {"source": reading.sources, "measures": measures, "dimensions": dimensions}
    if len(reading.sources) >= _PAIR:
        enums |= {"source_a": reading.sources, "source_b": reading.sources}
    return enums | {"align_on": dimensions}


def _narrowed(tool: Mapping[str, Any], enums: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """A function declaration whose arguments are restricted to these names."""
    function = tool["function"]
    parameters = function["parameters"]
    properties: Mapping[str, Any] = parameters.get("properties", {})
    if not {"source", "source_a"} & set(properties):
        return tool
    named = {
        name: _with_enum(schema, enums[name]) if name in enums else schema
        for name, schema in properties.items()
    }
    return {**tool, "function": {**function, "parameters": {**parameters, "properties": named}}}


def _with_enum(schema: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    """The schema whose texts are restricted to these: itself, a list's items, alternatives."""
    changed = dict(schema)
    if schema.get("type") == "string":
        changed["enum"] = list(names)
    if "items" in schema:
        changed["items"] = _with_enum(schema["items"], names)
    if "anyOf" in schema:
        changed["anyOf"] = [_with_enum(each, names) for each in schema["anyOf"]]
    return changed

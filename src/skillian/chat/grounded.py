"""Grounded: names in a question are looked up in code, whichever model answers.

The tool schemas of a turn are narrowed to the sources, measures and dimensions that the question
clearly names. A call is refused if a filter value is in neither the conversation nor a source.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from skillian.errors import InvalidInputError, quoted
from skillian.offline.figures import month_of, named_months
from skillian.offline.grounding import Grounding, ground
from skillian.offline.vocabulary import Vocabulary, split
from tinyagent import Message, Middleware, RunContext, ToolCall, ToolResult
from tinyagent.core import ModelRequest, ModelResponse

_PAIR = 2


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
        self._grounding = ground(question, vocabulary)
        self._spoken = question.lower()

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        self._spoken = "\n".join([self._question, *_spoken(request.messages)]).lower()
        enums = _enums(self._grounding, self._vocabulary)
        if enums and request.format.tools:
            tools = tuple(_narrowed(tool, enums) for tool in request.format.tools)
            request = replace(request, format=replace(request.format, tools=tools))
        return await call_next(request)

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        # A conversation may be long: it is read in a thread.
        refusal = await asyncio.to_thread(self._refusal, call)
        if refusal is not None:
            return ToolResult(call, json.dumps(refusal.to_dict()))
        return await call_next(call)

    def _refusal(self, call: ToolCall) -> InvalidInputError | None:
        for argument in ("filters", "key"):
            for dimension, value in _values(call.arguments.get(argument)):
                if not self._is_known(value):
                    return InvalidInputError(
                        f"{quoted(value)} for {quoted(dimension)} is in neither the question, the"
                        " conversation nor the catalogue; use a value that is, or ask for it"
                    )
        return None

    def _is_known(self, value: str) -> bool:
        text = value.lower()
        if any(text in values for values in self._vocabulary.values.values()):
            return True
        if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._spoken):
            return True
        # The first day of a named month: "since March 2024".
        month = month_of(value)
        return month is not None and month in named_months(split(self._spoken))


def _spoken(messages: Sequence[Message]) -> Iterator[str]:
    """The texts of users and tools, without refusals, which repeat invented values."""
    for message in messages:
        if message.role == "user" or (
            message.role == "tool" and not message.text.startswith('{"error": true')
        ):
            yield message.text


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


def _enums(grounding: Grounding, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The values that each argument may have, if the question clearly names its sources."""
    if not grounding.sources or grounding.said_sources or grounding.unread:
        return {}
    part = vocabulary.within(grounding.sources)
    measures = grounding.measures or list(dict.fromkeys(part.measure_phrases().values()))
    dimensions = grounding.breakdown or list(dict.fromkeys(part.dimension_phrases().values()))
    enums = {"source": grounding.sources, "measures": measures, "dimensions": dimensions}
    if len(grounding.sources) >= _PAIR:
        enums |= {"source_a": grounding.sources, "source_b": grounding.sources}
    return enums | {"align_on": dimensions}


def _narrowed(tool: Mapping[str, Any], enums: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """A function declaration whose arguments are restricted to these names."""
    properties: Mapping[str, Any] = tool["function"]["parameters"].get("properties", {})
    if not {"source", "source_a"} & set(properties):
        return tool
    narrowed = deepcopy(dict(tool))
    for name, schema in narrowed["function"]["parameters"]["properties"].items():
        if name in enums:
            for text in _texts(schema):
                text["enum"] = list(enums[name])
    return narrowed


def _texts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The text schemas within this one: itself, a list's items, alternatives."""
    if schema.get("type") == "string":
        yield schema
    if "items" in schema:
        yield from _texts(schema["items"])
    for each in schema.get("anyOf", ()):
        yield from _texts(each)

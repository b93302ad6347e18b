"""Grounded: what a question names is found in code, whichever model answers.

The tool schemas of a turn are narrowed to the sources, measures and dimensions that the question
is plain about, and a call with a value that nobody said and no source has is refused.
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
from skillian.offline.grounding import Grounding, ground
from skillian.offline.periods import month_of, named_months
from skillian.offline.vocabulary import Vocabulary
from skillian.offline.words import split
from tinyagent import Message, Middleware, RunContext, ToolCall, ToolResult
from tinyagent.core import ModelRequest, ModelResponse

_PAIR = 2


class Grounded(Middleware):
    """Narrows what a model is offered, and refuses values from nowhere.

    Args:
        vocabulary: the names and values of the sources.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def bind(self, run: RunContext) -> Middleware:
        """A turn of its own: its question, and what was said up to each call."""
        return _Turn(self._vocabulary, run.task)


class _Turn(Middleware):
    def __init__(self, vocabulary: Vocabulary, question: str) -> None:
        self._vocabulary = vocabulary
        self._question = question
        self._found = ground(question, vocabulary)
        self._said = question.lower()

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        self._said = "\n".join([self._question, *_said(request.messages)]).lower()
        enums = _enums(self._found, self._vocabulary)
        if enums and request.format.tools:
            tools = tuple(_narrowed(tool, enums) for tool in request.format.tools)
            request = replace(request, format=replace(request.format, tools=tools))
        return await call_next(request)

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        # A conversation may be long: it is read beside the event loop.
        refused = await asyncio.to_thread(self._refused, call)
        if refused is not None:
            return ToolResult(call, json.dumps(refused.to_dict()))
        return await call_next(call)

    def _refused(self, call: ToolCall) -> InvalidInputError | None:
        for argument in ("filters", "key"):
            for dimension, value in _values(call.arguments.get(argument)):
                if not self._is_known(value):
                    return InvalidInputError(
                        f"{quoted(value)} for {quoted(dimension)} is in neither the question, the"
                        " conversation nor the catalogue; use a value that is, or ask for it"
                    )
        return None

    def _is_known(self, value: str) -> bool:
        said = value.lower()
        if any(said in values for values in self._vocabulary.values.values()):
            return True
        if re.search(rf"(?<!\w){re.escape(said)}(?!\w)", self._said):
            return True
        # The first day of a month that was named: "since March 2024".
        month = month_of(value)
        return month is not None and month in named_months(split(self._said))


def _said(messages: Sequence[Message]) -> Iterator[str]:
    """What users and tools said; a refusal repeats what a model made up."""
    for message in messages:
        if message.role == "user" or (
            message.role == "tool" and not message.text.startswith('{"error": true')
        ):
            yield message.text


def _values(given: object) -> Iterator[tuple[str, str]]:
    """Each dimension with each value that is asked of it."""
    if not isinstance(given, Mapping):
        return
    for name, asked in cast("Mapping[str, object]", given).items():
        inner = list(cast("Mapping[str, object]", asked).values()) if _is_map(asked) else [asked]
        for each in inner:
            several = cast("list[object]", each) if isinstance(each, list) else [each]
            yield from (
                (name, str(value))
                for value in several
                if value is not None and not isinstance(value, bool)
            )


def _is_map(given: object) -> bool:
    return isinstance(given, Mapping)


def _enums(found: Grounding, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """What each argument may be, where the question is plain about its sources."""
    if not found.sources or found.said_sources or found.unread:
        return {}
    part = vocabulary.within(found.sources)
    measures = found.measures or list(dict.fromkeys(part.measure_phrases().values()))
    dimensions = found.breakdown or list(dict.fromkeys(part.dimension_phrases().values()))
    enums = {"source": found.sources, "measures": measures, "dimensions": dimensions}
    if len(found.sources) >= _PAIR:
        enums |= {"source_a": found.sources, "source_b": found.sources}
    return enums | {"align_on": dimensions}


def _narrowed(tool: Mapping[str, Any], enums: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """A function declaration whose arguments are held to these names."""
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
    """The schemas of text within this one: itself, of a list's items, of alternatives."""
    if schema.get("type") == "string":
        yield schema
    if "items" in schema:
        yield from _texts(schema["items"])
    for each in schema.get("anyOf", ()):
        yield from _texts(each)

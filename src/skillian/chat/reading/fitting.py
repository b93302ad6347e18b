"""Fitted: what a model reads of results, as short as its context needs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from skillian.offline.earlier import as_object
from tinyagent import Message, Middleware
from tinyagent.core import ModelRequest, ModelResponse

CHARACTERS = 3
"""Of a token of JSON, as models count it; words have about four."""
_ANSWER = 1200
_SHORTEST = 600
_LONGEST = 20_000
_UNREAD = {"sql", "parameters", "kind", "row_count", "filters", "offset"}
"""Parts of results that say what the scope says, or that only people read."""

_KEYS = {"key", "member"}
"""Parts whose null is a value."""


class Fitted(Middleware):
    """Shortens the results in each request; the stored results keep everything.

    Args:
        context_tokens: What the model can read and write at once; None if that is plenty.
    """

    def __init__(self, context_tokens: int | None) -> None:
        self._context_tokens = context_tokens

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        """Send the request with its results shortened."""
        asked = max((i for i, m in enumerate(request.messages) if m.role == "user"), default=0)
        room = self._room(request)
        messages = [
            _shortened(message, room if at > asked else min(room, _LONGEST // 8))
            for at, message in enumerate(request.messages)
        ]
        return await call_next(replace(request, messages=messages))

    def _room(self, request: ModelRequest) -> int:
        """The characters that a result may have."""
        if self._context_tokens is None:
            return _LONGEST
        tools = sum(len(json.dumps(each)) for each in request.format.tools)
        system = sum(len(each.text) for each in request.messages if each.role == "system")
        return max(_SHORTEST, self._context_tokens * CHARACTERS - tools - system - _ANSWER)


def _shortened(message: Message, room: int) -> Message:
    if message.role != "tool":
        return message
    return replace(message, content=_fitted_text(message.text, room))


@lru_cache(256)
def _fitted_text(text: str, room: int) -> str:
    """A result as a model reads it; what is not one, or reports an error, stays."""
    value = as_object(text)
    return fitted(value, room) if value and not value.get("error") else text


def fitted(result: Mapping[str, Any], room: int) -> str:
    """A result as JSON of at most about `room` characters: first without what says nothing."""
    said = result.get("interpretation") or ()
    value = {name: part for name, part in result.items() if name not in _UNREAD}
    if all(each in said for each in value.get("findings", ())):
        value.pop("findings", None)
    value = _telling(value)
    text = _json(value)
    while len(text) > room and (longest := _longest_list(value)) is not None:
        kept = max(1, len(longest) // 2)
        value["left_out"] = value.get("left_out", 0) + len(longest) - kept
        del longest[kept:]
        text = _json(value)
    return text


def _telling(value: Any) -> Any:
    """A value without the parts that are null, empty or a count of nothing."""
    if isinstance(value, Mapping):
        parts = {
            name: each if name in _KEYS else _telling(each)
            for name, each in cast("Mapping[str, Any]", value).items()
        }
        return {name: each for name, each in parts.items() if each not in (None, "", 0, [], {})}
    if isinstance(value, list):
        return [_telling(each) for each in cast("Sequence[Any]", value)]
    return value


def _longest_list(value: Any) -> list[Any] | None:
    """The list whose JSON is longest, of those with more than one item."""
    lists = [each for each in _lists(value) if len(each) > 1]
    return max(lists, key=lambda each: len(_json(each)), default=None)


def _lists(value: Any) -> list[list[Any]]:
    if isinstance(value, Mapping):
        return [each for part in cast("Mapping[str, Any]", value).values() for each in _lists(part)]
    if not _is_list(value):
        return []
    return [value, *(each for part in value for each in _lists(part))]


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

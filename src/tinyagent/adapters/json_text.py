"""A JSON object in a model's text: strict first, then repaired, never completed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tinyagent.core.json_shape import as_array, as_object

_TAGGED = re.compile(r"<(tool_call|function_call|answer)>(.*?)</\1>", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_MAX_STARTS = 50
_decode = json.JSONDecoder().raw_decode


def find_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in `text`: between tags, in a fence, bare, or among words.

    Near-JSON (single quotes, trailing commas, Python's constants) is repaired, but only where its
    brackets are all closed: a cut-off object may be a valid and wrong one.
    """
    for candidate in _candidates(text):
        found = _strict(candidate)
        if found is not None:
            return found
    for candidate in _candidates(text):
        found = _repaired(candidate)
        if found is not None:
            return found
    return None


def _candidates(text: str) -> Iterator[str]:
    for match in _TAGGED.finditer(text):
        yield match[2].strip()
    for match in _FENCED.finditer(text):
        yield match[1].strip()
    yield text.strip()


def _strict(text: str) -> dict[str, Any] | None:
    """The first whole JSON object that starts at a brace of `text`."""
    position = -1
    for _ in range(_MAX_STARTS):
        position = text.find("{", position + 1)
        if position < 0:
            return None
        try:
            value, _end = _decode(text, position)
        except (ValueError, RecursionError):
            continue
        return as_object(value)
    return None


def _repaired(text: str) -> dict[str, Any] | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or not _is_closed(text[start : end + 1]):
        return None
    import json_repair  # noqa: PLC0415 - only for models that need it

    value: object = json_repair.loads(text[start : end + 1])
    items = as_array(value)
    return as_object(items[0] if items else value)


def _is_closed(text: str) -> bool:
    """Whether as many brackets close as open, those in texts counted too."""
    return all(text.count(a) == text.count(b) for a, b in ("{}", "[]"))

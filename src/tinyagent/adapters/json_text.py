"""A JSON object in a model's text: strict first, then repaired, never completed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tinyagent.core.untrusted import as_object, without_thoughts

_TAG = re.compile(r"<(/?)(tool_call|function_call|answer)>")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_STRING = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\])*+(?:\1|\\?$)""", re.DOTALL)
_BRACE = re.compile("[{}]")
_MAX_STARTS = 50
_MAX_REPAIRED = 100_000
_decode = json.JSONDecoder().raw_decode


def find_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in `text`: bare, between tags, in a fence, or among words.

    Near-JSON (single quotes, trailing commas, Python's constants) is repaired, but only if all its
    quotes and brackets are closed: a cut-off object, or an object inside it, may be valid and
    wrong.
    """
    candidates = list(_candidates(without_thoughts(text).strip()))
    for read in (_strict, _repaired):
        for candidate in candidates:
            value = read(candidate)
            if value is not None:
                return value
    return None


def _candidates(text: str) -> Iterator[str]:
    if not text.startswith("{"):  # otherwise tags and fences may be inside its strings
        yield from _tagged(text)
        for match in _FENCED.finditer(text):
            yield match[1].strip()
    yield text


def _tagged(text: str) -> Iterator[str]:
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = tag
        elif opened is not None and opened[2] == tag[2]:
            yield text[opened.end() : tag.start()].strip()
            opened = None


def _strict(text: str) -> dict[str, Any] | None:
    """The first complete JSON object of `text`; objects inside a broken one do not count."""
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return None
        try:
            value, _end = _decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", _end_of(text, start))
        else:
            return as_object(value)
    return None


def _end_of(text: str, start: int) -> int:
    """The index after the brace that closes the one at `start`; the end if there is none."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end() if _is_closed(text[start : brace.end()]) else len(text)
    return len(text)


def _repaired(text: str) -> dict[str, Any] | None:
    piece = text[text.find("{") : text.rfind("}") + 1]
    if not piece.startswith("{") or len(piece) > _MAX_REPAIRED or not _is_closed(piece):
        return None
    import json_repair  # noqa: PLC0415 - only for models that need it

    try:
        return as_object(json_repair.loads(piece, strict=True))
    except (ValueError, RecursionError):
        return None


def _is_closed(piece: str) -> bool:
    """Whether all strings are closed, and outside them as many brackets close as open."""
    bare = _STRING.sub(lambda text: "" if text[0].endswith(text[1]) else text[1], piece)
    pairs = (("{", "}"), ("[", "]"))
    return not {'"', "'"} & set(bare) and all(bare.count(a) == bare.count(b) for a, b in pairs)

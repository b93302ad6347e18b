"""Code that a model sent as a call in JSON, as if Python were a tool."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, NamedTuple

from tinyagent.core.json_shape import as_array, as_object

_DECODER = json.JSONDecoder(strict=False)  # models send line breaks in strings as they are
_START = re.compile(r"^[^\n{\[]{0,40}(?=[{\[])", re.MULTILINE)
_SPACE = re.compile(r"\s*+")
_TRIED = 16
_DEPTH = 4
_CODE = ("code", "python_code", "python", "source")
_THOUGHT = ("thought", "thoughts", "reasoning")
_LANGUAGE = ("language", "lang", "runtime")
_NAME = ("name", "tool", "tool_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "tool_args", "tool_input", "action_input", "input")
_PYTHON = re.compile(
    r"(?:(?:execute|run)_)?i?(?:python|py)\w{0,20}|code_interpreter", re.IGNORECASE
)


class JsonCode(NamedTuple):
    """The code, and what the model thought in the same object."""

    code: str
    thought: str


def code_at(text: str, position: int) -> JsonCode | None:
    """The code in the JSON that begins there, after white space; None if there is none."""
    space = _SPACE.match(text, position)
    start = space.end() if space else position
    if text[start : start + 1] not in {"{", "["}:
        return None
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    code = _code_in(value, _DEPTH)
    thoughts = (as_object(value) or {}).get
    thought = next((said for key in _THOUGHT if isinstance(said := thoughts(key), str)), "")
    return None if code is None else JsonCode(code, thought)


def code_anywhere(text: str) -> tuple[int, JsonCode] | None:
    """The first code in JSON that begins a line, or follows a few words in it; and where."""
    for found in islice(_START.finditer(text), _TRIED):
        if code := code_at(text, found.end()):
            return found.start(), code
    return None


def _code_in(value: object, depth: int) -> str | None:
    if depth == 0:
        return None
    if (items := as_array(value)) is not None:
        return next((code for item in items[:4] if (code := _code_in(item, depth - 1))), None)
    entry = as_object(value)
    if entry is None or not _is_python(entry, _LANGUAGE):
        return None
    code = next((entry[key] for key in _CODE if isinstance(entry.get(key), str)), None)
    return code if code is not None else _code_in_arguments(entry, depth)


def _code_in_arguments(entry: dict[str, Any], depth: int) -> str | None:
    function = as_object(entry.get("function"))
    if function is not None:
        return _code_in(function, depth - 1)
    given = next((entry[key] for key in _ARGUMENTS if key in entry), None)
    if not isinstance(given, str):
        return _code_in(given, depth - 1)
    if given.lstrip().startswith("{"):
        inner = code_at(given, 0)
        return inner.code if inner else None
    is_python = any(key in entry for key in _NAME) and _is_python(entry, _NAME)
    return given if is_python else None


def _is_python(entry: dict[str, Any], keys: tuple[str, ...]) -> bool:
    """Whether what stands under the keys, if anything does, is a name for Python."""
    names = [name for key in keys if isinstance(name := entry.get(key), str)]
    return all(_PYTHON.fullmatch(name) for name in names)

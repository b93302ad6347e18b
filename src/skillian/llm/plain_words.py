"""A result of a tool that nothing is known about, in lines of `name: value`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

_MOST_LINES = 40
_ANSWER = "answer"


def word_plainly(result: Mapping[str, Any]) -> str:
    """What the result says: its `answer`, if it has one, else each of its values."""
    answer = result.get(_ANSWER)
    if isinstance(answer, str) and answer:
        return answer
    lines = list(_lines(result, ""))
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = ["(There is more; the result has it.)"]
    return "\n".join(lines) or "There is nothing."


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in cast("Mapping[str, object]", value).items():
            yield from _named(f"{indent}{name}:", each, indent)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _named(f"{indent}-", each, indent)
    else:
        yield f"{indent}{_scalar(value)}"


def _named(label: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        yield label if value else f"{label} none"
        yield from _lines(cast("object", value), f"{indent}  ")
    else:
        yield f"{label} {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)

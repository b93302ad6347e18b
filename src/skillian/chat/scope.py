"""The scope of an answer: what its calls covered, as their results say and not the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

Part = Literal["sources", "measures", "filters", "groups", "limits", "rows", "time", "marks"]

NOT_USED, CHOSEN = "not used: ", "chosen by the model: "
"""Beginnings of marks: of what no call has of the question, and of what only the call has."""
PLANNED = "chosen by the offline planner, as the model made no valid call"
"""The mark of a call that the planner made for a language model."""

_STARTS: Mapping[str, Part] = {
    "by ": "groups",
    "in total": "groups",
    "match within ": "limits",
    "compared as ": "limits",
    "the first ": "rows",
    "as of ": "time",
    "all of ": "filters",
    NOT_USED: "marks",
    CHOSEN: "marks",
    PLANNED: "marks",
}


def part_of(index: int, words: str) -> Part:
    """Which part of a scope these words are.

    Args:
        index: Their place in the scope.
        words: The words.
    """
    if index == 0:
        return "sources"
    for start, part in _STARTS.items():
        if words.startswith(start):
            return part
    return "measures" if index == 1 and ": " not in words else "filters"


def scopes_of(results: Iterable[Any]) -> list[list[str]]:
    """The parts of each call's scope, without repetitions, in their order.

    What no call of the turn used is in the last one.
    """
    every = [parts for result in results if (parts := scope_of(result)) is not None]
    scopes: list[list[str]] = []
    for parts in map(without_unused, every):
        if parts not in scopes:
            scopes.append(parts)
    for last in every[-1:]:
        at = scopes.index(without_unused(last))
        scopes[at] = last
    return scopes


def without_unused(parts: Iterable[str]) -> list[str]:
    """A scope without what its turn has not used."""
    return [part for part in parts if not part.startswith(NOT_USED)]


def scope_of(result: object) -> list[str] | None:
    """The parts of the scope in a result; None if it has none."""
    parts = cast("Mapping[str, Any]", result).get("scope") if _is_map(result) else None
    if not isinstance(parts, list):
        return None
    return [str(part) for part in cast("list[object]", parts)]


def scope_line(parts: Sequence[str]) -> str:
    """The parts of one scope as a line."""
    return f"Scope: {' · '.join(parts)}"


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)

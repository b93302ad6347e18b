"""The scope of an answer: what its calls covered, as their results say and not the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast


def scopes_of(results: Iterable[Any]) -> list[list[str]]:
    """Return the parts of each call's scope, without repetitions, in their order."""
    scopes: list[list[str]] = []
    for result in results:
        parts = cast("Mapping[str, Any]", result).get("scope") if _is_map(result) else None
        if isinstance(parts, list) and parts not in scopes:
            scopes.append([str(part) for part in cast("list[object]", parts)])
    return scopes


def scope_line(parts: Sequence[str]) -> str:
    """Return the parts of one scope as a line."""
    return f"Scope: {' · '.join(parts)}"


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)

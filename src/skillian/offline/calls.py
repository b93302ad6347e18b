"""What a question leads to: a call, which is also a sentence, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillian.offline.earlier import COMPARE, QUERY
from skillian.offline.language.filters import as_mapping, values_of

_WORDS = {
    "gte": "since",
    "gt": "after",
    "lte": "until",
    "lt": "before",
    "ne": "without",
    "between": "between",
    "": "for",
}


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


Plan = PlannedCall | str
"""A call, or why there is none, as a sentence; empty if nothing was understood."""


def call_of(tool: str, **arguments: Any) -> PlannedCall:
    """A call with the arguments that say something."""
    return PlannedCall(tool, {name: value for name, value in arguments.items() if value})


def sentence_of(call: PlannedCall, *, is_quoted: bool = False) -> str | None:
    """A question for this call, with its values in quotes, or only those that need them.

    It is None if the call is neither a query nor a comparison.
    """
    asked = call.arguments
    sources = " and ".join(asked[n] for n in ("source", "source_a", "source_b") if n in asked)
    measures = " and ".join(asked.get("measures") or ())
    groups = " and ".join(asked.get("align_on") or asked.get("dimensions") or ())
    if call.tool not in {COMPARE, QUERY}:
        return None
    what = f"Compare {measures} between {sources}" if measures else f"Compare {sources}"
    what = f"Show {measures or groups} of {sources}" if call.tool == QUERY else what
    parts = [f"{what} by {groups}" if groups and measures else what]
    for name, condition in as_mapping(asked.get("filters")).items():
        for operator, value in (as_mapping(condition) or {"": condition}).items():
            texts = [f'"{v}"' if is_quoted or not v.isalnum() else v for v in values_of(value)]
            parts.append(f"{_WORDS[operator]} {name} {' and '.join(texts)}")
    limits = as_mapping(as_mapping(asked.get("thresholds")).get("match"))
    amounts = [f"{n}{' %' if kind == 'percentage' else ''}" for kind, n in limits.items()]
    parts += [f"with a tolerance of {' and '.join(amounts)}"] if amounts else []
    for name in asked.get("order") or ():
        direction = " descending" if name.startswith("-") else ""
        parts.append(f"sorted by {name.removeprefix('-')}{direction}")
    parts += [f"first {asked['limit']} rows"] if asked.get("limit") else []
    return ", ".join(parts)

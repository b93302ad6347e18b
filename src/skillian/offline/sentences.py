"""Calls as sentences that the planner reads as exactly these calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from skillian.offline.calls import PlannedCall, as_list
from skillian.offline.changes import reading_of
from skillian.offline.earlier import COMPARE, QUERY

_BOUNDS = {"gte": "since", "gt": "after", "lte": "until", "lt": "before"}


def sentence_of(call: PlannedCall, *, is_quoted: bool = False) -> str | None:
    """A question for this call, with its values in quotes, or only those that need them.

    It is None if the call is neither a query nor a comparison.
    """
    asked = reading_of(call.arguments)
    measures, groups, sources = map(" and ".join, (asked.measures, asked.breakdown, asked.sources))
    if call.tool == COMPARE:
        what = f"Compare {measures} between {sources}" if measures else f"Compare {sources}"
    elif call.tool == QUERY:
        what = f"Show {measures or groups} of {sources}"
    else:
        return None
    limits, units = asked.thresholds.get("match", {}), {"absolute": "", "percentage": " %"}
    amounts = [f"{limits[kind]}{unit}" for kind, unit in units.items() if kind in limits]
    conditions = (
        part for each in asked.filters.items() for part in _condition(*each, is_quoted=is_quoted)
    )
    parts = [f"{what} by {groups}" if groups and measures else what, *conditions]
    parts += [f"with a tolerance of {' and '.join(amounts)}"] if amounts else []
    for name in asked.ordered_by:
        direction = " descending" if name.startswith("-") else ""
        parts.append(f"sorted by {name.removeprefix('-')}{direction}")
    parts += [f"first {asked.count} rows"] if asked.count else []
    return ", ".join(parts)


def _condition(name: str, condition: Any, *, is_quoted: bool) -> Iterator[str]:
    written = partial(_values, is_quoted=is_quoted)
    if not isinstance(condition, Mapping):
        yield f"for {name} {written(condition)}"
        return
    for operator, value in cast("Mapping[str, Any]", condition).items():
        if operator == "between":
            yield f"between {name} {written(value[0])} and {written(value[1])}"
        else:
            yield f"{_BOUNDS.get(operator, 'without')} {name} {written(value)}"


def _values(value: Any, *, is_quoted: bool) -> str:
    texts = map(str, as_list(value))
    return " and ".join(f'"{text}"' if is_quoted or not text.isalnum() else text for text in texts)

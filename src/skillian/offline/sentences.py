"""Calls as sentences that the planner reads as exactly these calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import COMPARE, QUERY

_BOUNDS = {"gte": "since", "gt": "after", "lte": "until", "lt": "before"}


def sentence_of(call: PlannedCall) -> str | None:
    """A question for this call; None if it is neither a query nor a comparison."""
    arguments = call.arguments
    measures = _all(arguments.get("measures") or ())
    conditions = [
        words
        for name, condition in cast("Mapping[str, Any]", arguments.get("filters") or {}).items()
        for words in _condition(name, condition)
    ]
    if call.tool == COMPARE:
        a, b = arguments["source_a"], arguments["source_b"]
        what = f"Compare {measures} between {a} and {b}" if measures else f"Compare {a} and {b}"
        groups = arguments.get("align_on")
        conditions += _limits(arguments.get("thresholds") or {})
    elif call.tool == QUERY:
        groups = arguments.get("dimensions")
        what = f"Show {measures or _all(groups or ())} of {arguments['source']}"
        groups = groups if measures else ()
        conditions += _rows(arguments)
    else:
        return None
    by = f" by {_all(groups)}" if groups else ""
    return ", ".join([f"{what}{by}", *conditions])


def _all(names: Sequence[str]) -> str:
    return " and ".join(names)


def _condition(name: str, condition: Any) -> Iterator[str]:
    if not isinstance(condition, Mapping):
        yield f"for {name} {_values(condition)}"
        return
    for operator, value in cast("Mapping[str, Any]", condition).items():
        if operator == "between":
            yield f"from {name} {_values(value[0])} to {_values(value[1])}"
        else:
            yield f"{_BOUNDS.get(operator, 'without')} {name} {_values(value)}"


def _values(value: Any) -> str:
    values = [*cast("list[object]", value)] if isinstance(value, list) else [value]
    return " and ".join(f'"{each}"' if not str(each).isalnum() else str(each) for each in values)


def _limits(thresholds: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    limits = thresholds.get("match")
    if limits:
        amounts = [str(limits["absolute"])] if "absolute" in limits else []
        amounts += [f"{limits['percentage']} %"] if "percentage" in limits else []
        yield f"with a tolerance of {' and '.join(amounts)}"


def _rows(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name in arguments.get("order") or ():
        direction = " descending" if name.startswith("-") else ""
        yield f"sorted by {name.removeprefix('-')}{direction}"
    if arguments.get("limit"):
        yield f"first {arguments['limit']} rows"

"""The conditions of the `filters` argument: combined, changed, and what they admit.

They are evaluated as a mapping of operators to values, in which a plain value is `eq`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, cast

from skillian.offline.language.periods import period_of

Operator = Literal["eq", "ne", "gte", "gt", "lte", "lt", "between"]
Parts = Mapping[Any, list[str]]
BOUNDS = {"gte", "gt", "lte", "lt"}
_SIDES = ({"gte", "gt", "between"}, {"lte", "lt", "between"})


def values_of(argument: object) -> Iterator[str]:
    """Each value in an argument, at any depth, as text."""
    if isinstance(argument, Mapping):
        argument = list(cast("Mapping[str, Any]", argument).values())
    if isinstance(argument, list | tuple):
        for each in cast("Sequence[Any]", argument):
            yield from values_of(each)
    elif argument is not None and not isinstance(argument, bool):
        yield str(argument)


def as_mapping(value: object) -> Mapping[str, Any]:
    """A mapping; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def parts_of(condition: Any) -> dict[str, list[str]]:
    """The values of a condition by operator; empty without a condition."""
    if isinstance(condition, Mapping):
        parts = cast("Mapping[str, Any]", condition)
        return {operator: list(values_of(value)) for operator, value in parts.items()}
    return {} if condition is None else {"eq": list(values_of(condition))}


def filter_of(parts: Parts) -> Any:
    """The condition of a filter with these operators; None without any."""
    if {"gte", "lte"} <= {*parts}:
        parts = {"between": [parts["gte"][0], parts["lte"][0]], **parts}
        parts = {name: values for name, values in parts.items() if name not in {"gte", "lte"}}
    found = {
        operator: values[0] if len(values) == 1 and operator != "between" else list(values)
        for operator, values in parts.items()
    }
    return found.get("eq", found or None)


def both(known: Parts, more: Parts) -> Parts | None:
    """The condition that both must meet; None if it has no single form."""
    if not known or known == more:
        return more
    operators = [name for name in (*known, *more) if name != "ne"]
    is_twice = any(sum(name in side for name in operators) > 1 for side in _SIDES)
    if "eq" in operators or is_twice:
        return None
    excluded = dict.fromkeys([*known.get("ne", ()), *more.get("ne", ())])
    return {**known, **more, **({"ne": list(excluded)} if excluded else {})}


def number_of(text: object) -> Decimal | None:
    """The number that a text is."""
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None


def admits(condition: Any, value: str) -> bool:
    """Whether a filter's condition admits a value, which may be a day of a month that it names."""
    low, high = _span(value)
    for operator, values in parts_of(condition).items():
        spans = [_span(each) for each in values]
        if operator in {"eq", "ne"}:
            holds = ((low, high) in spans) == (operator == "eq")
        elif len(spans) != 1 + (operator == "between"):
            holds = False
        else:
            (first, _), (_, last) = spans[0], spans[-1]
            starts, ends = (spans[0][1], spans[-1][0])
            holds = {
                "gte": low >= first,
                "gt": low > starts,
                "lte": high <= last,
                "lt": high < ends,
                "between": first <= low and high <= last,
            }[operator]
        if not holds:
            return False
    return True


@lru_cache(4096)
def _span(value: str) -> tuple[Any, Any]:
    """The least and the greatest key of a value: days of a period, or the value itself."""
    period = period_of(value)
    if period is not None:
        first, last = period.days()
        return (0, *first), (0, *last)
    number = number_of(value)
    key = (1, value.lower()) if number is None else (0, number)
    return key, key

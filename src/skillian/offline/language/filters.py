"""The conditions of the `filters` argument: combined, changed, in words, and what they admit.

They are evaluated as a mapping of operators to values: a plain value is `eq`, `between` two bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, Literal, cast

from skillian.offline.language.periods import period_of

Operator = Literal["eq", "ne", "gte", "gt", "lte", "lt", "between"]
Parts = Mapping[Any, list[str]]
BOUNDS = {"gte", "gt", "lte", "lt"}
RANGE = {"gte", "lte"}
_DAYS = {"eq": ("gte", "lte"), **{bound: (bound,) for bound in BOUNDS}}
_SIDES = ({"gte", "gt"}, {"lte", "lt"})
_ENDS = 2
OTHER = "\0"
"""Any value that no condition names."""


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
    if not isinstance(condition, Mapping):
        return {} if condition is None else {"eq": list(values_of(condition))}
    stated = cast("Mapping[str, Any]", condition)
    parts = {operator: list(values_of(value)) for operator, value in stated.items()}
    if len(parts.get("between", ())) == _ENDS:
        first, last = parts.pop("between")
        parts["gte"] = [*parts.get("gte", ()), first]
        parts["lte"] = [*parts.get("lte", ()), last]
    return parts


def filter_of(parts: Parts) -> Any:
    """The condition of a filter with these operators; None without any."""
    found: dict[str, Any] = {
        operator: values[0] if len(values) == 1 else list(values)
        for operator, values in parts.items()
    }
    if found.keys() >= RANGE:
        found = {"between": [found.pop("gte"), found.pop("lte")], **found}
    return found.get("eq", found or None)


def both(known: Parts, more: Parts) -> Parts | None:
    """The condition that both must meet; None if it has no single form, or admits nothing."""
    if not known or known == more:
        return more
    excluded = dict.fromkeys([*known.get("ne", ()), *more.get("ne", ())])
    if {*known, *more} == {"eq", "ne"} and len(known) == len(more):  # "not rail but road"
        listed = {**known, **more}["eq"]
        is_unclear = "eq" in known and len(excluded) > 1  # "rail, not road, and sea"
        return None if is_unclear or excluded.keys() & {*listed} else {"eq": listed}
    operators = [name for name in (*known, *more) if name != "ne"]
    is_twice = any(sum(name in side for name in operators) > 1 for side in _SIDES)
    if "eq" in operators or is_twice:
        return None
    combined = {**known, **more, **({"ne": list(excluded)} if excluded else {})}
    low, high = ([_span(combined[name][0]) for name in side if name in combined] for side in _SIDES)
    is_closed = {*operators} == RANGE
    is_empty = bool(low and high) and (low > high or (low == high and not is_closed))
    return None if is_empty else combined


def days_of(condition: Any) -> Parts:
    """The same condition on days; empty if its values are not consecutive periods."""
    parts = parts_of(condition)
    periods = {name: [*map(period_of, values)] for name, values in parts.items()}
    found: dict[str, list[str]] = {}
    for name, each in periods.items():
        known = sorted((p for p in each if p is not None), key=lambda period: period.first)
        steps = {later.first - before.last for before, later in pairwise(known)}
        if len(known) < len(each) or not known or not (steps <= {timedelta(1)} and name in _DAYS):
            return {}
        first, last = known[0].first.isoformat(), known[-1].last.isoformat()
        found |= {bound: [last if bound in {"lte", "gt"} else first] for bound in _DAYS[name]}
    return found


def number_of(text: object) -> Decimal | None:
    """The number that a text is."""
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None


def condition_words(condition: Any) -> str:
    """A condition of the filter language in words."""
    words = {"eq": "", "ne": "not ", "gte": "from ", "gt": "after ", "lte": "up to "}
    parts = [
        f"{words.get(name, 'before ')}{', '.join(values) or 'empty'}"
        for name, values in parts_of(condition).items()
    ]
    return " and ".join(parts) or "empty"


def years_of(conditions: Iterable[Any]) -> frozenset[int]:
    """The years of all values."""
    periods = (period_of(value) for each in conditions for value in values_of(each))
    return frozenset(each.first.year for each in periods if each is not None)


def admitted(values: Iterable[str], conditions: Sequence[Any], *, is_open: bool) -> list[set[str]]:
    """What each condition on a dimension admits of its values.

    Of an open dimension, the periods that the conditions name, the days next to each of their ends
    and a value that none of them names are tried too; a closed one has no others.
    """
    named = [value for condition in conditions for value in values_of(condition)]
    known = {*values, *(value for value in named if is_open or period_of(value) is None)}
    known |= {OTHER} if is_open else set()
    for period in map(period_of, named if is_open else ()):
        for end in (period.first, period.last) if period else ():
            known |= {(end + timedelta(step)).isoformat() for step in (-1, 0, 1)}
    return [{value for value in known if admits(each, value)} for each in conditions]


def admits(condition: Any, value: str) -> bool:
    """Whether a filter's condition admits a value, which may be a day of a month that it names."""
    parts = {name: [*map(_span, values)] for name, values in parts_of(condition).items()}
    low, high = _span(value)
    return (
        parts.keys() <= {"eq", "ne", *BOUNDS}
        and ("eq" not in parts or (low, high) in parts["eq"])
        and (low, high) not in parts.get("ne", ())
        and all(low >= first for first, _ in parts.get("gte", ()))
        and all(low > last for _, last in parts.get("gt", ()))
        and all(high <= last for _, last in parts.get("lte", ()))
        and all(high < first for first, _ in parts.get("lt", ()))
    )


def _span(value: str) -> tuple[Any, Any]:
    """The least and the greatest key of a value: days of a period, or the value itself."""
    period = period_of(value)
    if period is not None:
        return (0, period.first.toordinal()), (0, period.last.toordinal())
    number = number_of(value)
    key = (1, value.lower()) if number is None else (0, number)
    return key, key

"""Conditions as sets of values: what a filter admits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, cast

from skillian.offline.calls import values_of
from skillian.offline.language.periods import period_of


def number_of(text: object) -> Decimal | None:
    """The number that a text is."""
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None


def condition_words(condition: Any) -> str:
    """A condition of the filter language in words."""
    if isinstance(condition, Mapping):
        words = {"ne": "not", "gte": "from", "gt": "after", "lte": "up to", "lt": "before"}
        parts = cast("Mapping[str, Any]", condition).items()
        return " and ".join(f"{words.get(name, name)} {condition_words(v)}" for name, v in parts)
    return ", ".join(values_of(condition)) or "empty"


def admits(condition: Any, value: str) -> bool:
    """Whether a filter's condition admits a value, which may be a day of a month that it names."""
    if not isinstance(condition, Mapping):
        return any(_span(value) == _span(each) for each in values_of(condition))
    return all(
        _holds(operator, _span(value), [_span(each) for each in values_of(bound)])
        for operator, bound in cast("Mapping[str, Any]", condition).items()
    )


def _holds(operator: str, value: tuple[Any, Any], bounds: Sequence[tuple[Any, Any]]) -> bool:
    low, high = value
    match operator, bounds:
        case "ne", _:
            holds = value not in bounds
        case "gte", [(least, _)]:
            holds = low >= least
        case "gt", [(_, least)]:
            holds = low > least
        case "lte", [(_, most)]:
            holds = high <= most
        case "lt", [(most, _)]:
            holds = high < most
        case "between", [(least, _), (_, most)]:
            holds = least <= low and high <= most
        case _:
            holds = False
    return bool(holds)


def admitted(values: Iterable[str], conditions: Sequence[Any], *, is_open: bool) -> list[set[str]]:
    """What each condition on a dimension admits of its values.

    Of an open dimension, the values and days beside each end of the conditions are tried too.
    """
    named = [value for condition in conditions for value in values_of(condition)]
    known = {*values, *named}
    for period in map(period_of, named if is_open else ()):
        for end in period.iso() if period else ():
            known |= {
                (date.fromisoformat(end) + timedelta(step)).isoformat() for step in (-1, 0, 1)
            }
    return [{value for value in known if admits(each, value)} for each in conditions]


def years_of(conditions: Iterable[Any]) -> frozenset[int]:
    """The years of all values."""
    periods = (period_of(value) for each in conditions for value in values_of(each))
    return frozenset(each.year for each in periods if each is not None and each.year)


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

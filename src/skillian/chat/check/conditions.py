"""Conditions as sets of values: what a filter admits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from skillian.offline.language.filters import admits, parts_of, values_of
from skillian.offline.language.periods import period_of


def condition_words(condition: Any) -> str:
    """A condition of the filter language in words."""
    words = {
        "eq": "",
        "ne": "not ",
        "gte": "from ",
        "gt": "after ",
        "lte": "up to ",
        "lt": "before ",
    }
    parts = [
        f"{words.get(name, f'{name} ')}{', '.join(values) or 'empty'}"
        for name, values in parts_of(condition).items()
    ]
    return " and ".join(parts) or "empty"


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

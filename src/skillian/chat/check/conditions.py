"""Conditions as sets of values: what a filter admits, and what the words of a question admit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, cast

from skillian.offline.language.periods import Period, period_of
from skillian.offline.language.vocabulary import Vocabulary

Bound = tuple[str, Period | str]
"""A value or a period of a question with the comparison word before it, or an empty text."""


def values_of(argument: object) -> Iterator[str]:
    """Each value in an argument, at any depth, as text."""
    if isinstance(argument, Mapping):
        argument = list(cast("Mapping[str, Any]", argument).values())
    if isinstance(argument, list | tuple):
        for each in cast("Sequence[Any]", argument):
            yield from values_of(each)
    elif argument is not None and not isinstance(argument, bool):
        yield str(argument)


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


def asked(bounds: Sequence[Bound], known: Sequence[str]) -> Iterator[set[str]]:
    """The values that the words of a question may admit: periods may leave out their year."""
    lacks = any(isinstance(value, Period) and value.year is None for _, value in bounds)
    years = {period.year for each in known if (period := period_of(each)) is not None}
    for year in years if lacks else [None]:
        dated = [
            (word, replace(value, year=value.year or year) if isinstance(value, Period) else value)
            for word, value in bounds
        ]
        for is_open in (False, True) if bounds[-1][0] == "from" else (False,):
            tests = _tests(dated, is_open=is_open)
            yield {each for each in known if tests(*_span(each))}


def _tests(bounds: Sequence[Bound], *, is_open: bool) -> Any:
    """The test of the lowest and the highest day of a value; "from" may begin an open range."""
    ranges: list[list[Any]] = []  # the least, is it excluded, the greatest, is it excluded
    excluded: list[Any] = []
    before = ""
    for word, value in bounds:
        low, high = _span(value)
        follows = bool(ranges) and (word == "to" or (word == before == "between"))
        if word == "not":
            excluded.append((low, high))
        elif follows or (word in {"until", "before"} and (before == "from" or _is_open(ranges))):
            ranges[-1][2:] = (low, True) if word == "before" else (high, False)
        elif word in {"until", "before"}:
            ranges.append([None, False, *((low, True) if word == "before" else (high, False))])
        elif word == "after":
            ranges.append([high, True, None, False])
        else:
            ends = word == "since" or (word == "from" and is_open)
            ranges.append([low, False, None if ends else high, False])
        before = "" if follows else word

    def test(low: Any, high: Any) -> bool:
        inside = not ranges or any(
            (least is None or low > least or (low == least and not above))
            and (most is None or high < most or (high == most and not below))
            for least, above, most, below in ranges
        )
        return inside and not any(low >= first and high <= last for first, last in excluded)

    return test


def _is_open(ranges: Sequence[Sequence[Any]]) -> bool:
    return bool(ranges) and ranges[-1][2] is None


def probes(
    vocabulary: Vocabulary, name: str, bounds: Sequence[Bound], conditions: Sequence[Any]
) -> list[str]:
    """The values of a dimension; of one that lists none, those next to each end of a range."""
    known = [*vocabulary.values.get(name, {}).values()]
    named = [value for condition in conditions for value in values_of(condition)]
    known += [each for each in named if period_of(each) is None or not vocabulary.is_date(name)]
    if not vocabulary.is_open(name):
        return sorted({*known})
    years = {p.year for each in named if (p := period_of(each)) is not None}
    for value in (*(bound for _, bound in bounds), *map(period_of, named)):
        if isinstance(value, str):
            known.append(value)
        elif value is not None:
            for year in [value.year] if value.year else years:
                known += _around(replace(value, year=year))
    return sorted({*known})


def _around(period: Period) -> Iterator[str]:
    for end in period.iso():
        for step in (-1, 0, 1):
            yield (date.fromisoformat(end) + timedelta(days=step)).isoformat()


@lru_cache(4096)
def _span(value: Period | str) -> tuple[Any, Any]:
    """The least and the greatest key of a value: days of a period, or the value itself."""
    period = value if isinstance(value, Period) else period_of(value)
    if period is not None:
        first, last = period.days()
        return (0, *first), (0, *last)
    number = number_of(value)
    key = (1, str(value).lower()) if number is None else (0, number)
    return key, key


def as_object(value: object) -> Mapping[str, Any]:
    """A mapping; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """A list of a list or of one value; empty for none."""
    if value is None:
        return []
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]


def limits_of(call: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The limits of a call's classes, each with its kind."""
    levels = as_object(call.get("thresholds")).values()
    return [pair for level in levels for pair in as_object(level).items() if pair[1] is not None]

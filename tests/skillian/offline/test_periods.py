from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

import pytest

from skillian.offline.language.periods import Period, dated, period_at, period_of, spelt_out

Day = tuple[int | None, int, int]


def periods_of(text: str) -> Iterator[Period]:
    """The periods that a text names."""
    end = 0
    for word in re.finditer(r"\w+", text):
        found = period_at(text, word.start()) if word.start() >= end else None
        if found is not None:
            end, period = found
            yield period


def days_of(period: Period | None) -> tuple[Day, Day] | None:
    """The first and the last day; without a year, if the period has none."""
    if period is None:
        return None
    first, last = (
        (day.year if period.has_year else None, day.month, day.day)
        for day in (period.first, period.last)
    )
    return first, last


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("2024003", ((2024, 3, 1), (2024, 3, 31))),
        ("202403", ((2024, 3, 1), (2024, 3, 31))),
        ("2024-03", ((2024, 3, 1), (2024, 3, 31))),
        ("2024/3", ((2024, 3, 1), (2024, 3, 31))),
        ("2024M03", ((2024, 3, 1), (2024, 3, 31))),
        ("2024-03-31", ((2024, 3, 31), (2024, 3, 31))),
        ("20240331", ((2024, 3, 31), (2024, 3, 31))),
        ("2024-03-31 00:00:00", ((2024, 3, 31), (2024, 3, 31))),
        ("2024013", None),
        ("2024", ((2024, 1, 1), (2024, 12, 31))),
        ("400000", None),
        ("2024-Q1", ((2024, 1, 1), (2024, 3, 31))),
        ("2024q4", ((2024, 10, 1), (2024, 12, 31))),
        ("2024-Q5", None),
        ("2024-H2", ((2024, 7, 1), (2024, 12, 31))),
        ("2024-02-30", None),
        ("20243", None),
        ("CC100", None),
    ],
)
def test_the_days_of_a_value(value: str, days: tuple[Day, Day] | None) -> None:
    assert days_of(period_of(value)) == days


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("June-August 2023", (None, 6, 1), (2023, 8, 31)),
        ("Sept 2023\u2013Feb 2024", (2023, 9, 1), (2024, 2, 29)),
        ("may-july 2024", (None, 5, 1), (2024, 7, 31)),
        ("Q1-Q3 2024", (None, 1, 1), (2024, 9, 30)),
        ("10 to 20 April 2024", (2024, 4, 10), (2024, 4, 20)),
        ("between 1 and 15 March 2024", (2024, 3, 1), (2024, 3, 15)),
    ],
)
def test_both_ends_of_a_range_are_periods(text: str, first: Day, last: Day) -> None:
    start, end = (days_of(period) for period in periods_of(spelt_out(text)))
    assert start is not None
    assert end is not None
    assert (start[0], end[1]) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("March 2024", (2024, 3, 1), (2024, 3, 31)),
        ("Mar of 2024", (2024, 3, 1), (2024, 3, 31)),
        ("03/2024", (2024, 3, 1), (2024, 3, 31)),
        ("2024-03", (2024, 3, 1), (2024, 3, 31)),
        ("2024/02", (2024, 2, 1), (2024, 2, 29)),
        ("2024003", (2024, 3, 1), (2024, 3, 31)),
        ("2023", (2023, 1, 1), (2023, 12, 31)),
        ("Q2 2023", (2023, 4, 1), (2023, 6, 30)),
        ("2023-Q2", (2023, 4, 1), (2023, 6, 30)),
        ("second half of 2023", (2023, 7, 1), (2023, 12, 31)),
        ("4th quarter 2024", (2024, 10, 1), (2024, 12, 31)),
        ("2024-02-29", (2024, 2, 29), (2024, 2, 29)),
        ("5 March 2024", (2024, 3, 5), (2024, 3, 5)),
        ("March 5, 2024", (2024, 3, 5), (2024, 3, 5)),
        ("3rd of May 2024", (2024, 5, 3), (2024, 5, 3)),
    ],
)
def test_a_period_has_its_first_and_last_day(text: str, first: Day, last: Day) -> None:
    found = period_at(text, 0)
    assert found is not None
    assert (found[0], days_of(found[1])) == (len(text), (first, last))


@pytest.mark.parametrize(
    "text",
    [
        "marching",
        "third half",
        "20241",
        "13/2024",
        "1001",
        "3/4/2024",
        "Q5 2024",
        "2024.5.7.1",
    ],
)
def test_other_texts_are_no_period(text: str) -> None:
    assert period_at(text, 0) is None


def test_a_period_without_a_year_needs_a_single_one() -> None:
    found = period_at("March", 0)
    assert found is not None
    assert dated(found[1], {2023, 2024}) is None
    assert dated(found[1], {2023}) == Period(date(2023, 3, 1), date(2023, 3, 31))


def test_periods_that_a_text_names() -> None:
    days = [period.first for period in periods_of("since March 2024 until 2024-05")]
    assert days == [date(2024, 3, 1), date(2024, 5, 1)]

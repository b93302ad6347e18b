from __future__ import annotations

from typing import Any

import pytest

from skillian.offline.figures import (
    in_span,
    month_of,
    named_months,
    named_years,
    read_limits,
    read_span,
)
from skillian.offline.vocabulary import split


@pytest.mark.parametrize(
    ("value", "month"),
    [
        ("2024003", (2024, 3)),
        ("202403", (2024, 3)),
        ("2024-03", (2024, 3)),
        ("2024/3", (2024, 3)),
        ("2024M03", (2024, 3)),
        ("2024-03-31", (2024, 3)),
        ("20240331", (2024, 3)),
        ("2024-03-31 00:00:00", (2024, 3)),
        ("2024013", None),
        ("2024", None),
        ("400000", None),
        ("CC100", None),
    ],
)
def test_the_month_of_a_value(value: str, month: tuple[int, int] | None) -> None:
    assert month_of(value) == month


@pytest.mark.parametrize(
    ("text", "length", "first", "last"),
    [
        ("March 2024", 2, (2024, 3), (2024, 3)),
        ("Mar of 2024", 3, (2024, 3), (2024, 3)),
        ("03/2024", 1, (2024, 3), (2024, 3)),
        ("2024-03", 1, (2024, 3), (2024, 3)),
        ("2024003", 1, (2024, 3), (2024, 3)),
        ("2023", 1, (2023, 1), (2023, 12)),
        ("Q2 2023", 2, (2023, 4), (2023, 6)),
        ("second half of 2023", 4, (2023, 7), (2023, 12)),
        ("third quarter", 2, (2024, 7), (2024, 9)),
        ("April", 1, (2024, 4), (2024, 4)),
    ],
)
def test_a_span_of_months(
    text: str, length: int, first: tuple[int, int], last: tuple[int, int]
) -> None:
    assert read_span(split(text), 0, {2024}) == (length, (first, last))


@pytest.mark.parametrize("text", ["marching", "may", "third half", "20241", "13/2024", "1001"])
def test_no_span(text: str) -> None:
    assert read_span(split(text), 0, {2024}) is None


def test_a_month_of_several_years_needs_its_year() -> None:
    assert read_span(split("March"), 0, {2023, 2024}) is None
    words = split("March and April 2023")
    assert read_span(words, 0, named_years(words)) == (1, ((2023, 3), (2023, 3)))


def test_the_values_of_a_span_are_those_of_the_data_in_order() -> None:
    values = ("2024-02-29", "2024-01-31", "none", "2023-12-31")
    assert in_span(values, ((2023, 12), (2024, 1))) == ["2023-12-31", "2024-01-31"]


def test_months_that_a_text_names() -> None:
    assert named_months(split("since March 2024 until 2024-05")) >= {(2024, 3), (2024, 5)}


@pytest.mark.parametrize(
    ("question", "thresholds"),
    [
        ("ignore differences under 1 euro", {"match": {"absolute": 1}}),
        ("ignoring anything below 0,05 EUR", {"match": {"absolute": 0.05}}),
        ("tolerance 1 %", {"match": {"percentage": 1}}),
        ("with a tolerance of 0.5 percent", {"match": {"percentage": 0.5}}),
        ("up to 0.05", {"match": {"absolute": 0.05}}),
        ("differences up to 5 cents are fine", {"match": {"absolute": 0.05}}),
        ("only differences above 100 euros", {"match": {"absolute": 100}}),
        ("allow minor differences of up to 5 euros", {"minor_diff": {"absolute": 5}}),
        (
            "tolerance 1 euro, tolerance 2 %",
            {"match": {"absolute": 1, "percentage": 2}},
        ),
        ("tolerance 0.12345678901234567891", {"match": {"absolute": "0.12345678901234567891"}}),
        ("up to 2024003", {}),
        ("ignore company 1003", {}),
        ("ignoring 1003", {}),
        ("companies 1001 and 1002", {}),
    ],
)
def test_thresholds(question: str, thresholds: dict[str, Any]) -> None:
    assert read_limits(question).thresholds == thresholds


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("top 5 companies", 5),
        ("the three largest accounts", 3),
        ("10 rows", 10),
        ("first 20", 20),
        ("the largest one", None),
        ("top 99999", None),
        ("company 1001", None),
    ],
)
def test_how_many(question: str, count: int | None) -> None:
    assert read_limits(question).count == count

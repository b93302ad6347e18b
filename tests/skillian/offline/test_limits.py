from __future__ import annotations

from typing import Any

import pytest

from skillian.offline.figures import read_limits


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

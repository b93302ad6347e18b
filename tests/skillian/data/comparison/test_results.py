from decimal import Decimal

import pytest

from skillian.data.comparison.results import Difference


@pytest.mark.parametrize(
    ("a", "b", "absolute", "percentage"),
    [
        ("3", "4", "1", "33.3333"),
        ("-3", "-5", "2", "66.6667"),
        ("0", "4", "4", None),
        (None, "4", None, None),
        ("4", None, None, None),
        ("12345678901234567890123456789012345.67", "0", "12345678901234567890123456789012345.67",
         "100.0000"),
    ],
)  # fmt: skip
def test_differences_are_exact(
    a: str | None, b: str | None, absolute: str | None, percentage: str | None
) -> None:
    item = Difference(
        measure="amount",
        key={"company": 2**53 + 1},
        status="major_diff",
        a=None if a is None else Decimal(a),
        b=None if b is None else Decimal(b),
        rows_a=1,
        rows_b=1,
    ).to_dict()
    assert (item["absolute_diff"], item["percentage_diff"]) == (absolute, percentage)
    assert item["key"] == {"company": "9007199254740993"}


NEAR = "1000000000000000000000000000001"  # more digits than Python's own context keeps


@pytest.mark.parametrize(
    ("a", "b", "rows", "found"),
    [
        ("2", "4", (1, 2), "in b"),
        ("4", "2", (2, 1), "in a"),
        ("2", "4", (1, 1), ""),
        ("0", "0", (1, 2), ""),
        ("2", "-2", (1, 1), "opposite"),
        (None, "2", (0, 1), ""),
        (NEAR, "2000000000000000000000000000003", (1, 2), ""),
        (NEAR, "-1000000000000000000000000000002", (1, 1), ""),
    ],
)
def test_doubled_and_opposite_values_are_distinguished(
    a: str | None, b: str, rows: tuple[int, int], found: str
) -> None:
    value = None if a is None else Decimal(a)
    item = Difference("amount", {}, "major_diff", value, Decimal(b), *rows)
    assert item.doubled(in_a=True) == (found == "in a")
    assert item.doubled(in_a=False) == (found == "in b")
    assert item.opposite_sign == (found == "opposite")

from __future__ import annotations

from decimal import Decimal

import pytest

from skillian.data.results.groups import Difference

NEAR = "1000000000000000000000000000001"  # more digits than Python's own context keeps
LONG = "12345678901234567890123456789012345.67"


def test_a_difference_of_many_digits_is_exact() -> None:
    key = {"company": 2**53 + 1}
    item = Difference("amount", key, "major_diff", Decimal(LONG), Decimal(0), 1, 1).to_dict()
    assert (item["absolute_diff"], item["percentage_diff"]) == (LONG, "100.0000")
    assert item["key"] == {"company": "9007199254740993"}


@pytest.mark.parametrize(
    ("b", "rows"),
    [("2000000000000000000000000000003", (1, 2)), ("-1000000000000000000000000000002", (1, 1))],
)
def test_nearly_doubled_and_opposite_values_are_neither(b: str, rows: tuple[int, int]) -> None:
    item = Difference("amount", {}, "major_diff", Decimal(NEAR), Decimal(b), *rows)
    found = item.doubled(in_a=True), item.doubled(in_a=False), item.opposite_sign
    assert found == (False, False, False)

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from skillian.reports.charts import WIDTH, Bar, from_zero, shades, stacked

AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, places=2)


def test_bars_are_proportional_to_their_counts() -> None:
    assert stacked([50, 0, 25, 25, 0]) == [
        Bar(0, 500), Bar(500, 0), Bar(500, 250), Bar(750, 250), Bar(1000, 0),
    ]  # fmt: skip
    assert stacked([0, 0]) == [Bar(0, 0), Bar(0, 0)]


@given(st.lists(st.integers(0, 10**12), min_size=5, max_size=5).filter(any))
def test_every_class_is_visible_and_all_fill_the_width(counts: list[int]) -> None:
    bars = stacked(counts)
    assert sum(bar.length for bar in bars) == WIDTH
    assert all((bar.length > 0) == (count > 0) for bar, count in zip(bars, counts, strict=True))


def test_negative_amounts_go_to_the_left_of_zero() -> None:
    zero, bars = from_zero([Decimal(30), Decimal(-10), Decimal(0)])
    assert zero == 250
    assert bars == [Bar(250, 750), Bar(0, 250), Bar(250, 0)]


@given(st.lists(AMOUNTS, max_size=20))
def test_every_bar_is_inside_and_visible(values: list[Decimal]) -> None:
    zero, bars = from_zero(values)
    assert 0 <= zero <= WIDTH
    for value, bar in zip(values, bars, strict=True):
        assert 0 <= bar.start <= WIDTH
        assert bar.start + bar.length <= WIDTH + 6
        assert (bar.length > 0) == bool(value)


def test_a_shade_grows_with_the_amount_and_not_with_its_sign() -> None:
    assert shades([Decimal(100), Decimal(-25), Decimal(0)]) == [WIDTH, WIDTH // 2, 0]
    assert shades([Decimal(0)]) == [0]
    assert shades([]) == []

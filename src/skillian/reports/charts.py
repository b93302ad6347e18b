"""The geometry of charts, in thousandths of their width.

This is the only place where an amount becomes a position. The charts show each amount next to its
bar with all of its digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isqrt

from skillian.data.results.groups import EXACT

WIDTH = 1000
_VISIBLE = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """Where a bar starts and how long it is."""

    start: int
    length: int


def stacked(counts: Sequence[int]) -> list[Bar]:
    """Bars one after the other, proportional to their counts but never too short to see."""
    total = sum(counts)
    if not total:
        return [Bar(0, 0) for _ in counts]
    lengths = [max(count * WIDTH // total, _VISIBLE) if count else 0 for count in counts]
    lengths[counts.index(max(counts))] += WIDTH - sum(lengths)
    return [Bar(sum(lengths[:index]), length) for index, length in enumerate(lengths)]


def from_zero(values: Sequence[Decimal]) -> tuple[int, list[Bar]]:
    """The position of 0, and for each value its bar from there to the left or to the right."""
    low, high = min(*values, Decimal(0), Decimal(0)), max(*values, Decimal(0), Decimal(0))
    span = EXACT.subtract(high, low)
    if not span:
        return 0, [Bar(0, 0) for _ in values]
    zero = _share(low.copy_abs(), span)
    bars: list[Bar] = []
    for value in values:
        length = max(_share(value.copy_abs(), span), _VISIBLE if value else 0)
        bars.append(Bar(max(zero - length, 0) if value < 0 else zero, length))
    return zero, bars


def shades(values: Sequence[Decimal]) -> list[int]:
    """The strength of the colour of each amount, whatever its sign, in thousandths.

    It grows with the square root of the amount, so that small amounts are visible next to large
    ones.
    """
    sizes = [value.copy_abs() for value in values]
    largest = max(sizes, default=Decimal(0))
    return [isqrt(_share(size, largest) * WIDTH) for size in sizes]


def _share(part: Decimal, whole: Decimal) -> int:
    return int(EXACT.divide_int(EXACT.multiply(part, Decimal(WIDTH)), whole)) if whole else 0

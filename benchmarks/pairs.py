"""Two loops measured against each other: CPU of this process, alternating, in one run.

Other work on the machine then slows both alike, and the ratio of the two stays.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Loop = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Pair:
    """Median CPU milliseconds of each loop, and the ratio of each pair's two figures."""

    ours_ms: float
    floor_ms: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> str:
        """The lowest and the highest ratio."""
        return f"{min(self.ratios):.3f} to {max(self.ratios):.3f}"


@dataclass(frozen=True)
class Row:
    """One line of a printed table, and whether its target is met (if it has one)."""

    case: str
    figure: str
    floor: str
    ratio: str
    target: str = "-"
    is_met: bool = True

    def __str__(self) -> str:
        """The line as Markdown."""
        cells = (self.case, self.figure, self.floor, self.ratio, self.target)
        return f"| {' | '.join(cells)} |"


def ratio_row(case: str, pair: Pair, target: float | None = None) -> Row:
    """The line of a pair; `target` is the highest acceptable ratio."""
    return Row(
        case,
        f"{pair.ours_ms:,.1f} ms",
        f"{pair.floor_ms:,.1f} ms",
        f"{pair.ratio:.3f} ({pair.spread})",
        "-" if target is None else f"<= {target}",
        target is None or pair.ratio <= target,
    )


async def cpu_ms(loop: Loop, repeats: int) -> float:
    """CPU milliseconds of one call of `loop`, averaged over `repeats` calls."""
    gc.collect()
    started = time.process_time()
    for _ in range(repeats):
        await loop()
    return (time.process_time() - started) * 1000 / repeats


async def measure(ours: Loop, floor: Loop, *, pairs: int, repeats: int) -> Pair:
    """Alternate the two loops `pairs` times, after one warm-up call of each."""
    await ours()
    await floor()
    figures = [(await cpu_ms(ours, repeats), await cpu_ms(floor, repeats)) for _ in range(pairs)]
    return Pair(
        statistics.median(mine for mine, _ in figures),
        statistics.median(other for _, other in figures),
        tuple(mine / other for mine, other in figures),
    )

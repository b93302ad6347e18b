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


async def cpu_ms(loop: Loop, repeats: int) -> float:
    """CPU milliseconds of one go of `loop`, over `repeats` goes."""
    gc.collect()
    started = time.process_time()
    for _ in range(repeats):
        await loop()
    return (time.process_time() - started) * 1000 / repeats


async def measure(ours: Loop, floor: Loop, *, pairs: int, repeats: int) -> Pair:
    """Alternate the two loops `pairs` times, after a go of each to warm up."""
    await ours()
    await floor()
    figures = [(await cpu_ms(ours, repeats), await cpu_ms(floor, repeats)) for _ in range(pairs)]
    return Pair(
        statistics.median(mine for mine, _ in figures),
        statistics.median(other for _, other in figures),
        tuple(mine / other for mine, other in figures),
    )

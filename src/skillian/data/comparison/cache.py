"""Comparisons that were made a while ago: bounded by bytes and by age."""

import json
from dataclasses import dataclass, field
from time import monotonic

from cachetools import TTLCache

from skillian.data.comparison.place import Ground
from skillian.data.comparison.plan import ComparisonPlan, Question
from skillian.data.comparison.results import ComparisonResult
from skillian.errors import InvalidInputError, quoted

MAX_BYTES = 64 * 1024 * 1024
BESIDE_BYTES = 16 * 1024  # question, plan and ground; measured by benchmarks/comparison_memory.py


@dataclass(slots=True)
class Remembered:
    """A comparison that was made: its result, and what its groups can be asked for by.

    `differences` is the workspace's table of the groups that differ, once it was wanted.
    """

    question: Question
    plan: ComparisonPlan
    ground: Ground
    result: ComparisonResult
    differences: str | None = None
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(json.dumps(self.result.to_dict())) + BESIDE_BYTES

    @property
    def tables(self) -> tuple[str, ...]:
        """What it holds in the workspace."""
        own = () if self.differences is None else (self.differences,)
        return (*self.ground.tables, *own)


class ComparisonCache:
    """Holds comparisons by cache key.

    Args:
        seconds: How long one is kept; 0 keeps none.
    """

    def __init__(self, seconds: float) -> None:
        self._kept = _Evicting(seconds)

    def find(self, key: str) -> Remembered | None:
        """Return the comparison of this key, if it is still known."""
        self._kept.expire()
        return self._kept.get(key)

    def get(self, key: str) -> Remembered:
        """Return the comparison of this key; raises `InvalidInputError` when it is not known."""
        found = self.find(key)
        if found is None:
            raise InvalidInputError(
                f"there is no comparison {quoted(key[:12])} (any more); compare the sources again"
            )
        return found

    def keep(self, key: str, comparison: Remembered) -> None:
        """Keep a comparison; the ones used longest ago go where there is no room."""
        self._kept.expire()
        try:
            self._kept[key] = comparison
        except ValueError:  # larger than all there is room for
            self._kept.forgotten += comparison.tables

    def forgotten(self) -> tuple[str, ...]:
        """Return the workspace's tables of what was forgotten since this was last asked."""
        self._kept.expire()
        tables, self._kept.forgotten = tuple(self._kept.forgotten), []
        return tables

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()


class _Evicting(TTLCache[str, Remembered]):
    def __init__(self, seconds: float) -> None:
        super().__init__(MAX_BYTES, seconds, timer=monotonic, getsizeof=lambda kept: kept.size)
        self.forgotten: list[str] = []

    def clear(self) -> None:
        while self:
            self.popitem()

    def popitem(self) -> tuple[str, Remembered]:
        key, comparison = super().popitem()
        self.forgotten += comparison.tables
        return key, comparison

    def expire(self, time: float | None = None) -> list[tuple[str, Remembered]]:
        gone: list[tuple[str, Remembered]] = super().expire(time)
        for _, comparison in gone:
            self.forgotten += comparison.tables
        return gone

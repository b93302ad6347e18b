"""Recent comparisons, bounded by bytes and by age."""

import json
from dataclasses import dataclass, field
from time import monotonic

from cachetools import TTLCache

from skillian.data.comparison.place import Place
from skillian.data.comparison.plan import ComparisonPlan, ComparisonQuestion
from skillian.data.comparison.results import ComparisonResult
from skillian.errors import InvalidInputError, quoted

MAX_BYTES = 64 * 1024 * 1024
EXTRA_BYTES = 16 * 1024  # question, plan and place, as measured by benchmarks/comparison_memory.py


@dataclass(slots=True)
class CachedComparison:
    """A comparison's result, and what is needed to query its groups.

    `differences` is the workspace's table of the groups that differ.
    """

    question: ComparisonQuestion
    plan: ComparisonPlan
    place: Place
    result: ComparisonResult
    differences: str
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(json.dumps(self.result.to_dict())) + EXTRA_BYTES

    @property
    def tables(self) -> tuple[str, ...]:
        """Its tables in the workspace."""
        return (*self.place.tables, self.differences)


class ComparisonCache:
    """Holds comparisons by cache key.

    Args:
        seconds: How long a comparison is kept; 0 keeps none.
    """

    def __init__(self, seconds: float) -> None:
        self._entries = _Evicting(seconds)

    def find(self, key: str) -> CachedComparison | None:
        """Return the comparison of this key, or None if it has expired."""
        self._entries.expire()
        return self._entries.get(key)

    def get(self, key: str) -> CachedComparison:
        """Return the comparison of this key; raises `InvalidInputError` for an unknown one."""
        comparison = self.find(key)
        if comparison is None:
            raise InvalidInputError(
                f"the comparison {quoted(key[:12])} is unknown or has expired; compare the sources"
                " again"
            )
        return comparison

    def store(self, key: str, comparison: CachedComparison) -> None:
        """Add a comparison; the least recently used ones are evicted if memory is short."""
        self._entries.expire()
        try:
            self._entries[key] = comparison
        except ValueError:  # larger than the whole cache
            self._entries.evicted += comparison.tables

    def evicted(self) -> tuple[str, ...]:
        """Return the tables in the workspace of comparisons evicted since the last call."""
        self._entries.expire()
        tables, self._entries.evicted = tuple(self._entries.evicted), []
        return tables

    def clear(self) -> None:
        """Remove all."""
        self._entries.clear()


class _Evicting(TTLCache[str, CachedComparison]):
    def __init__(self, seconds: float) -> None:
        super().__init__(MAX_BYTES, seconds, timer=monotonic, getsizeof=lambda entry: entry.size)
        self.evicted: list[str] = []

    def clear(self) -> None:
        while self:
            self.popitem()

    def popitem(self) -> tuple[str, CachedComparison]:
        key, comparison = super().popitem()
        self.evicted += comparison.tables
        return key, comparison

    def expire(self, time: float | None = None) -> list[tuple[str, CachedComparison]]:
        expired: list[tuple[str, CachedComparison]] = super().expire(time)
        for _, comparison in expired:
            self.evicted += comparison.tables
        return expired

"""Recent comparisons, bounded by bytes and by age."""

import json
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from time import monotonic

from cachetools import LRUCache, TTLCache

from skillian.data.comparison.place import Place
from skillian.data.comparison.plan import ComparisonPlan, digest_of
from skillian.data.comparison.results import ComparisonResult
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.binding import BoundSource
from skillian.errors import InvalidInputError, quoted

MAX_QUESTIONS = 10_000
MAX_BYTES = 64 * 1024 * 1024
# Question, plan and place, and the objects of a result: see benchmarks/comparison_memory.py.
EXTRA_BYTES, JSON_FACTOR = 16 * 1024, 3


@dataclass(slots=True)
class CachedComparison:
    """A comparison's result, and what is needed to query its groups.

    `differences` is the workspace's table of the groups that differ; `table_bytes` is what all of
    its tables take.
    """

    question: SavedComparison
    plan: ComparisonPlan
    place: Place
    result: ComparisonResult
    differences: str
    table_bytes: InitVar[int]
    size: int = field(init=False)

    def __post_init__(self, table_bytes: int) -> None:
        own = len(json.dumps(self.result.to_dict())) * JSON_FACTOR + EXTRA_BYTES
        # DuckDB bounds the memory of large tables itself, and writes the rest to disk.
        self.size = own + min(table_bytes, MAX_BYTES // 2)

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
        self._holders: Counter[str] = Counter()
        self._keys: LRUCache[str, str] = LRUCache(MAX_QUESTIONS)

    @contextmanager
    def holding(self, key: str) -> Generator[None]:
        """Let `get` return the comparison of this key until the context ends, whatever its age."""
        self._holders[key] += 1
        try:
            yield
        finally:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key]

    def of(
        self, question: SavedComparison, sources: tuple[BoundSource, BoundSource]
    ) -> CachedComparison | None:
        """The comparison that answered this question before, without planning it again.

        None if it has expired, or if a source is declared otherwise or has other columns now.
        """
        comparison = self.find(self._keys.get(digest_of(question), ""))
        if comparison is None:
            return None
        sides = (comparison.plan.a.source, comparison.plan.b.source)
        is_same = all(
            (before.definition, before.columns) == (now.definition, now.columns)
            for before, now in zip(sides, sources, strict=True)
        )
        return comparison if is_same else None

    def note(self, question: SavedComparison, key: str) -> None:
        """Remember that the comparison of this key answers a question."""
        self._keys[digest_of(question)] = key

    def find(self, key: str) -> CachedComparison | None:
        """The comparison of this key, or None if it has expired."""
        self._entries.expire()
        return self._entries.get(key)

    def get(self, key: str) -> CachedComparison:
        """The comparison of this key; raises `InvalidInputError` for an unknown one."""
        comparison = self.find(key) or self._held(key)
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
            self._entries.evicted.append((key, comparison))

    def evicted(self) -> tuple[str, ...]:
        """The tables in the workspace of comparisons evicted since the last call.

        Those of comparisons that are held are returned by a later call.
        """
        self._entries.expire()
        evicted = self._entries.evicted
        self._entries.evicted = [each for each in evicted if each[0] in self._holders]
        ended = (each for key, each in evicted if key not in self._holders)
        return tuple(table for comparison in ended for table in comparison.tables)

    def _held(self, key: str) -> CachedComparison | None:
        if key not in self._holders:
            return None
        evicted = reversed(self._entries.evicted)
        return next((comparison for each, comparison in evicted if each == key), None)

    def clear(self) -> None:
        """Remove all."""
        self._entries.clear()
        self._keys.clear()


class _Evicting(TTLCache[str, CachedComparison]):
    def __init__(self, seconds: float) -> None:
        super().__init__(MAX_BYTES, seconds, timer=monotonic, getsizeof=lambda entry: entry.size)
        self.evicted: list[tuple[str, CachedComparison]] = []

    def clear(self) -> None:
        while self:
            self.popitem()

    def popitem(self) -> tuple[str, CachedComparison]:
        item: tuple[str, CachedComparison] = super().popitem()
        self.evicted.append(item)
        return item

    def expire(self, time: float | None = None) -> list[tuple[str, CachedComparison]]:
        expired: list[tuple[str, CachedComparison]] = super().expire(time)
        self.evicted += expired
        return expired

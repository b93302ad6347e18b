from __future__ import annotations

import pytest

from skillian.data.comparison import cache as remembered
from skillian.data.comparison.cache import ComparisonCache, Kept
from skillian.errors import InvalidInputError


class Sized(Kept):
    """What the cache looks at of a comparison."""

    def __init__(self, name: str, size: int) -> None:
        self.tables = [name]
        self.size = size


def test_the_least_recently_used_and_what_is_too_large_are_evicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 100)
    cache = ComparisonCache(3600)
    for name in "abc":
        cache.store(name, Sized(name, 30))
    assert cache.find("a") is not None
    cache.store("d", Sized("d", 30))
    assert cache.find("b") is None
    assert cache.evicted() == ("b",)
    assert cache.evicted() == ()
    cache.store("large", Sized("large", 101))
    assert cache.find("large") is None
    assert cache.find("a") is not None
    assert cache.evicted() == ("large",)


def test_what_is_too_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(remembered, "monotonic", lambda: now[0])
    cache = ComparisonCache(3600)
    cache.store("a", Sized("a", 1))
    now[0] = 3599
    assert cache.get("a").size == 1
    now[0] = 3601
    with pytest.raises(InvalidInputError, match=r"'a' is unknown .*compare the sources again"):
        cache.get("a")
    assert cache.evicted() == ("a",)


def test_one_that_is_made_again_replaces_the_first() -> None:
    cache = ComparisonCache(3600)
    first, second = Sized("first", 1), Sized("second", 1)
    cache.store("a", first)
    with cache.holding("a"):
        cache.store("a", second)
        assert cache.get("a") is second
        assert cache.evicted() == ()  # someone may read the first
    assert cache.evicted() == ("first",)
    assert cache.get("a") is second

from typing import Any

import pytest

from skillian.data.comparison import cache as remembered
from skillian.data.comparison.cache import ComparisonCache, Remembered
from skillian.errors import InvalidInputError


class Kept:
    """What the cache looks at of a `Remembered`."""

    def __init__(self, name: str, size: int) -> None:
        self.tables = (name,)
        self.size = size


def kept(name: str, size: int) -> Remembered:
    made: Any = Kept(name, size)
    found: Remembered = made
    return found


def test_the_least_used_goes_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 100)
    cache = ComparisonCache(3600)
    for name in "abc":
        cache.keep(name, kept(name, 30))
    assert cache.find("a") is not None
    cache.keep("d", kept("d", 30))
    assert cache.find("b") is None
    assert cache.forgotten() == ("b",)
    assert cache.forgotten() == ()


def test_what_is_larger_than_all_room_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 100)
    cache = ComparisonCache(3600)
    cache.keep("a", kept("a", 10))
    cache.keep("large", kept("large", 101))
    assert cache.find("large") is None
    assert cache.find("a") is not None
    assert cache.forgotten() == ("large",)


def test_what_is_too_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(remembered, "monotonic", lambda: now[0])
    cache = ComparisonCache(3600)
    cache.keep("a", kept("a", 1))
    now[0] = 3599
    assert cache.get("a").size == 1
    now[0] = 3601
    with pytest.raises(InvalidInputError, match=r"no comparison 'a' .*compare the sources again"):
        cache.get("a")
    assert cache.forgotten() == ("a",)


def test_clearing_forgets_all() -> None:
    cache = ComparisonCache(3600)
    for name in "ab":
        cache.keep(name, kept(name, 1))
    cache.clear()
    assert sorted(cache.forgotten()) == ["a", "b"]

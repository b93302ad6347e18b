"""Sets and keys from outside: built in linear time, whatever their hashes are made to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .wire import WireError, kind_of

# How many members may share a hash, by how deep sets stand in them. As -1 and -2 share one, so do
# the 64 tuples of six of them. Telling sets of colliding sets apart takes quadratic time.
_MAX_ALIKE = (64, 8, 1)


def build_set(items: list[Any]) -> set[Any]:
    """The set of the items.

    Raises:
        WireError: one cannot be in a set, or too many share a hash.
    """
    return set(build_dict((item, None) for item in items))


def build_dict(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """The dict of these keys and values.

    Raises:
        WireError: one cannot be a key, or too many share a hash.
    """
    built: dict[Any, Any] = {}
    alike: dict[int, int] = {}
    try:
        for key, value in items:
            before = len(built)
            built[key] = value
            if len(built) > before:
                code = hash(key)
                count = alike[code] = alike.get(code, 0) + 1
                if count > 1 and count > _MAX_ALIKE[_sets_in(key)]:
                    raise WireError("members of a set or keys share a hash: forged")
    except (TypeError, ValueError):
        raise WireError("a member of a set or a key that can be neither") from None
    return built


def _sets_in(key: Any) -> int:
    """How deep sets stand in it; 2 for deeper, too."""
    kind = kind_of(key)
    if kind not in (frozenset, tuple):
        return 0
    deepest = max(map(_sets_in, key), default=0)
    return min(deepest + (kind is frozenset), 2)

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tinyagent.execution.sandbox.worker.codec.budget import build_dict, build_set
from tinyagent.execution.sandbox.worker.codec.wire import WireError

MODULUS = 2**61 - 1  # whole numbers are hashed modulo this


def test_what_happens_to_share_a_hash_is_taken() -> None:
    assert build_set([-1, -2, MODULUS, 0]) == {-1, -2, MODULUS, 0}
    grid = list(itertools.product([-2, -1, 0, 1], repeat=5))
    assert build_set(grid) == set(grid)
    edges: list[Any] = [frozenset({-1, 3}), frozenset({-2, 3})]
    assert build_set(edges) == set(edges)


def test_the_same_key_twice_is_the_last_one() -> None:
    assert build_dict([("a", number) for number in range(1000)]) == {"a": 999}


@pytest.mark.parametrize(
    "items",
    [
        [MODULUS * number for number in range(100)],
        list(itertools.product([-1, -2], repeat=7)),
        [frozenset({-1 - bit, 3, number * MODULUS}) for bit in (0, 1) for number in range(9)],
        [frozenset({frozenset({number})}) for number in (-1, -2)],
        [(1, frozenset({frozenset({number})})) for number in (-1, -2)],
    ],
)
def test_what_is_made_to_share_a_hash_is_refused(items: list[Any]) -> None:
    with pytest.raises(WireError, match="forged"):
        build_set(items)


@pytest.mark.parametrize("item", [[], {}, set(), ([],)])
def test_what_has_no_hash_is_refused(item: Any) -> None:
    with pytest.raises(WireError, match="can be neither"):
        build_set([item])

"""A sample of what `make bench-hostile` sends: the host keeps what it promises."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.tinyagent.execution.hostile import KINDS, PER_STEP, measured, origin

_MOST_GROWTH = 64 << 20


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with origin() as number:
        yield number


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_session_sends_costs_the_host_little(kind: str, port: int) -> None:
    seed = int(os.environ.get("SEED", "0"))
    figures = await measured(kind, PER_STEP[kind], seed, port)
    assert figures.pause < 0.1, "the loop stands still"  # 50 ms where nothing else runs
    assert figures.growth < _MOST_GROWTH + 4 * figures.received
    assert figures.descriptors == 0

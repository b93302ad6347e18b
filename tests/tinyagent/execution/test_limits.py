from __future__ import annotations

from typing import Any

import pytest

from tinyagent.core.errors import ConfigurationError, ExecutionTimeout
from tinyagent.execution.limits import ExecutionLimits, TrustLevel


def test_the_defaults() -> None:
    limits = ExecutionLimits()
    assert (limits.timeout_seconds, limits.max_output_bytes, limits.max_steps) == (30, 10_000, None)
    assert limits.max_memory_bytes == 2**30


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout_seconds": 0},
        {"max_steps": 0},
        {"max_memory_bytes": -1},
        {"timeout_seconds": float("nan")},
    ],
)
def test_a_limit_is_more_than_nothing(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(wrong))} must be more than 0"):
        ExecutionLimits(**wrong)


def test_the_context_stops_what_takes_too_long() -> None:
    limits = ExecutionLimits(timeout_seconds=0.02)
    with pytest.raises(ExecutionTimeout, match=r"0\.02 s"), limits.timeout_context():
        [None for _ in iter(int, 1)]


def test_long_output_is_cut_in_the_middle() -> None:
    limits = ExecutionLimits(max_output_bytes=100)
    cut = limits.truncate_output("a" * 500 + "b" * 500)
    assert len(cut) <= 100
    assert cut.startswith("a")
    assert cut.endswith("b")
    assert "characters are left out here" in cut
    assert limits.truncate_output("short") == "short"


def test_the_levels_are_words() -> None:
    assert [str(level) for level in TrustLevel] == ["local", "isolated", "sandboxed"]

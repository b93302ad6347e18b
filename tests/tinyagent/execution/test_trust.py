"""What each trust level allows and promises."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.execution import isolated

from tinyagent.core.errors import ConfigurationError, ExecutionTimeout
from tinyagent.execution.protocol import Guarantee
from tinyagent.execution.trust import ExecutionLimits, TrustLevel, describe_guarantees

ALL = {"namespaces": True, "landlock": 7, "seccomp": True}


def kept(checkpoints: int = 8, engine: str = "kernel", **report: Any) -> dict[str, Guarantee]:
    found = describe_guarantees(engine, {**ALL, **report}, checkpoints)
    return {item.promise: item for item in found}


def test_with_all_locks_each_promise_is_kept_and_says_by_what() -> None:
    found = kept()
    assert all(item.enforced for item in found.values())
    assert all(item.by for item in found.values())
    assert "Landlock ABI 7" in found["no host file but Python's"].by
    assert "8 states" in found["a step that fails loses only itself"].by


NEED_NAMESPACES = {
    "not even the names of host files",
    "limit of all files",
    "a step that fails loses only itself",
    "no other process is seen",
    "process limit",
    "not the name of the host",
}
NEED_FILES_LOCKED = {
    "no host file but Python's",
    "nothing written outside the working folder",
    "sessions are hidden from each other",
}
NEED_FILTER = {"no other program is started", "no privileges, no other kernel interfaces"}
NEED_ANY_OF_THE_TWO = {"no network", "no other process is signalled"}


@pytest.mark.parametrize(
    ("missing", "broken"),
    [
        ({"landlock": 0}, set()),
        ({"seccomp": False}, NEED_FILTER),
        ({"namespaces": False}, NEED_NAMESPACES),
        ({"namespaces": False, "landlock": 0}, NEED_NAMESPACES | NEED_FILES_LOCKED),
        (
            {"namespaces": False, "seccomp": False},
            NEED_NAMESPACES | NEED_FILTER | NEED_ANY_OF_THE_TWO,
        ),
    ],
)
def test_what_a_missing_lock_breaks_is_reported(missing: dict[str, Any], broken: set[str]) -> None:
    guarantees = kept(8 if missing.get("namespaces", True) else 0, **missing)
    not_kept = {promise for promise, item in guarantees.items() if not item.enforced}
    assert not_kept == broken
    assert {guarantees[promise].by for promise in not_kept} <= {"nothing here"}


def test_promises_are_the_same_everywhere() -> None:
    weak = kept(0, namespaces=False, landlock=0, seccomp=False)
    assert list(weak) == list(kept())
    always = {"none of the host's environment", "time limit", "memory limit", "ends with its host"}
    assert {promise for promise, item in weak.items() if item.enforced} >= always


def test_an_executor_reports_its_own() -> None:
    by_key = {item.promise: item for item in isolated(checkpoints=3).guarantees}
    assert "3 states" in by_key["a step that fails loses only itself"].by
    by_key = {item.promise: item for item in isolated(checkpoints=0).guarantees}
    assert not by_key["a step that fails loses only itself"].enforced


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

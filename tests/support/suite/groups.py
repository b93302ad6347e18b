"""What the division of a run has to know of the tests, by their files and folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

GROUPS = {
    "browser": ("tests/e2e/browser", "tests/skillian/reports/test_page.py"),
    "llm": (
        "tests/e2e/test_calling_models.py",
        "tests/e2e/test_code_agent_models.py",
        "tests/e2e/test_small_model.py",
        "tests/skillian/test_local_models.py",
    ),
    "schemathesis": ("tests/e2e/test_service_schema.py",),
    "spark": (
        "tests/skillian/connectors/spark",
        "tests/skillian/connectors/test_floats.py",
        "tests/skillian/data/schema/test_matrix.py",
    ),
}
"""The tests that need a server or a library which takes seconds and hundreds of megabytes."""

EXACT = (
    # attacks
    "tests/tinyagent/execution/attacks",
    "tests/tinyagent/execution/network/test_rules.py",
    "tests/tinyagent/execution/network/test_ways_around.py",
    "tests/tinyagent/execution/workspace/test_tricks.py",
    "tests/tinyagent/provenance",
    # frames
    "tests/tinyagent/execution/sandbox/test_frames.py",
    "tests/tinyagent/execution/sandbox/test_hostile_frames.py",
    "tests/tinyagent/execution/sandbox/worker/codec",
    # verdicts of seccomp
    "tests/tinyagent/execution/sandbox/worker/kernel/test_bpf.py",
    "tests/tinyagent/execution/sandbox/worker/kernel/test_seccomp.py",
    "tests/tinyagent/execution/sandbox/worker/kernel/test_seccomp_filter.py",
    # the oracle
    "tests/skillian/oracle",
    # leaks
    "tests/skillian/storage/test_taken_over.py",
    "tests/tinyagent/execution/network/test_secrets.py",
    # lost data
    "tests/e2e/test_service_store.py",
    "tests/skillian/storage/test_machine.py",
    "tests/tinyagent/durable/test_campaign.py",
    "tests/tinyagent/durable/test_killed.py",
    "tests/tinyagent/durable/test_replay.py",
    "tests/tinyagent/durable/test_state_machine.py",
    "tests/tinyagent/execution/workspace/test_commit.py",
    "tests/tinyagent/execution/workspace/test_model.py",
)
"""The tests of attacks, frames, verdicts of seccomp, the oracle, leaks and lost data.

A failure of one refuses a change even if it would pass when it is tried again.
"""


def is_in(path: str, places: Iterable[str]) -> bool:
    """Whether a file is one of these, or in one of these folders."""
    return any(PurePosixPath(path).is_relative_to(place) for place in places)

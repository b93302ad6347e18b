"""Short ways to an executor and its results."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from tests.support.processes import descendants

from tinyagent import Sandbox
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.trust import ExecutionLimits

SPARE_SECONDS = 5.0
"""The time a stopped step may take to be gone: a hundred times of what it takes if no other work
shares the cores. A step that is not stopped takes longer than that."""


def within(seconds: float = 20.0, **limits: Any) -> ExecutionLimits:
    """Limits with a time of `seconds`."""
    return ExecutionLimits(timeout_seconds=seconds, **limits)


def isolated(bounds: ExecutionLimits | None = None, **options: Any) -> ProcessExecutor:
    """An executor at ISOLATED; 20 seconds a step unless `bounds` say otherwise."""
    options["limits"] = bounds or within()
    return ProcessExecutor(Sandbox(**options))


async def value_of(executor: ProcessExecutor, code: str) -> Any:
    """The value of the code's last expression; it must go well."""
    result = await executor.run(code)
    assert result.error is None, result.error
    assert not result.state_lost
    return result.value


def hurry(executor: ProcessExecutor, seconds: float) -> None:
    """Change the time limit of its steps, the session's that is open too.

    Steps that are to end well can so have all the time that a busy machine needs.
    """
    executor.limits = replace(executor.limits, timeout_seconds=seconds)
    if executor._session is not None:
        executor._session._limits = executor.limits


def ended_well(result: ExecutionResult) -> bool:
    """Whether nothing went wrong."""
    return result.error is None and not result.timed_out and not result.state_lost


def sandbox_processes() -> set[int]:
    """All living processes that this one has started, and theirs."""
    return descendants(os.getpid())

"""Running an attack in an executor, and what is asked of every executor afterwards."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

from tests.support.execution import hurry
from tests.support.waits import soon
from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.cases import Attack, Proof, timed_out
from tests.tinyagent.execution.attacks.outcome import (
    Outcome,
    gave_nothing_away,
    is_data,
    kept_to_size,
    was_in_time,
)

from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.trust import ExecutionLimits

MakeExecutor = Callable[..., ProcessExecutor]

_MEGA = 2**20
_MAX_GROWTH_KILOBYTES = 400 * 1024  # of the host: what the largest frames may take for a moment
_LIBRARY_SECONDS = 8.0  # to load them, and to draw, on a busy machine
_SECONDS = 1.0
_HANG_SECONDS = 0.5
_READY_SECONDS = 30.0


def limits_of(attack: Attack) -> ExecutionLimits:
    """Tight, so that each attack that would break one comes to do it."""
    hangs = attack.proof is Proof.HANGS or timed_out in attack.checks or attack.loops
    seconds = _HANG_SECONDS if hangs else _SECONDS
    return ExecutionLimits(
        timeout_seconds=_LIBRARY_SECONDS if attack.libraries else seconds,
        max_memory_bytes=256 * _MEGA,
        max_file_bytes=16 * _MEGA,
    )


async def run_confined(
    attack: Attack, executor: ProcessExecutor, canaries: Canaries, *, checkpoints: bool = True
) -> None:
    """Run it, and see that it was stopped and that both host and executor go on unharmed."""
    outcome = Outcome()
    limits = executor.limits
    before = _most_memory()
    _inject_tools(executor, outcome, canaries.secret)
    # What is loaded here is loaded before the fork: an attack's time is for the attack.
    loads = "".join(f"import {name}\n" for name in attack.libraries)
    hurry(executor, _READY_SECONDS)
    ready = await executor.run(f"{loads}kept = 41")
    assert ready.error is None, ready.error
    hurry(executor, limits.timeout_seconds)
    for step in attack.steps:
        outcome.results.append(await _timed(attack, executor, canaries.preamble() + step, outcome))
    assert _most_memory() - before < _MAX_GROWTH_KILOBYTES
    gave_nothing_away(outcome, canaries.secret)
    assert canaries.harm() == []
    was_in_time(outcome, limits.timeout_seconds)
    kept_to_size(outcome, limits.max_output_bytes)
    is_data(outcome)
    for check in attack.checks:
        check(outcome)
    await _goes_on(attack, executor, outcome, checkpoints=checkpoints)
    await executor.aclose()
    if attack.leaves_its_mark:
        await soon(lambda: not canaries.processes())
    assert canaries.harm() == []


async def _timed(
    attack: Attack, executor: ProcessExecutor, code: str, outcome: Outcome
) -> ExecutionResult:
    started = time.monotonic()
    result = await executor.run(code, on_output=outcome.pieces.append)
    outcome.seconds.append(time.monotonic() - started)
    return result


async def _goes_on(
    attack: Attack, executor: ProcessExecutor, outcome: Outcome, *, checkpoints: bool
) -> None:
    """The next step runs, with the variables of before unless their loss was reported."""
    if attack.resets:
        await executor.reset()
    if checkpoints:  # a thread that was left behind could hold it up until the limit
        hurry(executor, _READY_SECONDS)
    harmless = await executor.run("print(6 * 7)")
    if not checkpoints and harmless.state_lost:  # where a thread is left behind, it may end there
        outcome.results.append(harmless)
        harmless = await executor.run("print(6 * 7)")
    assert harmless.output == "42\n", (harmless, outcome.results)
    assert not (harmless.is_final and checkpoints)
    if attack.resets:
        return
    kept = await executor.run("print(kept + 1)")
    results = [*outcome.results, harmless]
    if not checkpoints:  # a thread that was left behind may take any later order
        results.append(kept)
    is_lost = any(result.state_lost for result in results)
    may_lose = attack.may_lose or not checkpoints
    assert kept.output == "42\n" or (is_lost and may_lose), (kept, outcome.results)


def _inject_tools(executor: ProcessExecutor, outcome: Outcome, secret: str) -> None:
    """The tools of `plain.py`, on the host; what `echo` is given is noted."""

    def echo(value: Any) -> Any:
        outcome.heard.append(value)
        return value

    async def echo_later(value: Any) -> Any:
        return echo(value)

    def lookup(key: str) -> int:
        if key == "wrong":
            raise ValueError(f"no account {key!r} among {len(secret)}")
        return len(secret)

    for tool in (echo, echo_later, lookup):
        executor.inject(tool.__name__, tool)


def _most_memory() -> int:
    """The most that this process ever had in use, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

"""One code agent and 100 runs at once: each with its own sandbox, tools, notes and signals."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import pytest
from tests.support.coding import block, result_of
from tests.support.execution import sandbox_processes
from tests.support.waits import soon

from tinyagent import (
    Event,
    ModelRequest,
    RunContext,
    RunResult,
    ScriptedModel,
    SignalGiven,
    TinyCodeAgent,
    ToolStarted,
    TrustLevel,
)

RUNS = 100

FIRST = """
    number = int(fact(0))
    store('number', number)
    commit(f'it is {number}')
    open('mine.txt', 'w').write(str(number))
    print(number)
"""
SECOND = """
    twice = fact(number) + ' ' + open('mine.txt').read()
    final_answer([number, twice, recall('number')])
"""


def _answer(request: ModelRequest) -> str:
    return block(FIRST if len(request.messages) == 2 else SECOND)


@pytest.mark.timeout(180)
async def test_100_runs_of_one_agent_do_not_mix() -> None:
    together = asyncio.Barrier(RUNS)
    most = 0

    async def fact(key: int, run: RunContext) -> str:
        """Ask for a fact."""
        nonlocal most
        await together.wait()  # all sessions live, each in the middle of a block
        if not most:
            most = len(sandbox_processes())
        return run.task if key == 0 else f"{run.task}+{key}"

    agent = TinyCodeAgent(ScriptedModel(_answer), [fact], output_type=list)
    before = sandbox_processes()

    async def stream(number: int) -> RunResult[list[object]]:
        async with aclosing(agent.stream(str(number))) as events:
            seen: list[Event] = [event async for event in events]
        signals = [event.signal.message for event in seen if isinstance(event, SignalGiven)]
        assert signals == [f"it is {number}"]
        assert sum(isinstance(event, ToolStarted) for event in seen) == 2
        return result_of(seen)

    results = await asyncio.gather(
        *(stream(n) if n % 2 else agent.run(str(n)) for n in range(RUNS))
    )
    for number, result in enumerate(results):
        assert result.output == [number, f"{number}+{number} {number}" if number else "0 0", number]
        assert [signal.message for signal in result.signals] == [f"it is {number}"]
        assert [artifact.data for artifact in result.artifacts] == [str(number).encode()]
        assert result.steps[0].observation.startswith(str(number))
    # A session is its holder and the fork of the step that runs.
    assert most - len(before) <= 2 * RUNS + 8
    await soon(lambda: len(sandbox_processes()) <= len(before) + 8)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("level", [TrustLevel.ISOLATED, TrustLevel.LOCAL])
async def test_half_of_100_runs_are_cancelled_and_gone(level: TrustLevel) -> None:
    arrived, let_go = asyncio.Semaphore(0), asyncio.Event()

    async def wait(number: int) -> int:
        """Wait until all are let go."""
        arrived.release()
        await let_go.wait()
        return number

    def answer(request: ModelRequest) -> str:
        number = int(request.messages[1].content)
        if number % 4 == 0:  # it is busy in its code
            return block("wait_a_moment()\nwhile True:\n    pass")
        return block(f"final_answer(wait({number}))")

    async def wait_a_moment() -> None:
        """Say that the code runs."""
        arrived.release()

    agent = TinyCodeAgent(
        ScriptedModel(answer), [wait, wait_a_moment], output_type=int, trust_level=level
    )
    numbers = range(RUNS if level is TrustLevel.ISOLATED else 20)
    before, idle = asyncio.all_tasks(), sandbox_processes()
    runs = [asyncio.create_task(agent.run(str(number))) for number in numbers]
    for _ in runs:
        await arrived.acquire()
    gone = [run for number, run in zip(numbers, runs, strict=True) if number % 2 == 0]
    running = sandbox_processes()
    started = time.monotonic()
    for run in gone:
        run.cancel()
    await asyncio.wait(gone)
    spent = time.monotonic() - started
    print(f"{len(gone)} of {len(runs)} runs were gone after {spent:.3f} s")  # noqa: T201 - the figure
    assert spent < 0.3
    assert all(run.cancelled() for run in gone)
    if level is TrustLevel.ISOLATED:
        await soon(lambda: len(sandbox_processes()) <= len(running) - len(gone))
    let_go.set()
    kept = await asyncio.gather(*(run for run in runs if run not in gone))
    assert [result.output for result in kept] == [number for number in numbers if number % 2]
    await soon(lambda: asyncio.all_tasks() == before)
    await soon(lambda: len(sandbox_processes()) <= len(idle) + 8)

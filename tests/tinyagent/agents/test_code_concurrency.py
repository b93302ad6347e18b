"""One code agent and 100 runs at once: each with its own sandbox, tools, notes and signals."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import pytest
from tests.support.coding import block, coder, result_of
from tests.support.cost import cost_of
from tests.support.execution import sandbox_processes
from tests.support.waits import soon

from tinyagent import (
    Event,
    Executor,
    RunContext,
    RunResult,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    ToolStarted,
)
from tinyagent.agents.code_reply import read_code_reply
from tinyagent.agents.options import CodeOptions
from tinyagent.core import ModelRequest, SignalGiven
from tinyagent.execution import ProcessExecutor

RUNS = 100
LOCAL_RUNS = 20
GONE_SECONDS = 30.0  # about one on two quiet cores; without the cancellation they never end
SETTLED = 10
READY = 1
"""A session may wait in the template; or, for a moment after it was taken, none does."""

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


def in_the_session() -> Executor:
    """An executor whose steps run in the session's only process."""
    return ProcessExecutor(Sandbox(checkpoints=0))


# The most that a session has in its second step. With forks: its first process, which runs no
# code, the one that holds the variables, and the step's own.
each_way = pytest.mark.parametrize(
    ("options", "most_each"),
    [
        pytest.param(CodeOptions(), 3, id="in forks"),
        pytest.param(CodeOptions(executor=in_the_session), 1, id="in the session"),
    ],
)


async def _idle_processes(options: CodeOptions) -> int:
    """How many stay from run to run: the template's, and a session that it may keep ready."""
    await TinyCodeAgent(coder("final_answer(1)"), **options).run("go")
    counts: list[int] = []

    def is_settled() -> bool:
        counts.append(len(sandbox_processes()))
        return len(counts) >= SETTLED and len(set(counts[-SETTLED:])) == 1

    await soon(is_settled)
    return counts[-1]


def _answer(request: ModelRequest) -> str:
    return block(FIRST if len(request.messages) == 2 else SECOND)


@pytest.mark.timeout(180)
@each_way
async def test_100_runs_of_one_agent_do_not_mix(options: CodeOptions, most_each: int) -> None:
    together = asyncio.Barrier(RUNS)
    counts: list[int] = []

    async def fact(key: int, run: RunContext) -> str:
        """Ask for a fact."""
        if await together.wait() == 0:  # all sessions live, each in the middle of a block
            counts.append(len(sandbox_processes()))
        await together.wait()
        return run.task if key == 0 else f"{run.task}+{key}"

    agent = TinyCodeAgent(ScriptedModel(_answer), [fact], output_type=list, **options)
    idle = await _idle_processes(options)

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
    print(f"{[count - idle for count in counts]} worker processes")  # noqa: T201 - the figure
    assert len(counts) == 2
    assert max(counts) - idle <= most_each * RUNS + READY
    await soon(lambda: len(sandbox_processes()) <= idle + READY)


async def test_a_long_run_keeps_no_more_than_the_last_states() -> None:
    counts: list[int] = []

    async def count(step: int) -> None:
        """Count the processes in the middle of a block."""
        counts.append(len(sandbox_processes()))

    idle = await _idle_processes(CodeOptions())
    blocks = [f"count({step})" for step in range(6)]
    await TinyCodeAgent(coder(*blocks, "final_answer(1)"), [count]).run("go")
    assert len(counts) == len(blocks)
    # The session's first process, two that hold the variables of the last two steps, the step's.
    assert max(counts) - idle <= 4 + READY


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("options", "count", "each"),
    [
        pytest.param(CodeOptions(), RUNS, 2, id="in forks"),
        pytest.param(CodeOptions(executor=in_the_session), RUNS, 1, id="in the session"),
        pytest.param(CodeOptions(sandbox=Sandbox("local")), LOCAL_RUNS, 2, id="local"),
    ],
)
async def test_half_of_100_runs_are_cancelled_and_gone(
    options: CodeOptions, count: int, each: int
) -> None:
    idle = await _idle_processes(options)
    arrived, let_go = asyncio.Semaphore(0), asyncio.Event()

    async def wait(number: int) -> int:
        """Wait until the test lets all continue."""
        arrived.release()
        await let_go.wait()
        return number

    def answer(request: ModelRequest) -> str:
        number = int(request.messages[1].text)
        if number % 4 == 0:  # it is busy in its code
            return block("wait_a_moment()\nwhile True:\n    pass")
        return block(f"final_answer(wait({number}))")

    async def wait_a_moment() -> None:
        """Say that the code runs."""
        arrived.release()

    agent = TinyCodeAgent(ScriptedModel(answer), [wait, wait_a_moment], output_type=int, **options)
    before = asyncio.all_tasks()
    runs = [asyncio.create_task(agent.run(str(number))) for number in range(count)]
    for _ in runs:
        await arrived.acquire()
    assert abs(len(sandbox_processes()) - idle - each * count) <= READY
    cancelled, others = runs[::2], runs[1::2]
    for run in cancelled:
        run.cancel()
    await asyncio.wait(cancelled, timeout=GONE_SECONDS)
    assert all(run.cancelled() for run in cancelled)
    left = each * len(others) + READY
    await soon(lambda: len(sandbox_processes()) - idle <= left, GONE_SECONDS)
    let_go.set()
    assert [result.output for result in await asyncio.gather(*others)] == list(range(1, count, 2))
    await soon(lambda: asyncio.all_tasks() == before)
    await soon(lambda: len(sandbox_processes()) <= idle + READY)


async def test_a_long_reply_is_not_read_on_the_event_loop() -> None:
    reply = block(
        "\n".join(f"x = [{n}, {n}, {n}]" for n in range(4_000)) + "\nfinal_answer('done')"
    )
    reading = cost_of(lambda: read_code_reply(reply))
    agent = TinyCodeAgent(ScriptedModel([reply]))
    began = time.thread_time()
    assert (await agent.run("go")).output == "done"
    assert time.thread_time() - began < reading / 2

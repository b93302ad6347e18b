"""A step while it runs: its deadline, its tool calls, being cancelled."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from tests.support.execution import (
    SPARE_SECONDS,
    hurry,
    isolated,
    sandbox_processes,
    value_of,
    within,
)
from tests.support.waits import cancelled, soon

from tinyagent.execution.sandbox.calls import ToolReply
from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.follow import Bounds, Follower, HostService, StepEnding
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind
from tinyagent.execution.sandbox.worker.session.link import Link
from tinyagent.execution.trust import ExecutionLimits


async def until_printed(executor: ProcessExecutor, code: str) -> asyncio.Task[Any]:
    """The step, running, once it has printed."""
    printed: list[str] = []
    task = asyncio.create_task(executor.run(code, on_output=printed.append))
    await soon(lambda: printed)
    return task


@pytest.mark.parametrize("checkpoints", [0, 8])
async def test_a_cancelled_step_leaves_no_process(checkpoints: int) -> None:
    async with isolated(checkpoints=checkpoints) as executor:
        await value_of(executor, "n = 1")
        before = sandbox_processes()
        code = "n = 2\nprint('on')\nimport os\nwhile True: pass"
        if checkpoints:
            code = code.replace("import os", "import os\nos.fork()\nos.fork()")
        step = await until_printed(executor, code)
        if checkpoints:
            assert len(sandbox_processes() - before) >= 1
        await cancelled(step, SPARE_SECONDS)
        await soon(lambda: sandbox_processes() <= before, SPARE_SECONDS)
        if checkpoints:
            assert await value_of(executor, "n") == 1
        else:
            assert "NameError" in ((await executor.run("n")).error or "")


async def test_a_limit_too_short_for_the_fork_loses_nothing() -> None:
    async with isolated() as executor:
        await value_of(executor, "n = 1")
        hurry(executor, 0.0001)
        for _ in range(10):
            result = await executor.run("n = 2\nwhile True: pass")
            assert result.timed_out
            assert not result.state_lost
        hurry(executor, 20)
        assert await value_of(executor, "n") == 1


TAKES_TIME: dict[str, Callable[[], object]] = {
    "async": lambda: asyncio.sleep(0.6),
    "sync": lambda: time.sleep(0.6),
}


@pytest.mark.parametrize("tool", TAKES_TIME.values(), ids=TAKES_TIME)
async def test_time_in_a_tool_does_not_count(tool: Callable[[], object]) -> None:
    async with isolated() as executor:
        executor.inject("wait", tool)
        await value_of(executor, "n = 1")
        hurry(executor, 1)
        result = await executor.run("wait()\nwait()\n'done'")
        assert (result.error, result.value) == (None, "done")
        assert result.duration_seconds > 1.1
        hurry(executor, 0.3)
        assert (await executor.run("wait()\nwhile True: pass")).timed_out


async def test_a_tool_that_never_ends_is_left_when_the_run_is_cancelled() -> None:
    async with isolated() as executor:
        await value_of(executor, "n = 1")
        before = sandbox_processes()
        called, ended = asyncio.Event(), asyncio.Event()

        async def tool() -> None:
            called.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        executor.inject("tool", tool)
        step = asyncio.create_task(executor.run("n = 2\ntool()"))
        await called.wait()
        await cancelled(step, SPARE_SECONDS)
        assert ended.is_set()
        await soon(lambda: sandbox_processes() <= before, SPARE_SECONDS)
        assert await value_of(executor, "n") == 1


async def test_what_a_tool_raises_that_is_not_a_failure_ends_the_run() -> None:
    class RunIsOver(BaseException):
        pass

    async def tool() -> None:
        raise RunIsOver

    async with isolated() as executor:
        await value_of(executor, "n = 1")
        executor.inject("tool", tool)
        with pytest.raises(RunIsOver):
            await executor.run("n = 2\ntool()")
        assert await value_of(executor, "n") == 1


FINALS = {
    "plain": "final_answer(42)\nx = 'not reached'",
    "in a function": "def f():\n    final_answer(42)\nf()\nx = 'not reached'",
    "in a loop": "for n in range(9):\n    if n == 3: final_answer(42)\n    assert n < 3",
    "in try and except": (
        "try:\n    final_answer(42)\nexcept Exception:\n    x = 'not reached'\nx = 'not reached'"
    ),
    "in try and finally": "try:\n    final_answer(42)\nfinally:\n    print('done')",
    "in a comprehension": "[final_answer(n) for n in [42, 43]]",
    "by name": "final_answer(value=42)",
    "as the last expression": "final_answer(42)",
}


@pytest.mark.parametrize("code", FINALS.values(), ids=FINALS)
async def test_final_answer_ends_the_step(code: str) -> None:
    async with isolated() as executor:
        await value_of(executor, "x = 1")
        result = await executor.run(code)
        assert (result.is_final, result.final_value, result.error) == (True, 42, None)
        assert (result.final_metadata, result.value, result.timed_out) == ({}, None, False)
        assert await value_of(executor, "x") == 1


async def test_only_the_first_final_answer_counts_whatever_the_code_catches() -> None:
    async with isolated() as executor:
        code = "try:\n    final_answer(1)\nexcept:\n    x = 2\nfinal_answer(3)"
        result = await executor.run(code)
        assert (result.is_final, result.final_value, result.error) == (True, 1, None)


async def test_code_that_catches_the_final_answer_does_nothing_more() -> None:
    calls: list[str] = []
    async with isolated(within(10)) as executor:
        executor.inject("tool", lambda: calls.append("called"))
        await value_of(executor, "n = 1")
        code = "try:\n    final_answer(1)\nexcept BaseException:\n    pass\nn = 2\n"
        result = await executor.run(
            code + "try:\n    tool()\nexcept BaseException: pass\nwhile True: pass"
        )
        assert (result.is_final, result.final_value, result.error) == (True, 1, None)
        assert not result.timed_out
        assert calls == []
        assert await value_of(executor, "n") == 1


async def test_a_final_answer_has_metadata_and_data() -> None:
    async with isolated() as executor:
        code = "final_answer({'rows': [1, (2,)]}, confidence=0.5, source='a')"
        result = await executor.run("print('text')\n" + code)
    assert result.final_value == {"rows": [1, (2,)]}
    assert result.final_metadata == {"confidence": 0.5, "source": "a"}
    assert result.output == "text\n"


@pytest.mark.parametrize(
    "code",
    [
        "_final_result = 42",
        "final_answer = lambda value: value\nfinal_answer(1)",
        "class FinalAnswerGiven(BaseException): pass\nraise FinalAnswerGiven(1)",
        "print('FINAL ANSWER: 42')",
        "is_final = True\nfinal_value = 1",
        "final_answer",
    ],
)
async def test_nothing_but_the_helper_gives_a_final_answer(code: str) -> None:
    async with isolated() as executor:
        result = await executor.run(code)
        assert not result.is_final
        assert result.final_value is None
        real = await executor.run("final_answer(2)")
        assert (real.is_final, real.final_value) == (True, 2)


async def test_a_wrong_call_of_final_answer_is_the_codes_error() -> None:
    async with isolated() as executor:
        result = await executor.run("final_answer()")
        assert "TypeError" in (result.error or "")
        assert not result.is_final


async def test_without_checkpoints_a_final_answer_may_be_followed_by_an_endless_loop() -> None:
    async with isolated(checkpoints=0) as executor:
        code = "try:\n    final_answer(1)\nexcept BaseException:\n    while True: pass"
        result = await executor.run(code)
        assert (result.is_final, result.final_value, result.error) == (True, 1, None)
        assert await value_of(executor, "2") == 2


async def test_the_loop_stays_free_while_code_prints_without_end() -> None:
    async with isolated() as executor:
        await value_of(executor, "n = 1")
        hurry(executor, 0.5)
        step = asyncio.create_task(executor.run("while True: print('x')"))
        longest, last = 0.0, time.thread_time()
        while not step.done():
            await asyncio.sleep(0.001)
            longest, last = max(longest, time.thread_time() - last), time.thread_time()
        assert (await step).timed_out
        assert longest < 0.2  # of processor time


async def test_many_executors_side_by_side_do_not_wait_for_each_other() -> None:
    async with isolated() as one, isolated() as other:
        await asyncio.gather(one.run("n = 1"), other.run("n = 2"))
        step = await until_printed(one, "print('on')\nwhile True: pass")
        assert await value_of(other, "n + 1") == 3
        assert not step.done()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert await value_of(one, "n") == 1


class Forked:
    """A step in a fork, played by the test, and what follows it."""

    def __init__(self) -> None:
        self._channels: list[Channel] = []
        self.step, self.holder = self._end(), self._end()
        self.turn = StepCollector(ExecutionLimits(), None)
        service = HostService(self._answer, frozenset(), lambda _stop: None)
        self.follower = Follower(self.turn, service, *self._channels)

    def end_of_step(self) -> None:
        ending = {"token": "", "error": None, "out_of_memory": False, "value": 1}
        rest = {"value_text": "1", "tail": "", "skipped": 0, "remarks": []}
        self.step.send(Kind.DONE, {**ending, **rest})

    def close(self) -> None:
        for channel in self._channels:
            channel.close()
        for link in (self.step, self.holder):
            link.close()

    def _end(self) -> Link:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        self._channels.append(Channel(ours))
        return Link(theirs)

    async def _answer(self, call: Frame) -> ToolReply:
        raise AssertionError(call)


@pytest.fixture
async def forked() -> AsyncGenerator[Forked]:
    """A step that says nothing yet."""
    played = Forked()
    yield played
    played.close()


async def test_a_step_is_over_only_when_its_process_is_known(forked: Forked) -> None:
    following = asyncio.create_task(forked.follower.follow(Bounds(20)))
    forked.end_of_step()
    await soon(lambda: forked.turn.is_done)
    assert not following.done()
    forked.step.send(Kind.FORKED, {"pid": 7})
    assert await following is StepEnding.DONE
    assert forked.follower.pid == 7


async def test_an_end_that_is_reported_before_the_fork_counts(forked: Forked) -> None:
    following = asyncio.create_task(forked.follower.follow(Bounds(20)))
    forked.holder.send(Kind.EXITED, {"pid": 5, "status": 0})
    forked.holder.send(Kind.EXITED, {"pid": 7, "status": 9})
    await soon(lambda: forked.follower._last_exit == (7, 9))
    assert not following.done()
    forked.step.send(Kind.FORKED, {"pid": 7})
    assert await following is StepEnding.DIED
    assert forked.follower.status == 9


async def test_the_end_of_an_earlier_step_does_not_count(forked: Forked) -> None:
    following = asyncio.create_task(forked.follower.follow(Bounds(20)))
    forked.step.send(Kind.FORKED, {"pid": 7})
    forked.holder.send(Kind.EXITED, {"pid": 5, "status": 9})
    await soon(lambda: forked.follower._last_exit == (5, 9))
    assert not following.done()
    forked.end_of_step()
    assert await following is StepEnding.DONE
    assert forked.follower.status is None

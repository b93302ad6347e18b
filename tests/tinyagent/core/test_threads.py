from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest
from tests.support.waits import SECONDS

from tinyagent.core.threads import run_in_thread

number: contextvars.ContextVar[int] = contextvars.ContextVar("number")


async def test_the_function_runs_in_another_thread_and_gives_its_result() -> None:
    assert await run_in_thread(lambda a: (a, threading.get_ident()), a=1) != (
        1,
        threading.get_ident(),
    )
    assert await run_in_thread(lambda a: a, a=1) == 1


async def test_the_function_sees_the_context_of_its_caller() -> None:
    number.set(7)
    assert await run_in_thread(number.get) == 7


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), asyncio.CancelledError()])
async def test_whatever_the_function_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await run_in_thread(fail)
    assert caught.value is error


async def test_many_calls_run_side_by_side() -> None:
    barrier = threading.Barrier(50, timeout=30)
    await asyncio.gather(*(run_in_thread(barrier.wait) for _ in range(50)))


async def test_the_result_of_an_abandoned_call_is_dropped() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        entered.set()
        leave.wait()

    task = asyncio.create_task(run_in_thread(work))
    await run_in_thread(entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()


def test_a_function_that_never_returns_does_not_hold_up_the_end_of_the_process() -> None:
    program = """
import asyncio, threading
from tinyagent.core.threads import run_in_thread

async def main():
    entered = threading.Event()
    task = asyncio.create_task(run_in_thread(lambda: (entered.set(), threading.Event().wait())))
    await run_in_thread(entered.wait)
    task.cancel()

asyncio.run(main())
print("ended")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")

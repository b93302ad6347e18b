import asyncio
from threading import Event

import pytest

from skillian.tasks import run_interruptible


async def test_an_error_comes_back_as_it_is() -> None:
    def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await run_interruptible(work, lambda: None)


async def test_a_cancelled_caller_interrupts_until_the_work_has_ended() -> None:
    started, stopped = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()
    calls: list[int] = []

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        assert stopped.wait(10)

    def interrupt() -> None:
        calls.append(1)
        if len(calls) == 3:  # the first two were lost
            stopped.set()

    task = asyncio.create_task(run_interruptible(work, interrupt))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    assert len(calls) >= 3

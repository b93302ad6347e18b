import asyncio
from threading import Event

import pytest

from skillian.errors import QueryError
from skillian.tasks import SingleFlight, run_interruptible, together


class Work:
    """Something slow that counts how often it is begun, and ends when the test lets it."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.begun = 0
        self.cancelled = 0
        self.go = asyncio.Event()

    async def run(self) -> int:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fails:
            raise ValueError("no")
        return self.begun


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_many_who_ask_at_once_share_one_answer_for_each_key() -> None:
    work, other, flights = Work(), Work(), SingleFlight[int]()
    asking = [asyncio.create_task(flights.run("key", work.run)) for _ in range(50)]
    asking.append(asyncio.create_task(flights.run("other", other.run)))
    await turns()
    assert (work.begun, other.begun) == (1, 1)
    work.go.set()
    other.go.set()
    assert await asyncio.gather(*asking) == [1] * 51
    assert await flights.run("key", work.run) == 2  # what has ended is not kept


async def test_all_waiting_callers_get_the_failure() -> None:
    work, flights = Work(fails=True), SingleFlight[int]()
    asking = [asyncio.create_task(flights.run("key", work.run)) for _ in range(3)]
    await turns()
    work.go.set()
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(error) for error in results] == ["no"] * 3


async def test_one_who_leaves_takes_nothing_from_the_others() -> None:
    work, flights = Work(), SingleFlight[int]()
    first, second = (asyncio.create_task(flights.run("key", work.run)) for _ in range(2))
    await turns()
    first.cancel()
    await turns()
    assert not work.cancelled
    work.go.set()
    assert await second == 1


async def test_the_last_who_leaves_ends_the_work() -> None:
    work, flights = Work(), SingleFlight[int]()
    asking = [asyncio.create_task(flights.run("key", work.run)) for _ in range(2)]
    await turns()
    assert all(task.cancel() for task in asking)
    await asyncio.wait(asking)
    assert all(task.cancelled() for task in asking)
    assert (work.begun, work.cancelled) == (1, 1)
    again = asyncio.create_task(flights.run("key", work.run))
    await turns()
    work.go.set()
    assert await again == 2


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
    for _ in range(3):  # whoever cancels it again has to wait, too
        task.cancel()
        await turns()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    assert len(calls) >= 3


async def test_a_failure_does_not_hide_a_cancellation() -> None:
    async def closed() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise QueryError("the connection is closed") from None

    asking = asyncio.create_task(together(closed(), closed()))
    await turns()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(QueryError):
        await together(asyncio.wait_for(closed(), 0.001))

"""Work that takes long: shared by its callers, in threads that can be stopped, and its phases.

A caller names the function that is called with each phase, for all that it then awaits; without
one, phases are not reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Hashable
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Thread
from typing import Any, Generic, TypeVar

from skillian.errors import too_slow

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Called with the name of a source and the number of its rows that have arrived."""

_report: ContextVar[Callable[[str], None] | None] = ContextVar("report", default=None)
_INTERRUPT_INTERVAL_SECONDS = 0.01


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Shares running work by key; results are not cached."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, or of the work that already runs for this key.

        The work is cancelled when the last caller that waits for it is. Raises what it raises.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda task: self._forget(key, task))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight.task)  # a later caller starts new work
                flight.task.cancel()
                with suppress(asyncio.CancelledError):
                    await flight.task

    def _forget(self, key: Hashable, task: asyncio.Task[T]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Run all at once and return their results; the first failure cancels the others.

    If the caller is cancelled, that is raised, and not what failed because of it. (A `TaskGroup` of
    Python 3.11 cancels its own task when a child fails, and never says that this is over.)
    """
    tasks = [asyncio.ensure_future(one) for one in work]
    if not tasks:
        return []
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    failures = (task.exception() for task in tasks if task in ended and not task.cancelled())
    failure = next((each for each in failures if each is not None), None)
    if failure is not None:
        raise failure
    return [task.result() for task in tasks]


class BlockingCalls:
    """The calls into a blocking driver that run now, each in its own thread."""

    def __init__(self) -> None:
        self._running: list[Callable[[], None]] = []

    async def run(
        self, work: Callable[[], T], interrupt: Callable[[], None], seconds: float | None = None
    ) -> T:
        """What `work` returns; a cancelled caller, the time limit and `stop` interrupt it.

        Raises `QueryError` after `seconds`, and whatever `work` raises.
        """
        self._running.append(interrupt)
        try:
            async with asyncio.timeout(seconds):
                return await run_interruptible(work, interrupt)
        except TimeoutError:
            if seconds is None:
                raise
            raise too_slow(seconds) from None
        finally:
            self._running.remove(interrupt)

    async def stop(self) -> None:
        """Interrupt all of them, and wait until they have ended."""
        while self._running:
            for interrupt in tuple(self._running):
                interrupt()
            await asyncio.sleep(_INTERRUPT_INTERVAL_SECONDS)


async def run_interruptible(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """What `work` returns, run in its own thread; a cancelled caller interrupts it.

    `interrupt` is called repeatedly until `work` has ended, since a call just before a statement
    starts has no effect. A caller that is cancelled again waits for that end, too, so that nothing
    else uses the connection before. Raises whatever `work` raises.
    """
    done: Future[T] = Future()
    # A daemon, so that a statement that never ends cannot hold up the interpreter's exit.
    Thread(target=_deliver, args=(work, done), name="skillian-statement", daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except asyncio.CancelledError:
        ending = asyncio.create_task(_interrupted(done, interrupt))
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ending)
        raise


async def _interrupted(done: Future[T], interrupt: Callable[[], None]) -> None:
    while not done.done():
        interrupt()
        await asyncio.sleep(_INTERRUPT_INTERVAL_SECONDS)


def _deliver(work: Callable[[], T], done: Future[T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the awaiting task raises it
        done.set_exception(error)
    else:
        done.set_result(result)


@contextmanager
def reporting(report: Callable[[str], None]) -> Generator[None]:
    """Report each phase to a function until the context ends."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


@contextmanager
def within(words: str) -> Generator[None]:
    """Put these words before the phases that are reported until the context ends."""
    outer = _report.get()
    if outer is None:
        yield
        return
    outer(words)
    with reporting(lambda phase: outer(f"{words}: {phase}")):
        yield


def phase(words: str, rows: int | None = None) -> None:
    """Report what begins or continues, such as `joining`, and how many rows it has had so far."""
    report = _report.get()
    if report is not None:
        report(words if rows is None else f"{words}: {rows:,} rows")

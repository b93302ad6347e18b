"""Blocking work in a thread that a cancelled task stops."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from skillian.errors import too_slow

T = TypeVar("T")

_INTERRUPT_INTERVAL_SECONDS = 0.01


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
    starts has no effect. Raises whatever `work` raises.
    """
    done: Future[T] = Future()
    # A daemon, so that a statement that never ends cannot hold up the interpreter's exit.
    Thread(target=_deliver, args=(work, done), name="skillian-statement", daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except asyncio.CancelledError:
        while not done.done():
            interrupt()
            await asyncio.sleep(_INTERRUPT_INTERVAL_SECONDS)
        raise


def _deliver(work: Callable[[], T], done: Future[T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the awaiting task raises it
        done.set_exception(error)
    else:
        done.set_result(result)

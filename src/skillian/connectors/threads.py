"""Blocking work in a thread that a cancelled task stops."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_INTERRUPT_AGAIN_SECONDS = 0.01


async def run_interruptible(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Return what `work` returns, run in its own thread; a cancelled caller interrupts it.

    `interrupt` is called again and again until `work` has ended, since a call that comes just
    before a statement starts is lost. Raises whatever `work` raises.
    """
    done: Future[T] = Future()
    # A daemon, so that a statement that never ends cannot hold up the interpreter's exit.
    Thread(target=_deliver, args=(work, done), name="skillian-statement", daemon=True).start()
    try:
        return await asyncio.wrap_future(done)
    except asyncio.CancelledError:
        while not done.done():
            interrupt()
            await asyncio.sleep(_INTERRUPT_AGAIN_SECONDS)
        raise


def _deliver(work: Callable[[], T], done: Future[T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - a thread has no caller: the awaiting task gets it
        done.set_exception(error)
    else:
        done.set_result(result)

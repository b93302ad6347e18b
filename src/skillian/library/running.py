"""Runs a coroutine for a caller that does not await, also where an event loop runs already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns; an interrupted caller cancels it, and waits for its end.

    In a notebook an event loop runs in this thread already: then it has a thread of its own.
    """
    return _in_thread(work) if _is_in_loop() else asyncio.run(work)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(_awaited(task))

    with ThreadPoolExecutor(1, "skillian-comparison") as thread:
        done = thread.submit(run)
        try:
            return done.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(task.cancel)
            raise


async def _awaited(task: asyncio.Task[T]) -> T:
    return await task

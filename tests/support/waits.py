"""Waiting for a condition, with a deadline: no test waits for a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

_PAUSE_SECONDS = 0.003
SECONDS = 60.0
"""How long a test waits for what only needs to happen: a machine may be ten times slower."""


def until(condition: Callable[[], object], seconds: float = SECONDS) -> float:
    """Wait until the condition holds; gives the seconds that it took.

    Raises:
        AssertionError: it does not hold in time.
    """
    started = time.monotonic()
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < started + seconds, f"not within {seconds} s: {condition}"
        pause.wait(_PAUSE_SECONDS)
    return time.monotonic() - started


async def soon(condition: Callable[[], object], seconds: float = SECONDS) -> float:
    """As `until`, while the event loop goes on."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() < started + seconds, f"not within {seconds} s: {condition}"
        await asyncio.sleep(_PAUSE_SECONDS)
    return time.monotonic() - started


def endless(events: list[str]) -> Callable[..., Awaitable[None]]:
    """Work that only a cancellation ends; it adds `began` and `ended` to the events."""

    async def work(*_: object) -> None:
        events.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    return work


async def cancelled(task: asyncio.Task[Any], seconds: float = 20.0) -> None:
    """Cancel a task and wait for its end.

    The bound is generous to a busy machine, and below the time limit of a statement.

    Raises:
        AssertionError: it goes on, or ends otherwise.
    """
    task.cancel()
    await asyncio.wait([task], timeout=seconds)
    assert task.cancelled(), f"not cancelled within {seconds} s"


async def executing(task: asyncio.Task[Any], seconds: float = 0.2) -> None:
    """Return when work in this process has used so much processor time.

    Raises:
        AssertionError: the task ends before.
    """
    start = time.process_time()
    while time.process_time() - start < seconds:
        await asyncio.wait([task], timeout=0.01)
        assert not task.done()

"""Waiting for a condition, with a deadline: no test waits for a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

_PAUSE_SECONDS = 0.003


def until(condition: Callable[[], object], seconds: float = 45.0) -> float:
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


async def soon(condition: Callable[[], object], seconds: float = 45.0) -> float:
    """As `until`, while the event loop goes on."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() < started + seconds, f"not within {seconds} s: {condition}"
        await asyncio.sleep(_PAUSE_SECONDS)
    return time.monotonic() - started

"""How much work something is, in processor time: other work on the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Callable

_TRIES = 5


def cost_of(work: Callable[[], object]) -> float:
    """Seconds of this thread's processor time that `work` takes, the best of a few tries."""
    return min(_once(work) for _ in range(_TRIES))


def _once(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started

"""Time limits for Python code: one watchdog thread for all, which raises in the late thread.

The exception is set from outside (`PyThreadState_SetAsyncExc`) and raised at the thread's next
look at the eval breaker: at the start of a Python function, at a backward jump, after a call. Two
things keep it inside its block:

- the watchdog's test of `live` and its strike have no such point between them, so the GIL is not
  handed over and the thread is still in the block when it is struck;
- a block is left through C (`io.IOBase.__exit__`, which calls `close`) into a generator that waits
  inside a `try`. A Python `__exit__` would itself be a place to be struck, before its first line.

Nothing here takes a lock: a thread that is interrupted while it holds one would never release it.
"""

from __future__ import annotations

import ctypes
import heapq
import io
import itertools
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Self, cast

from tinyagent.core.errors import ExecutionTimeout

REPEAT_SECONDS = 0.02
"""How long a struck thread has before the next strike."""
_NOT_YET_SECONDS = 0.001
_CROWD = 256

_SYMBOL = ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
_strike = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(_SYMBOL)
_spare = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(_SYMBOL)
_numbers = itertools.count()  # watches of one time are not compared


def deadline(seconds: float) -> AbstractContextManager[None]:
    """Stop what this thread does inside the block after `seconds`, and never what comes after it.

    A call into C is stopped when it returns. Code that swallows the error is struck again until
    the block is left. Blocks may be nested.

    Raises:
        ExecutionTimeout: The time is over.
    """
    return cast("AbstractContextManager[None]", _Watch(seconds))


class _Watch(io.IOBase):
    """The time limit of one block in one thread.

    Args:
        seconds: From the start of the block.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._thread = 0
        self._due = math.inf
        self._is_late = self._live = False
        self.is_done = False
        """Whether the block was left."""

    def __enter__(self) -> Self:
        leave = self._leave()
        next(leave)
        vars(self)["close"] = partial(next, leave, None)
        self._thread = threading.get_ident()
        self._due = time.monotonic() + self._seconds
        _watchdog.watch(self, self._due)
        self._live = True
        return self

    def _leave(self) -> Iterator[None]:
        """Waits for the end of the block, which resumes it inside the `try`."""
        try:
            yield
            self._live = False
        except ExecutionTimeout:
            self._live = False  # struck at the very end: the block is done, so nothing is late
        finally:
            self._live = False
            _spare(self._thread, None)
            self.is_done = True
        error = sys.exception()
        if self._is_late and type(error) is ExecutionTimeout and not error.args:
            error.args = (f"not finished within {self._seconds:g} s",)

    def strike(self) -> float | None:
        """Raise in the thread if it is late; gives when to come again, None for never."""
        if self.is_done:
            return None
        now = time.monotonic()
        if self._due > now:
            return self._due
        self._is_late = True
        again = now + (REPEAT_SECONDS if self._live else _NOT_YET_SECONDS)
        strike = _strike
        if self._live:  # nothing but the call may follow: see the module's docstring
            strike(self._thread, ExecutionTimeout)
        return again


class _Watchdog:
    """The one thread that strikes. Its heap is its own; others put into its inbox."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[float, int, _Watch]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def watch(self, watch: _Watch, due: float) -> None:
        self._inbox.put((due, next(_numbers), watch))
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="tinyagent-watchdog", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        heap: list[tuple[float, int, _Watch]] = []
        crowd = _CROWD
        while True:
            wait = max(heap[0][0] - time.monotonic(), 0) if heap else None
            try:
                heapq.heappush(heap, self._inbox.get(timeout=wait))
            except queue.Empty:
                self._strike_late(heap)
            if len(heap) > crowd:
                heap = [item for item in heap if not item[2].is_done]
                heapq.heapify(heap)
                crowd = max(_CROWD, 2 * len(heap))

    @staticmethod
    def _strike_late(heap: list[tuple[float, int, _Watch]]) -> None:
        now = time.monotonic()
        while heap and heap[0][0] <= now:
            _, number, watch = heapq.heappop(heap)
            again = watch.strike()
            if again is not None:
                heapq.heappush(heap, (again, number, watch))


_watchdog = _Watchdog()


def _after_fork() -> None:
    """A fork has no threads but its own: the watchdog starts again."""
    global _watchdog  # noqa: PLW0603 - one for the whole process
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_after_fork)

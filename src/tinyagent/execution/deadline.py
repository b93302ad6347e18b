"""Time limits for Python code: one watchdog thread for all, which raises in the late thread.

The exception is set from outside (`PyThreadState_SetAsyncExc`) and raised at the thread's next
look at the eval breaker: at the start of a Python function, at a backward jump, after a call. Two
things keep it inside its block:

- the watchdog's test of `live` and its strike have no such point between them, so the GIL is not
  handed over and the thread is still in the block when it is struck;
- a block is left through C (`io.IOBase.__exit__`, which calls `close`) into a generator that waits
  inside a `try`. A Python `__exit__` would itself be a place to be struck, before its first line.

Nothing here takes a lock: a thread that is struck while it holds one would keep it for ever.
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
_versions = itertools.count()


def deadline(seconds: float) -> AbstractContextManager[None]:
    """Stop what this thread does inside the block after `seconds`; never what comes after it.

    A call into C is stopped when it returns. Code that swallows the error is struck again until
    the block is left. Blocks may be nested.

    Raises:
        ExecutionTimeout: the time is over.
    """
    return cast("AbstractContextManager[None]", Watch(seconds, ExecutionTimeout))


class Watch(io.IOBase):
    """The time limit of one block in one thread; `over` says that the time has passed.

    Args:
        seconds: from the start of the block, pauses not counted.
        error: what is raised, a class that can be made without arguments.
    """

    def __init__(self, seconds: float, error: type[BaseException]) -> None:
        super().__init__()
        self.error = error
        self.over = False
        self.version = -1
        self._seconds = seconds
        self._thread = 0
        self._due = math.inf
        self._left = seconds
        self._live = self._paused = self._done = False

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
        except self.error:
            self._live = False  # struck at the very end: the block is done, so nothing is late
        finally:
            self._live = False
            _spare(self._thread, None)
            self._done = True
        self._explain(sys.exception())

    def _explain(self, error: BaseException | None) -> None:
        if self.over and type(error) is ExecutionTimeout and not error.args:
            error.args = (f"not finished within {self._seconds:g} s",)

    @property
    def remaining(self) -> float:
        """Seconds left, less than 0 when late."""
        return self._left if self._paused else self._due - time.monotonic()

    @property
    def paused(self) -> bool:
        """Whether the clock stands still."""
        return self._paused

    def pause(self) -> None:
        """Stop the clock; until `resume` nothing is raised. For the watched thread itself."""
        self._live = False
        _spare(self._thread, None)
        self._left = self._due - time.monotonic()
        self._paused = True

    def resume(self) -> None:
        """Let the clock go on."""
        if self._done:
            return
        self._due = time.monotonic() + (0 if self.over else self._left)
        self._paused = False
        _watchdog.watch(self, self._due)
        self._live = True

    def expire(self) -> None:
        """End the block now, from any thread; a paused one when it resumes."""
        self.over = True
        self._due = time.monotonic()
        _watchdog.watch(self, self._due)

    def strike(self) -> float | None:
        """Raise in the thread if it is late; when to come again, None for never."""
        if self._done or self._paused:
            return None
        now = time.monotonic()
        if self._due > now:
            return self._due
        self.over = True
        again = now + (REPEAT_SECONDS if self._live else _NOT_YET_SECONDS)
        strike = _strike
        if self._live:  # nothing but the call may follow: see the module's docstring
            strike(self._thread, self.error)
        return again

    @property
    def is_done(self) -> bool:
        """Whether the block was left."""
        return self._done


class _Watchdog:
    """The one thread that strikes. Its heap is its own; others put into its inbox."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[float, int, Watch]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def watch(self, watch: Watch, due: float) -> None:
        version = watch.version = next(_versions)
        self._inbox.put((due, version, watch))
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="tinyagent-watchdog", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        heap: list[tuple[float, int, Watch]] = []
        crowd = _CROWD
        while True:
            wait = max(heap[0][0] - time.monotonic(), 0) if heap else None
            try:
                heapq.heappush(heap, self._inbox.get(timeout=wait))
            except queue.Empty:
                self._strike_late(heap)
            if len(heap) > crowd:
                heap = [item for item in heap if item[2].version == item[1] and not item[2].is_done]
                heapq.heapify(heap)
                crowd = max(_CROWD, 2 * len(heap))

    @staticmethod
    def _strike_late(heap: list[tuple[float, int, Watch]]) -> None:
        now = time.monotonic()
        while heap and heap[0][0] <= now:
            _, version, watch = heapq.heappop(heap)
            again = watch.strike() if version == watch.version else None
            if again is not None:
                heapq.heappush(heap, (again, version, watch))


_watchdog = _Watchdog()


def _after_fork() -> None:
    """A fork has no threads but its own: the watchdog starts anew."""
    global _watchdog  # noqa: PLW0603 - one for the whole process
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_after_fork)

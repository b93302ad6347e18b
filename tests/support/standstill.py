"""Standstill: whether this machine stood still for a while, as a virtual one that is paused does.

A process of its own notes when it was not woken in time: what holds up the tests' process alone
does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

_TRIES = 3  # other work may take the cores for that long
_WATCH = """
import json, select, sys, time
gaps, before = [], time.monotonic()
while True:
    ready, _, _ = select.select([sys.stdin], [], [], 0.05)
    now = time.monotonic()
    if now - before > 1:
        gaps = [*gaps[-99:], (before, now)]
    before = now
    if ready and not sys.stdin.readline():
        break
    if ready:
        print(json.dumps(gaps), flush=True)
"""


class Watch:
    """The watching process; between `start` and `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds_since(self, moment: float) -> float:
        """How long the machine has stood still since then (`time.monotonic`)."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("start() was not called")
        self._process.stdin.write("?\n")
        self._process.stdin.flush()
        gaps: list[tuple[float, float]] = json.loads(self._process.stdout.readline())
        return sum(max(0.0, end - max(start, moment)) for start, end in gaps)

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.communicate()


MACHINE = Watch()


async def shortest(measure: Callable[[], Awaitable[float]], enough: float) -> float:
    """The seconds that `measure` gives, without those in which the machine stood still.

    If they are not below `enough` it is measured again, three times at most.
    """
    spent: list[float] = []
    while not spent or (spent[-1] >= enough and len(spent) < _TRIES):
        began = time.monotonic()
        spent.append(await measure() - MACHINE.seconds_since(began))
    return spent[-1]

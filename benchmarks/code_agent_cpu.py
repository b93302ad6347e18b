"""CPU time of the processes that this one has started, and theirs, while they live and afterwards.

`getrusage` knows only of children that have ended, so a sandbox that lives on between runs is
invisible to it. Here each living descendant (an ended one that nobody has collected yet included)
is asked through /proc for its own time and that of the children that it has collected. The kernel
counts in ticks of 10 ms, per process and exactly in the sum: measure over many of them.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)  # of the fields behind the name; user and system, own and ended
_PAUSE_SECONDS = 0.01
_STILL = 5
_LATE_SECONDS = 10.0


def children_seconds() -> float:
    """CPU seconds of all processes below this one so far."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(int(ticks) for fields in _descendants() for ticks in fields[_TIMES])
    return ended.ru_utime + ended.ru_stime + living / _TICKS


def wait_for_children(most: int | None) -> int:
    """Wait until no more than so many live (None: until their number stays the same).

    Gives their number.

    Raises:
        TimeoutError: they do not end.
    """
    deadline = time.monotonic() + _LATE_SECONDS
    count, since = len(_descendants()), 0
    while (most is None and since < _STILL) or (most is not None and count > most):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{count} processes do not end")
        time.sleep(_PAUSE_SECONDS)
        now = len(_descendants())
        count, since = now, since + 1 if now == count else 0
    return count


def _descendants() -> list[list[bytes]]:
    """The fields of each process below this one."""
    fields: dict[int, list[bytes]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                fields[int(folder.name)] = (
                    (folder / "stat").read_bytes().rpartition(b")")[2].split()
                )
    found = new = {os.getpid()}
    while new:
        new = {pid for pid, values in fields.items() if int(values[_PARENT]) in new} - found
        found = found | new
    return [fields[pid] for pid in found - {os.getpid()} if pid in fields]

"""Forks by the code: the processes of a step share one budget of memory.

The kernel holds each process to its own limit (RLIMIT_DATA). The system-call filter asks the warden
before a process forks, so that parent and child get new limits while only the parent exists: the
limits of all running processes together never exceed that of a single one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import struct
from contextlib import suppress
from typing import NamedTuple

MAX_STACK = 2**23
"""Bytes of a main stack, which RLIMIT_DATA does not count."""

_RECEIVE, _SEND = 0xC050_2100, 0xC018_2101  # SECCOMP_IOCTL_NOTIF_...
_REQUEST_BYTES = 80
_CONTINUE = 1
_SHARES = 4  # of what is free, the child gets one, and the parent is left one
_PAGE = resource.getpagesize()
_MOST_BYTES = 1 << 14
_ONE_THREAD = 3  # links of its folder: itself, from above, and one for each thread
_OPENMP = b"/libgomp"
_OF_JEMALLOC = b"jemalloc_bg_thd\n"  # nobody waits for it


class Grant(NamedTuple):
    """A fork that was granted, and may not have happened yet.

    Args:
        pid: The process that forks.
        size: What its child may take.
    """

    pid: int
    size: int


class Forks:
    """Answers the requests of one session's processes to fork.

    Args:
        proc: A descriptor of the session's own /proc.
    """

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._whole = resource.getrlimit(resource.RLIMIT_DATA)[1] + MAX_STACK
        self._granted: dict[int, Grant] = {}
        self._seen: set[int] = set()

    def forget(self) -> None:
        """Drop all grants: every process is stopped, so they have been used or never will be."""
        self._granted.clear()

    def restore(self, pid: int) -> None:
        """Restore the first limit of a process, which forks have lowered."""
        with suppress(ProcessLookupError):
            hard = resource.prlimit(pid, resource.RLIMIT_DATA)[1]
            resource.prlimit(pid, resource.RLIMIT_DATA, (hard, hard))

    def answer(self, listener: int, states: list[int]) -> bool:
        """Answer a request; False if no process can make one any more.

        Args:
            listener: What `seccomp.listen_to_forks` gave.
            states: Processes that hold the variables of earlier steps, the newest last, which
                forks to run a step; the others are stopped.
        """
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        events = dict(poll.poll(0)).get(listener, 0)
        if not events & select.POLLIN:
            return not events & (select.POLLHUP | select.POLLERR)
        request = bytearray(_REQUEST_BYTES)
        with suppress(FileNotFoundError):  # a signal interrupted the request
            fcntl.ioctl(listener, _RECEIVE, request)
            number, thread = struct.unpack_from("=QI", request)
            try:
                refusal = self._decide(thread, states)
            except (ProcessLookupError, FileNotFoundError):
                refusal = errno.EAGAIN  # it has ended
            flags = 0 if refusal else _CONTINUE
            fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", number, 0, -refusal, flags))
        return True

    def _decide(self, thread: int, states: list[int]) -> int:
        """0 if the thread may fork, otherwise the number of the error that it gets."""
        # The number of a process is that of its first thread.
        pid = thread if thread in states else self._number(thread, b"Tgid:")
        self._settle(thread)
        running = self._running(states)
        free = (
            self._whole - sum(running.values()) - sum(each.size for each in self._granted.values())
        )
        if pid in states:
            if free < self._whole:
                return errno.EAGAIN  # it has already forked for this step
            self._granted[thread] = Grant(pid, self._whole)
            return 0
        own = running.get(pid, self._whole)
        free += own
        used = self._used(pid)
        share = min(used + (free - 2 * used) // _SHARES, own)
        if share < used:
            return errno.ENOMEM
        hard = resource.prlimit(pid, resource.RLIMIT_DATA)[1]
        resource.prlimit(pid, resource.RLIMIT_DATA, (share - MAX_STACK, hard))
        if self._used(pid) > share:  # another thread of it was quicker
            return errno.ENOMEM
        self._granted[thread] = Grant(pid, share)
        return 0

    def _settle(self, asking: int) -> None:
        """Drop the grants of threads that have forked: they ask again, or have ended."""
        for thread in list(self._granted):
            if thread == asking or not os.access(f"{thread}", os.F_OK, dir_fd=self._proc):
                del self._granted[thread]

    def _running(self, states: list[int]) -> dict[int, int]:
        """The memory of each running process; a new process settles a grant of its parent."""
        running: dict[int, int] = {}
        for pid in set(members(self._proc)) - {1, *states}:
            with suppress(ProcessLookupError, FileNotFoundError):
                if not has_ended(self._proc, pid):
                    limit = resource.prlimit(pid, resource.RLIMIT_DATA)[0]
                    running[pid] = limit + MAX_STACK
                    if pid not in self._seen:
                        self._settle_one(self._number(pid, b"PPid:"))
        self._seen = set(running)
        return running

    def _settle_one(self, parent: int) -> None:
        grants = [
            (each.size, thread) for thread, each in self._granted.items() if each.pid == parent
        ]
        if grants:
            del self._granted[max(grants)[1]]

    def _used(self, pid: int) -> int:
        """The process's writable memory, with a stack of full size."""
        return int(read_small(self._proc, f"{pid}/statm").split()[5]) * _PAGE + MAX_STACK

    def _number(self, pid: int, field: bytes) -> int:
        lines = read_small(self._proc, f"{pid}/status").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def members(proc: int) -> list[int]:
    """The processes in a /proc."""
    return [int(name) for name in os.listdir(proc) if name.isdigit()]


def has_ended(proc: int, pid: int) -> bool:
    """Whether a process has ended; its parent may not have collected it."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return read_small(proc, f"{pid}/stat").rpartition(b")")[2].split()[0] in {b"Z", b"X"}
    return True


def thread_pool(proc: int, pid: int) -> str:
    """The name of a thread that a library keeps in this process, such as `polars-0`; or "".

    A fork has none of its parent's threads, and a library that waits for one waits for ever. Those
    without a name of their own count if GNU's OpenMP is loaded. All others without one notice a
    fork: single threads of Python (`adapt.name_pools` names those of its pools), PyArrow, DuckDB.
    """
    with suppress(FileNotFoundError, ProcessLookupError):
        if os.stat(f"{pid}/task", dir_fd=proc).st_nlink == _ONE_THREAD:
            return ""
        folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc)
        try:
            names = {read_small(folder, f"{thread}/comm") for thread in os.listdir(folder)}
        finally:
            os.close(folder)
        own = read_small(proc, f"{pid}/comm")
        others = sorted(names - {own, _OF_JEMALLOC})
        if others:
            return others[0].decode("ascii", "replace").strip()
        with open(os.open(f"{pid}/maps", os.O_RDONLY, dir_fd=proc), "rb") as maps:
            return "libgomp" if any(_OPENMP in line for line in maps) else ""
    return ""


def read_small(proc: int, path: str) -> bytes:
    """The content of a file in /proc of less than a page, which one call reads whole.

    Raises:
        FileNotFoundError: Its process had ended.
        ProcessLookupError: Its process has ended meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY, dir_fd=proc)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)

"""The warden of a session: the first process of its process namespace.

It ends what a step leaves running, and watches how much memory all processes take together. It
never runs the code, so the code cannot reach the /proc that it holds.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from socket import socketpair  # before it is replaced: the code's version returns a pipe

from ..branches import BranchFolders
from .forks import Forks, has_ended, members, read_small, thread_pool

_SWEEP_SECONDS = 0.2
_SHARE_OF_STATES = 0.2  # the part of all memory that earlier states may take
_OWN_FIELDS = (b"RssAnon:", b"RssShmem:")
_SHARED_FIELDS = (b"Pss_Anon:", b"Pss_Shmem:")


class Warden:
    """Watches the processes of one session.

    Args:
        proc: A descriptor of the namespace's /proc.
        max_bytes: The memory of all its processes together.
        branches: The files of the session's branches; None if it can have none.
    """

    def __init__(self, proc: int, max_bytes: int, branches: BranchFolders | None = None) -> None:
        self.proc = proc
        self.branches = branches
        self._max_bytes = max_bytes
        self._most_processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        self._keep: list[int] = []
        self._others: list[int] = []
        self._dropped: list[int] = []
        self._dying: list[int] = []
        self._sizes: dict[int, int] = {}
        """What earlier states take: measured once, because they are stopped."""
        self._forks = Forks(proc)
        self._inbox, self._outbox = socketpair()
        self._listeners: list[int] = []
        self.watching = False
        self._pool = ""
        """The thread pool of the newest state, which then runs the next step itself."""

    @property
    def descriptors(self) -> list[int]:
        """The descriptors for which `attend` is called once they can be read."""
        return [self._inbox.fileno(), *self._listeners]

    def attend(self, descriptor: int) -> None:
        """Accept a listener that a step hands over, or answer a process that wants to fork."""
        if descriptor == self._inbox.fileno():
            self._listeners += socket.recv_fds(self._inbox, 1, 1)[1]
        elif not self._forks.answer(descriptor, self._states()):
            self._listeners.remove(descriptor)
            os.close(descriptor)

    def _states(self) -> list[int]:
        """The processes that hold states and run no step themselves."""
        return [*self._others, *(self._keep[:-1] if self._pool else self._keep)]

    def note(self, keep: list[int], *, watch: bool, wake: bool, others: Sequence[int] = ()) -> None:
        """Set which processes to keep, oldest first, and whether to watch the memory.

        `wake` lets the newest continue, so that it forks a step. `others` hold the states of other
        branches, which are kept as well.
        """
        wanted = {*keep, *others}
        self._dropped += [pid for pid in (*self._others, *self._keep) if pid not in wanted]
        self._sizes = {pid: size for pid, size in self._sizes.items() if pid in keep[:-1]}
        if others or self._others:
            self._allow_processes(keep, len(others))
        self._keep, self._others = keep, list(others)
        self.watching = watch
        if wake:
            self._make_room()
            for pid in keep[-1:]:
                self._forks.restore(pid)
            self._wake_newest()

    def pause(self, *, stop: bool) -> None:
        """Stop all processes while the host runs a tool for the step, or let them continue.

        Earlier states stay as they are: each is stopped since its step ended.
        """
        if stop:
            _kill(-1, signal.SIGSTOP)
            return
        still = {1, *self._others, *self._keep[:-1], *self._dying, *self._dropped}
        for pid in set(members(self.proc)) - still:
            _kill(pid, signal.SIGCONT)

    def thread_pool(self) -> str:
        """The name of a thread of a library in the newest state, which no fork has; or ""."""
        self._pool = thread_pool(self.proc, self._keep[-1]) if self._keep else ""
        return self._pool

    def leave(self) -> socket.socket:
        """In a child that will run code: close all except the way to hand over a listener."""
        if self.branches is not None:
            self.branches.close()
        os.close(self.proc)
        self._inbox.close()
        for listener in self._listeners:
            os.close(listener)
        return self._outbox

    def is_full(self) -> bool:
        """Whether the states of all branches take so much that no step may begin.

        With a step, which may take half of `max_bytes`, they would take more than without branches.
        """
        states = [*self._others, *self._keep]
        return self._take_more_than(int(self._max_bytes * (0.5 + _SHARE_OF_STATES)), states)

    def _allow_processes(self, keep: list[int], others: int) -> None:
        """Let what holds the states of other branches not count towards the limit."""
        for pid in (1, *keep[-1:]):
            with suppress(ProcessLookupError):
                hard = resource.prlimit(pid, resource.RLIMIT_NPROC)[1]
                most = self._most_processes + others
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.prlimit(pid, resource.RLIMIT_NPROC, (most, hard))

    def _make_room(self) -> None:
        """End earlier states, oldest first, until those that are left take little memory.

        The newest state and the step may each take all that one process may. As all states are
        stopped, what is measured stays so.
        """
        most = int(self._max_bytes * _SHARE_OF_STATES)
        ended: list[int] = []
        while len(self._keep) > 1 and self._states_take_more_than(most):
            ended.append(self._keep.pop(0))
            _kill(ended[-1], signal.SIGKILL)
        _await(self._dying + ended)

    def _states_take_more_than(self, most: int) -> bool:
        *earlier, newest = self._keep
        for pid in earlier:
            if pid not in self._sizes:
                self._sizes[pid] = self._private(pid)
        if sum(self._sizes[pid] for pid in earlier) + self._private(newest) <= most:
            return False
        return sum(self._share(pid) for pid in self._keep) > most

    def relieve(self) -> bool:
        """If too much memory is taken, end earlier states, or the running step if none are left.

        Returns whether the step was ended.
        """
        if not self._is_over():
            return False
        if len(self._keep) > 1:
            for pid in self._keep[:-1]:
                _kill(pid, signal.SIGKILL)
            self._keep = self._keep[-1:]
            return False
        ended = self.sweep()
        self._wake_newest()  # it reports the end of the step
        return ended > 0

    def _wake_newest(self) -> None:
        for pid in self._keep[-1:]:
            _kill(pid, signal.SIGCONT)

    def sweep(self) -> int:
        """End all processes that are not kept; returns how many a step has left behind.

        All are stopped first, so that none can fork meanwhile. Those that are kept stay stopped
        until the next step: their threads and timers do nothing in between. Those that were kept
        until now are killed as well, but only the next sweep waits for their end.
        """
        _kill(-1, signal.SIGSTOP)
        self._forks.forget()
        _await(self._dying)
        self._dying, self._dropped = self._dropped, []
        for pid in self._dying:
            _kill(pid, signal.SIGKILL)
        ended = 0
        pauses = select.poll()
        for _ in range(int(_SWEEP_SECONDS * 1000)):
            strangers = self._strangers()
            if not strangers:
                break
            for pid in strangers:
                _kill(pid, signal.SIGKILL)
            ended = max(ended, len(strangers))
            pauses.poll(1)
        return ended

    def _strangers(self) -> list[int]:
        """Living processes other than the warden, those that are kept, and those killed already."""
        known = {1, *self._others, *self._keep, *self._dying}
        pids = [pid for pid in members(self.proc) if pid not in known]
        return [pid for pid in pids if not has_ended(self.proc, pid)]

    def _is_over(self) -> bool:
        return self._take_more_than(self._max_bytes, members(self.proc))

    def _take_more_than(self, most: int, pids: list[int]) -> bool:
        """Measured quickly first; then exactly, with shared pages divided among processes."""
        if sum(self._private(pid) for pid in pids) <= most:
            return False
        return sum(self._share(pid) for pid in pids) > most

    def _private(self, pid: int) -> int:
        """Memory that is not of a file, including what is shared with the parent."""
        lines = self._read(f"{pid}/status").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(_OWN_FIELDS)) * 1024

    def _share(self, pid: int) -> int:
        lines = self._read(f"{pid}/smaps_rollup").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(_SHARED_FIELDS)) * 1024

    def _read(self, path: str) -> bytes:
        """The content of the file in /proc; empty if its process has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            return read_small(self.proc, path)
        return b""


def _await(pids: list[int]) -> None:
    """Wait until processes that were killed have ended."""
    for pid in pids:
        with suppress(ChildProcessError):  # not a child of the warden, or collected already
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def _kill(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)

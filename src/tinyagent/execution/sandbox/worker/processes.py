"""Plain processes: starting, watching and ending them, and the sessions of trust level LOCAL.

Nothing here needs Linux: a session without locks runs wherever there are forks and Unix sockets.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from socket import socketpair
from typing import Any, NamedTuple

from .branches import BranchFolders
from .folders import BRANCHES, enter_folder
from .kernel import linux
from .kernel.adapt import name_pools
from .kernel.forks import thread_pool

TICK_SECONDS = 0.02
"""How often children are checked where no descriptor shows their end."""
_ON_LINUX = sys.platform == "linux"
_PID = struct.Struct("i")


class SessionLimits(NamedTuple):
    """The limits of the code, as in `ExecutionLimits`.

    Args:
        cpu_seconds: Of one process.
        checkpoints: How many earlier states are kept; 0 where steps do not run in forks.
    """

    cpu_seconds: int
    max_output_bytes: int
    max_memory_bytes: int
    max_processes: int
    max_file_bytes: int
    checkpoints: int


def load(modules: Iterable[str]) -> None:
    """Import those of these modules that are installed."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)


def seed_random_numbers() -> None:
    """Make sure that no two sessions or branches have the same random numbers."""
    random.seed()
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(None)


def watch_process(pid: int) -> int:
    """A descriptor that can be read once the process has ended; -1 if this system has none.

    Raises:
        ProcessLookupError: There is no such process.
    """
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        raise
    except OSError:  # before Linux 5.3, or refused by a container's filter
        return -1


def close_all_but(keep: Iterable[int]) -> None:
    """Close all descriptors except the standard ones and these."""
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    if _ON_LINUX:
        linux.close_range(first, 2**31 - 1)
    else:
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def name_process(name: str) -> None:
    """Set what lists of processes call this one, where that is possible."""
    if _ON_LINUX:
        linux.set_name(name)


class NoLocks:
    """Sessions at trust level LOCAL: child processes with all rights of the host.

    Each session is a process group, so that it can be ended as a whole.

    Args:
        order: Modules to load (`preload`), and where the host finds modules (`path`).
    """

    def __init__(self, order: dict[str, Any]) -> None:
        sys.path[:] = order["path"]
        _adopt_orphans()
        if _ON_LINUX:
            name_pools()
        load(order["preload"])
        self.folder = tempfile.mkdtemp(prefix="tinyagent-")
        self._branch_descriptors: list[int] = []

    descriptors: frozenset[int] = frozenset()
    upper = None

    @property
    def kept_descriptors(self) -> frozenset[int]:
        """The descriptors that a session still needs once it is in its folder."""
        return frozenset(each for each in self._branch_descriptors if each >= 0)

    def report(self) -> dict[str, Any]:
        """The locks of each session: none."""
        return {"namespaces": False, "landlock": 0, "seccomp": False, "forks": True}

    def fork(self) -> int:
        """Fork a process that may become a session, in its own process group."""
        pid = linux.fork()
        with suppress(OSError):  # the child has done so itself and ended
            os.setpgid(pid, pid or os.getpid())
        return pid

    def kill(self, pid: int) -> None:
        """End a session with all processes of its group."""
        with suppress(ProcessLookupError, PermissionError):  # nothing but a zombie is left
            os.killpg(pid, signal.SIGKILL)

    def collect(self, pid: int) -> bool:
        """Collect the processes of a session's group; returns whether none is left."""
        try:
            while os.waitpid(-pid, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    def enter(self, parent: int) -> None:
        """Share no open file with other sessions, and end with the template."""
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)
        _adopt_orphans()
        if _ON_LINUX:
            linux.set_parent_death_signal(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)

    def mount(self, folder: dict[str, Any]) -> int:
        """Refused: without locks, code sees the host's folders as they are.

        Raises:
            OSError: Always.
        """
        raise OSError(f"{folder['path']}: nothing is mounted without namespaces")

    def lock_up(
        self,
        limits: SessionLimits,
        number: int,
        trees: Mapping[str, int],
        masks: Sequence[bytes] | None = None,
    ) -> str:
        """Make and enter the working folder; on Linux, bound the memory of each process."""
        del trees, masks  # none: nothing is mounted
        if _ON_LINUX:
            with open("/proc/self/statm", encoding="ascii") as file:
                used = int(file.read().split()[5]) * resource.getpagesize()
            most = used + limits.max_memory_bytes
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        folder = enter_folder(self.folder, number)
        if limits.checkpoints:
            os.mkdir(folder + BRANCHES, 0o700)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            places = [folder, folder + BRANCHES, *(["/proc"] if _ON_LINUX else [])]
            self._branch_descriptors = [os.open(place, flags) for place in places]
            self._branch_descriptors += [] if _ON_LINUX else [-1]
        return folder

    def warden(self, limits: SessionLimits) -> StepProcesses | None:
        """The means to end the processes of steps; None where steps do not run in forks."""
        if not limits.checkpoints:
            return None
        shown, hidden, proc = self._branch_descriptors
        return StepProcesses(BranchFolders(os.getcwd(), shown, hidden, proc, sockets=2))

    def harden(self, warden: socket.socket | None) -> None:
        """There is no last lock."""


class StepProcesses:
    """The processes of a LOCAL session's steps, which its first process can stop and end.

    It takes the place of the warden, and knows only the processes that steps run in: what these
    start themselves ends with the session.
    """

    watching = False
    descriptors: tuple[int, ...] = ()

    def __init__(self, branches: BranchFolders | None = None) -> None:
        self.branches = branches
        self._inbox, self._outbox = socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inbox.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        self._running: set[int] = set()
        self._keep: list[int] = []
        self._others: list[int] = []

    def attend(self, descriptor: int) -> None:
        """Nothing asks for attention: processes register while nobody waits for them."""

    def note(self, keep: list[int], *, watch: bool, wake: bool, others: Sequence[int] = ()) -> None:
        """Which processes hold states that are kept; memory is not watched, and none is asleep."""
        del watch, wake
        self._keep, self._others = keep, list(others)

    def is_full(self) -> bool:
        """Memory is not watched."""
        return False

    def sweep(self) -> int:
        """End the processes of steps that hold no state that is kept; gives back how many."""
        strangers = self._known() - {*self._keep, *self._others}
        for pid in strangers:
            _signal(pid, signal.SIGKILL)
        self._running -= strangers
        return len(strangers)

    def thread_pool(self) -> str:
        """The name of a thread of a library in the newest state; "" where there is no /proc."""
        if not (_ON_LINUX and self._keep):
            return ""
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        try:
            return thread_pool(proc, self._keep[-1])
        finally:
            os.close(proc)

    def relieve(self) -> bool:
        """Memory is not watched."""
        return False

    def pause(self, *, stop: bool) -> None:
        """Stop the step that runs while the host runs a tool for it, or let it go on."""
        for pid in self._known() - {*self._keep, *self._others}:
            _signal(pid, signal.SIGSTOP if stop else signal.SIGCONT)

    def leave(self) -> None:
        """In a child that is to run code: it has nothing to hand over."""
        self._inbox.close()
        if self.branches is not None:
            self.branches.close()

    def announce(self) -> None:
        """In a process that is to run a step: make it known to the first process."""
        self._outbox.send(_PID.pack(os.getpid()))

    def _known(self) -> set[int]:
        with suppress(BlockingIOError):
            while data := self._inbox.recv(_PID.size):
                self._running.update(_PID.unpack(data))
        return self._running


def _adopt_orphans() -> None:
    """Collect descendants whose parent has ended, in place of the system's first process."""
    if _ON_LINUX:
        linux.adopt_orphans()


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)

"""The kernel's locks: what the template prepares, and what each session puts on."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ..folders import enter_folder, make_home
from ..processes import Limits, load
from . import confine, landlock, linux, mounts, namespaces, seccomp
from .adapt import copy_without_modes, pipes_for_sockets
from .confine import Cell
from .warden import Warden


class KernelLocks:
    """Namespaces, a root of its own, Landlock and a system-call filter, as far as they work here.

    Args:
        order: modules to load (`preload`), and locks that are not to be used (`without`).

    Raises:
        OSError: the kernel refuses a lock that is to be used.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        copy_without_modes()
        self.cell = _prepare(order)
        self.folder = "" if self.cell.namespaces else tempfile.mkdtemp(prefix="tinyagent-")
        if self.cell.namespaces:
            make_home(mounts.SANDBOX)
        self._own_pids = os.open("self/ns/pid", os.O_RDONLY, dir_fd=self.cell.proc)
        self._own_proc: int | None = None

    def report(self) -> dict[str, Any]:
        """What is in force for each session."""
        filters = self.cell.filters is not None
        return {
            "namespaces": self.cell.namespaces,
            "landlock": self.cell.landlock,
            "seccomp": filters,
            "forks": filters and _can(seccomp.listen_to_forks),
        }

    def fork(self) -> int:
        """Fork a process that may become a session, in a process namespace of its own."""
        if not self.cell.namespaces:
            return linux.fork()
        linux.unshare(linux.CLONE_NEWPID)
        pid = -1
        try:
            pid = linux.fork()
        finally:
            if pid:
                linux.setns(self._own_pids, linux.CLONE_NEWPID)
        return pid

    def kill(self, pid: int) -> None:
        """End a session: the first process of its process namespace takes the others along."""
        os.kill(pid, signal.SIGKILL)

    @property
    def descriptors(self) -> set[int]:
        """What a session needs until it is locked up."""
        return {self.cell.proc, *self.cell.readable}

    def enter(self, parent: int) -> None:
        """Share nothing with other sessions, and end with the template."""
        confine.stand_alone(self.cell.proc)
        if self.cell.namespaces:
            self._own_proc = confine.part_from_others()
        else:
            confine.die_with_parent(parent)  # else it ends with the template's process namespace

    def lock_up(self, limits: Limits, number: int) -> str:
        """Make and enter the working folder, and lock everything else away; gives the folder."""
        if self.cell.namespaces:
            folder = mounts.SANDBOX
            confine.settle_in(self.cell, limits)
            os.chdir(folder)
        else:
            folder = enter_folder(self.folder, number)
        pipes_for_sockets()
        if not limits.checkpoints:
            self._own_proc = None
        confine.limit_resources(self.cell, limits)
        confine.lock(self.cell, folder, self._own_proc)
        return folder

    @property
    def kept_descriptors(self) -> set[int]:
        """What a locked session still needs."""
        return set() if self._own_proc is None else {self._own_proc}

    def warden(self, limits: Limits) -> Warden | None:
        """What watches the processes of steps; None where steps do not run in forks."""
        if self._own_proc is None:
            return None
        return Warden(self._own_proc, limits.max_memory_bytes * 2)

    def harden(self, warden: socket.socket | None) -> None:
        """The last lock, before the code runs: the system-call filter."""
        confine.filter_calls(self.cell, warden)


def _prepare(order: dict[str, Any]) -> Cell:
    """Load what is asked for, and lock the template up as far as it is wanted."""
    without = frozenset[str](order["without"])
    stack = seccomp.stack_floor()
    apart = "namespaces" not in without
    if apart:
        namespaces.enter()
        namespaces.fork_inside()
    load(order["preload"])
    paths = mounts.python_paths()
    if apart:
        mounts.keep_to_ourselves()
        trees = mounts.hold(paths)
        namespaces.drop_root()
        mounts.enter_root(trees)
        paths = ["/", "/dev/null"]  # which may be written, too
    files = 0 if "landlock" in without else landlock.abi()
    if not apart and not files and os.geteuid() == 0 and _can(namespaces.become_nobody):
        namespaces.become_nobody()
    return Cell(
        proc=mounts.open_proc(),
        namespaces=apart,
        readable=tuple(os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths),
        landlock=files,
        filters=None if "seccomp" in without else _filters(stack),
    )


def _filters(stack: int) -> tuple[bytes, bytes] | None:
    """The system-call filters without and with `fork`; None where the kernel takes none."""
    try:
        filters = (
            seccomp.program(forks=False, stack=stack),
            seccomp.program(forks=True, stack=stack),
        )
    except OSError:  # a machine whose system calls are not known
        return None
    for each in (*filters, seccomp.fork_requests()):
        seccomp.prepare(each)
    return filters if _can(partial(seccomp.install, filters[1])) else None


def _can(lock: Callable[[], object]) -> bool:
    """Whether a process can lock itself up like this; tried in a child."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            lock()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0

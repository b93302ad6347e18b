"""The kernel's locks: what the template prepares, and what each session applies."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from ..branches import BranchFolders
from ..folders import enter_folder, make_home
from ..packages import forget_host_packages
from ..processes import SessionLimits, load
from . import landlock, linux, mounts, namespaces, network, overlay, seccomp
from .adapt import copy_without_modes, name_pools, pipes_for_sockets
from .keeper import Keeper
from .limits import limit_resources
from .warden import Warden


class PreparedLocks(NamedTuple):
    """The parts of its sessions' locks that the template has prepared.

    Args:
        proc: A descriptor of a /proc that the template and its sessions are in.
        namespaces: Whether there are namespaces, and a root with nothing but Python in it.
        readable: Descriptors of the folders that Landlock leaves readable.
        landlock: The version of Landlock; 0 for none.
        filters: The system-call filters, without and with `fork`; None where there are none.
        keeper: Hands over folders of the host; None where no session gets any from it.
        network: Whether sessions have a network.
    """

    proc: int
    namespaces: bool
    readable: tuple[int, ...]
    landlock: int
    filters: tuple[bytes, bytes] | None
    keeper: Keeper | None
    network: bool = False


class Settled(NamedTuple):
    """The parts of a session's folder.

    Args:
        upper: The upper layer of its workspace, if that is an overlay.
        folders: Those of its branches, if it can have any.
    """

    upper: int | None = None
    folders: mounts.WorkingFolders | None = None


def part_from_others() -> int:
    """Enter a separate mount namespace; returns a /proc for the warden.

    The process namespace exists already: the template forked this process into it.
    """
    linux.unshare(linux.CLONE_NEWNS)
    return mounts.open_own_proc()


def settle_in(
    cell: PreparedLocks,
    limits: SessionLimits,
    trees: Mapping[str, int],
    masks: Sequence[bytes] | None,
) -> Settled:
    """Make the working folder in memory, and enter a user namespace: no mount comes after.

    Args:
        cell: What the template has prepared.
        limits: Of the session.
        trees: Detached mounts of the host's folders, by the names they get in the working folder.
        masks: What is not seen of the workspace, which gets an overlay; None for no overlay.

    Returns:
        What the session needs of it.
    """
    mounts.make_working_folder(limits.max_file_bytes)
    others = dict(trees)
    upper = None if masks is None else overlay.mount(others.pop(overlay.WORKSPACE), masks)
    folders = None
    if masks is None and not others and limits.checkpoints:
        folders = mounts.cover_working_folder()
    for name, tree in others.items():
        place = os.path.join(mounts.SANDBOX, name)
        os.mkdir(place)
        mounts.attach(tree, place)
    namespaces.enter_own_users(cell.proc)
    return Settled(upper, folders)


def lock(
    cell: PreparedLocks,
    folder: str,
    own_proc: int | None,
    ports: Iterable[int] = (),
    hidden: Iterable[int] = (),
) -> None:
    """Give up all privileges, and all files except Python's and the working folder's.

    Args:
        cell: What the template has prepared.
        folder: Stays writable.
        own_proc: The warden's /proc, which stays readable; no path leads there.
        ports: That can be reached by TCP in a session with a network.
        hidden: Descriptors of folders that stay writable, and that no path leads to.
    """
    linux.set_no_new_privs()
    linux.drop_capabilities()
    linux.set_dumpable(True)  # the warden, of the same user, reads how much memory is in use
    if cell.landlock:
        seen = () if own_proc is None else (own_proc,)
        own = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        landlock.restrict((*cell.readable, *seen), (own, *hidden), ports)
        os.close(own)


def filter_calls(cell: PreparedLocks, warden: socket.socket | None) -> None:
    """Apply the last lock, which allows only the system calls that plain Python needs.

    Args:
        cell: What the template has prepared.
        warden: Where to send the descriptor by which forks are granted; None: no forks.
    """
    if cell.filters is None:
        return
    if warden is not None:
        listener = seccomp.listen_to_forks()
        socket.send_fds(warden, [b"."], [listener])
        os.close(listener)
    seccomp.install(cell.filters[warden is not None])


def stand_alone(proc: int) -> None:
    """Share no open file with other sessions, and be the first that runs out of memory.

    Args:
        proc: A descriptor of a /proc in which this process is.
    """
    own = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(own, descriptor)
    os.close(own)
    with suppress(OSError):  # a container may have its /proc read-only
        score = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=proc)
        os.write(score, b"1000")
        os.close(score)


def die_with_parent(parent: int) -> None:
    """Be killed when the template ends."""
    linux.set_parent_death_signal(signal.SIGKILL)
    if os.getppid() not in {0, parent}:  # 0: it is outside the process namespace
        os._exit(0)


class KernelLocks:
    """Namespaces, a separate root, Landlock and a system-call filter, as far as they work here.

    Args:
        order: Modules to load (`preload`), locks not to use (`without`), and whether sessions have
            a network (`network`).

    Raises:
        OSError: The kernel refuses a lock.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        copy_without_modes()
        name_pools()
        self.cell = _prepare(order)
        self.folder = "" if self.cell.namespaces else tempfile.mkdtemp(prefix="tinyagent-")
        if self.cell.namespaces:
            make_home(mounts.SANDBOX)
        self._own_pids = os.open("self/ns/pid", os.O_RDONLY, dir_fd=self.cell.proc)
        self._own_proc: int | None = None
        self._ports: list[int] = []
        self.upper: int | None = None
        """The upper layer of this session's workspace, if it is an overlay."""
        self._folders: mounts.WorkingFolders | None = None

    def report(self) -> dict[str, Any]:
        """The locks of each session."""
        filters = self.cell.filters is not None
        return {
            "namespaces": self.cell.namespaces,
            "landlock": self.cell.landlock,
            "seccomp": filters,
            "forks": filters and _can(seccomp.listen_to_forks),
        }

    def mount(self, folder: dict[str, Any]) -> int:
        """A detached mount of a folder of the host, as `Keeper.mount` makes it.

        Raises:
            OSError: There is no keeper, or it refuses.
        """
        if self.cell.keeper is None:
            raise OSError("this sandbox shows no folders of the host")
        return self.cell.keeper.mount(folder)

    def fork(self) -> int:
        """Fork a process that may become a session, in a new process namespace."""
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
        """End a session: the processes of its namespace end with the first one."""
        os.kill(pid, signal.SIGKILL)

    def collect(self, pid: int) -> bool:
        """Collect a session if it has ended; returns whether it has."""
        return os.waitpid(pid, os.WNOHANG)[0] != 0

    @property
    def descriptors(self) -> set[int]:
        """The descriptors that a session needs until it is locked up."""
        return {self.cell.proc, *self.cell.readable}

    def enter(self, parent: int) -> None:
        """Share nothing with other sessions, and end with the template."""
        stand_alone(self.cell.proc)
        if self.cell.namespaces:
            self._own_proc = part_from_others()
            if self.cell.network:
                network.enter(self.cell.proc)
        else:
            die_with_parent(parent)  # otherwise it ends with the template's process namespace

    def connect(self, order: network.NetworkOrder) -> list[int]:
        """Prepare the session's network; gives its listening sockets, which go to the host.

        Raises:
            OSError: There are no namespaces, or the kernel refuses.
        """
        if not (self.cell.namespaces and self.cell.network):
            raise OSError(errno.EPERM, "a network needs namespaces")
        network.show_files(order)
        self._ports = order.ports
        return network.listen(order)

    def lock_up(
        self,
        limits: SessionLimits,
        number: int,
        trees: Mapping[str, int],
        masks: Sequence[bytes] | None = None,
    ) -> str:
        """Enter a new working folder, and lock everything else away; returns the folder.

        Args:
            limits: Of the session.
            number: The session's.
            trees: Detached mounts of the host's folders, by their names in the working folder.
            masks: What is not seen of the workspace, which gets an overlay; None for no overlay.
        """
        if self.cell.namespaces:
            folder = mounts.SANDBOX
            self.upper, self._folders = settle_in(self.cell, limits, trees, masks)
            os.chdir(folder)
        else:
            folder = enter_folder(self.folder, number)
        pipes_for_sockets()
        if not limits.checkpoints:
            self._own_proc = None
        has_namespaces = self.cell.namespaces
        limit_resources(self.cell.proc, limits, has_namespaces=has_namespaces)
        hidden = () if self._folders is None else (self._folders.hidden,)
        lock(self.cell, folder, self._own_proc, self._ports, hidden)
        return folder

    @property
    def kept_descriptors(self) -> set[int]:
        """The descriptors that a locked session still needs."""
        folders = self._folders or ()
        return {each for each in (self._own_proc, self.upper, *folders) if each is not None}

    def warden(self, limits: SessionLimits) -> Warden | None:
        """The watcher of the processes of steps; None if steps do not run in forks."""
        if self._own_proc is None:
            return None
        branches = None
        if self._folders is not None:
            branches = BranchFolders(mounts.SANDBOX, *self._folders, os.dup(self._own_proc))
        return Warden(self._own_proc, limits.max_memory_bytes * 2, branches)

    def harden(self, warden: socket.socket | None) -> None:
        """Apply the last lock before the code runs: the system-call filter."""
        filter_calls(self.cell, warden)


def _prepare(order: dict[str, Any]) -> PreparedLocks:
    """Load the requested modules, and apply the requested locks to the template."""
    without = frozenset[str](order["without"])
    stack = seccomp.stack_floor()
    apart = "namespaces" not in without
    has_network = apart and bool(order.get("network"))
    if apart:
        namespaces.enter()
        namespaces.fork_inside()
        mounts.keep_to_ourselves()
    keeper = Keeper() if apart and order.get("keeper") else None
    packages: str = order.get("packages", "")
    if packages:
        forget_host_packages()
    load(order["preload"])
    paths = mounts.python_paths(packages=not packages)
    if apart:
        trees = mounts.hold(paths, packages)
        namespaces.drop_root()
        mounts.enter_root(trees)
        paths = ["/", "/dev/null"]  # which may be written, too
    elif packages:
        paths.append(packages)
    if packages:  # it exists now: a folder that does not is remembered as such
        sys.path.append(mounts.PACKAGES if apart else packages)
    files = 0 if "landlock" in without else landlock.abi()
    if not apart and not files and os.geteuid() == 0 and _can(namespaces.become_nobody):
        namespaces.become_nobody()
    return PreparedLocks(
        proc=mounts.open_proc(),
        namespaces=apart,
        readable=tuple(os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths),
        landlock=files,
        filters=None if "seccomp" in without else _filters(stack, network=has_network),
        keeper=keeper,
        network=has_network,
    )


def _filters(stack: int, *, network: bool) -> tuple[bytes, bytes] | None:
    """The system-call filters without and with `fork`; None if the kernel accepts none."""
    try:
        filters = (
            seccomp.program(forks=False, network=network, stack=stack),
            seccomp.program(forks=True, network=network, stack=stack),
        )
    except OSError:  # a machine whose system calls are not known
        return None
    for each in (*filters, seccomp.fork_requests()):
        seccomp.prepare(each)
    return filters if _can(partial(seccomp.install, filters[1])) else None


def _can(lock: Callable[[], object]) -> bool:
    """Whether a process can apply this lock; tried in a child."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            lock()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0

"""Moving into namespaces: the template once, each session again."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress

from . import linux

_ALL = (
    linux.CLONE_NEWUSER
    | linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
)
_NOBODY = 65534
_INSIDE = 1000  # the user that the code sees itself as


def enter() -> None:
    """Continue as the first process of new namespaces for the template.

    The process that was started stays outside, waits, and ends with the one inside. Inside, user 0
    stands for the caller, or for nobody if root calls; `drop_root` makes that user effective.

    Raises:
        OSError: The kernel refuses.
    """
    go, start = os.pipe()
    done, finish = os.pipe()
    outside = os.readlink("/proc/self")  # which may be the /proc of an outer process namespace
    helper = os.fork()
    if helper == 0:
        os.close(start)
        _map_from_outside(go, finish, outside)
    os.close(finish)
    try:
        linux.unshare(_ALL)
        os.write(start, b"y")
        if os.read(done, 1) != b"y":
            raise PermissionError("no user can be mapped into the new user namespace")
        linux.set_hostname(linux.HOSTNAME)
    finally:
        for descriptor in (go, start, done):
            os.close(descriptor)
        os.waitpid(helper, 0)


def fork_inside() -> None:
    """Continue in a child, the first process of the new namespace; the parent only waits."""
    child = os.fork()
    if child:
        os.closerange(0, 256)
        status = os.waitpid(child, 0)[1]
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    linux.set_parent_death_signal(signal.SIGKILL)


def become_nobody() -> None:
    """Give up root's rights without a user namespace.

    Raises:
        OSError: Python's own files cannot be read any more; some of root's rights are given up.
    """
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    if not os.access(os.__file__, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.__file__)


def drop_root() -> None:
    """Become the user that 0 stands for inside; root's files are no longer this user's."""
    with open("/proc/self/setgroups", encoding="ascii") as file:
        may_set_groups = file.read().strip() != "deny"
    if may_set_groups:  # a caller without rights keeps its groups
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    linux.set_dumpable(True)  # otherwise /proc/self belongs to root
    linux.set_parent_death_signal(signal.SIGKILL)  # a change of user has cleared it


def enter_own_users(proc: int) -> None:
    """Enter a user namespace for one session, in which its processes are counted.

    Args:
        proc: A descriptor of a /proc in which this process is.
    """
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (
        ("uid_map", f"{_INSIDE} {user} 1"),
        ("setgroups", "deny"),
        ("gid_map", f"{_INSIDE} {group} 1"),
    ):
        descriptor = os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _map_from_outside(go: int, finish: int, pid: str) -> None:
    """Give the namespaces of `pid` their one user: the caller; for root, a user without rights."""
    if os.read(go, 1) == b"y":
        as_root = os.geteuid() == 0
        user, group = (_NOBODY, _NOBODY) if as_root else (os.geteuid(), os.getegid())
        with suppress(OSError):
            if not as_root:
                _write(f"/proc/{pid}/setgroups", "deny")
            _write(f"/proc/{pid}/uid_map", f"0 {user} 1")
            _write(f"/proc/{pid}/gid_map", f"0 {group} 1")
            os.write(finish, b"y")
    os._exit(0)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)

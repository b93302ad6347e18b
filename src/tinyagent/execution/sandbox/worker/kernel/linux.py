"""Linux calls that Python's library lacks, by ctypes. Each raises OSError with its name."""

from __future__ import annotations

import _thread
import ctypes
import functools
import os
import random
import resource
import struct
import sys

from . import syscalls

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MS_SLAVE = 0x8_0000
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x2008_0522

HOSTNAME = "sandbox"
"""The name of the machine, as code sees it."""

Path = str | bytes | os.PathLike[str]


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library this process runs with."""
    return ctypes.CDLL(None, use_errno=True)


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """A system call by its name; bytes are passed as a pointer to them, None as NULL.

    Raises:
        OSError: The call failed, or `syscalls` does not know the machine.
    """
    values = [
        value if isinstance(value, bytes) else ctypes.c_long(value or 0) for value in arguments
    ]
    return checked(libc().syscall(ctypes.c_long(syscalls.number(name)), *values), name)


def checked(outcome: int, call: str) -> int:
    """The C function's result, unless it is a negative number, which means failure.

    Raises:
        OSError: It failed: `errno` says why.
    """
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return outcome


def fork() -> int:
    """`os.fork`; in a process of one thread, without what it does for several threads.

    What Python repairs in the child (locks that a thread may hold, the list of threads) writes to
    hundreds of pages, and each is copied: it takes longer than the fork itself. Random numbers
    continue in the child as they would in the parent.

    Raises:
        OSError: No more processes can be started.
    """
    if sys.platform == "linux" and not _thread._count():  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        return checked(_with_the_lock().fork(), "fork")
    drawn = random.getstate()
    pid = os.fork()
    if not pid:
        random.setstate(drawn)
    return pid


@functools.cache
def _with_the_lock() -> ctypes.CDLL:
    """The C library, called without releasing the interpreter's lock."""
    return ctypes.PyDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `CLONE_NEW...` flags for new ones."""
    checked(libc().unshare(flags), "unshare")


def setns(descriptor: int, kind: int = 0) -> None:
    """Enter the namespace that the descriptor stands for; `kind` is a `CLONE_NEW...` flag."""
    checked(libc().setns(descriptor, kind), "setns")


def mount(
    source: Path | None,
    target: Path,
    kind: str | None = None,
    flags: int = 0,
    options: str | None = None,
) -> None:
    """Mount `source` on `target`, or change the mount there, as the `MS_...` flags say."""
    outcome = libc().mount(
        None if source is None else os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        None if options is None else options.encode(),
    )
    checked(outcome, f"mount {os.fsdecode(target)}")


def umount2(target: Path, flags: int = MNT_DETACH) -> None:
    """Remove a mount from sight, and entirely once nothing uses it."""
    checked(libc().umount2(os.fsencode(target), flags), f"umount2 {os.fsdecode(target)}")


def pivot_root(new_root: Path, old_root: Path) -> None:
    """Make `new_root` the root of this mount namespace and put the present one at `old_root`."""
    syscall("pivot_root", os.fsencode(new_root), os.fsencode(old_root))


def prctl(name: str, option: int, value: int = 0, more: int = 0) -> int:
    """Set or read an attribute of this process; the error shows `name`."""
    arguments = [ctypes.c_ulong(number) for number in (value, more, 0, 0)]
    return checked(libc().prctl(option, *arguments), f"prctl {name}")


def set_no_new_privs() -> None:
    """Never gain privileges by running a program; Landlock and seccomp require this."""
    prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def set_dumpable(dumpable: bool) -> None:  # noqa: FBT001 - reads as what it sets
    """Whether processes of the same user may trace this one and read its memory."""
    prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, int(dumpable))


def set_name(name: str) -> None:
    """Set the name of this process in lists of processes; at most 15 characters are kept."""
    checked(libc().prctl(_PR_SET_NAME, name.encode()), "prctl PR_SET_NAME")


def set_hostname(name: str) -> None:
    """Set the machine's name within this namespace, and remove the name of the domain."""
    syscall("sethostname", name.encode(), len(name))
    syscall("setdomainname", b"(none)", 6)


def set_parent_death_signal(signal_number: int) -> None:
    """Receive this signal when the thread that forked this process ends."""
    prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    prctl("PR_SET_CHILD_SUBREAPER", _PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """Give up every capability of this thread, permanently.

    `set_no_new_privs` prevents programs from gaining others.
    """
    prctl("PR_CAP_AMBIENT", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    syscall("capset", header, bytes(24))


def close_range(first: int, last: int = 2**32 - 1) -> None:
    """Close the open descriptors from `first` to `last`, both included."""
    try:
        syscall("close_range", first, last, 0)
    except OSError:  # before Linux 5.9, or refused by a container's filter
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = 2**20 if hard == resource.RLIM_INFINITY else hard
        os.closerange(first, min(last, most) + 1)

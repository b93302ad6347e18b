"""The kernel's limits of each process of a session."""

from __future__ import annotations

import errno
import os
import resource

from ..folders import MAX_BRANCHES
from ..processes import SessionLimits
from .forks import MAX_STACK

_SPARE_ADDRESSES = 2**30  # address space that libraries reserve and never use
_OPEN_FILES = 256


def limit_resources(proc: int, limits: SessionLimits, *, has_namespaces: bool) -> None:
    """Kernel limits of each process of the session, counted from what it uses already."""
    size, data = _memory_in_use(proc)
    for kind, most in (
        (resource.RLIMIT_DATA, data + limits.max_memory_bytes),
        (resource.RLIMIT_AS, size + limits.max_memory_bytes + _SPARE_ADDRESSES),
        # A process that runs all steps uses up its share of CPU however well-behaved they are.
        (resource.RLIMIT_CPU, limits.cpu_seconds if limits.checkpoints else resource.RLIM_INFINITY),
        (resource.RLIMIT_FSIZE, limits.max_file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_STACK, MAX_STACK),
        # With 0, the kernel still starts a program that takes core dumps, if there is one.
        (resource.RLIMIT_CORE, 1),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _lower(kind, most)
    processes = _processes(limits) if has_namespaces else resource.RLIM_INFINITY
    # Only the warden can raise a limit again: the filter refuses it to the code.
    _lower(resource.RLIMIT_NPROC, processes, MAX_BRANCHES * (limits.checkpoints + 2))


def _processes(limits: SessionLimits) -> int:
    """The limit of processes of the session's own user namespace."""
    return limits.max_processes + limits.checkpoints + 3


def _memory_in_use(proc: int) -> tuple[int, int]:
    """Address space and writable data of this process, in bytes."""
    descriptor = os.open("self/statm", os.O_RDONLY, dir_fd=proc)
    pages = [int(word) for word in os.read(descriptor, 200).split()]
    os.close(descriptor)
    return pages[0] * resource.getpagesize(), pages[5] * resource.getpagesize()


def _lower(kind: int, most: int, spare: int = 0) -> None:
    hard = resource.getrlimit(kind)[1]
    highest = most if most == resource.RLIM_INFINITY else most + spare
    if hard != resource.RLIM_INFINITY:
        most = most if 0 <= most <= hard else hard
        highest = highest if 0 <= highest <= hard else hard
    try:
        resource.setrlimit(kind, (most, highest))
    except (OSError, ValueError) as error:  # which names neither the call nor the limit
        raise PermissionError(errno.EPERM, f"setrlimit of limit {kind}: {error}") from None

"""Compiles the modules of a set of packages, in a process that can do nothing else.

The source is a stranger's: it may be made to take all memory, or to break the compiler.
"""

from __future__ import annotations

import os
import py_compile
import resource
from collections.abc import Iterator
from importlib.util import cache_from_source

from .kernel import landlock, linux, mounts, seccomp

_CPU_SECONDS = 60
_MAX_FILE_BYTES = 1 << 28


def main(folder: str, max_bytes: str, share: str, shares: str, first: str) -> None:
    """Compile each file of a share of the modules, and print its number before.

    Args:
        folder: Holds the packages.
        max_bytes: Of memory.
        share: Which of the shares to compile.
        shares: Into how many the files are divided.
        first: The number of the first file to compile.
    """
    _lock(folder, int(max_bytes))
    for number, path in enumerate(_modules(folder)):
        if number < int(first) or number % int(shares) != int(share):
            continue
        os.write(1, b"%d\n" % number)
        _compile(path, mounts.PACKAGES + path.removeprefix(folder))


def _lock(folder: str, max_bytes: int) -> None:
    """Give up everything but the folder and what Python reads.

    Raises:
        OSError: The kernel refuses a lock.
    """
    os.umask(0o022)
    filter_program = seccomp.program(forks=False)  # which reads /proc
    for kind, most in (
        (resource.RLIMIT_DATA, max_bytes),
        (resource.RLIMIT_CPU, _CPU_SECONDS),
        (resource.RLIMIT_FSIZE, _MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901
        resource.setrlimit(kind, (most, most))
    linux.set_no_new_privs()
    linux.drop_capabilities()
    flags = os.O_PATH | os.O_CLOEXEC
    python = [os.open(path, flags) for path in mounts.python_paths(packages=False)]
    landlock.restrict(python, [os.open(folder, flags)])
    seccomp.install(filter_program)


def _modules(folder: str) -> Iterator[str]:
    """All modules, each time in the same order."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (f"{place}/{name}" for name in sorted(names) if name.endswith(".py"))


def _compile(path: str, shown: str) -> None:
    """Compile a module; one that cannot be compiled fails where it is imported."""
    try:
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        target = cache_from_source(path)
        py_compile.compile(path, target, shown, doraise=True, invalidation_mode=mode)
    except (py_compile.PyCompileError, MemoryError, RecursionError, OSError, ValueError):
        return

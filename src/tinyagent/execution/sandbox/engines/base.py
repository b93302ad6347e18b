"""Engine: starts the template process, and puts a boundary around it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tinyagent.core.errors import SandboxUnavailable

WORKER_FOLDER = Path(__file__).parents[1]
"""The folder in which the template finds the package `worker`."""

BOOT = (
    "import sys, socket; sys.path.insert(0, sys.argv[1]); from worker.template import main;"
    " del sys.path[0]; main(socket.socket(fileno=int(sys.argv[2])))"
)

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    # One thread each: a process with threads cannot be forked safely.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "POLARS_SKIP_CPU_CHECK": "1",  # which generates machine code: the filter refuses it
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""The code's environment variables, besides those that name its working folder."""


class Started(NamedTuple):
    """A template that starts: its process, or an engine's process around it, and its socket.

    Its standard error is a pipe; `process.kill()` ends all of it.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket


class Engine(Protocol):
    """Starts the template process. Engines compare by value."""

    @property
    def name(self) -> str:
        """Its name, as in `engine=`."""
        ...

    @property
    def locks(self) -> bool:
        """Whether the template puts the kernel's locks on each session."""
        ...

    def missing(self) -> str:
        """The name of what must be installed first; "" if nothing is missing."""
        ...

    def start(self, packages: str) -> Started:
        """Start a template.

        Args:
            packages: A folder that the template reads in addition; "" for none.

        Raises:
            SandboxUnavailable: It cannot be started.
        """
        ...


class Group(subprocess.Popen[bytes]):
    """A program with all that it starts, detached from the terminal."""

    def __init__(self, command: list[str], **options: Any) -> None:
        super().__init__(
            command,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            **options,
        )

    def kill(self) -> None:
        """Kill the program and all that it has started."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def last_words(process: subprocess.Popen[bytes]) -> str:
    """End it, and return what it wrote to its standard error."""
    process.kill()
    _, errors = process.communicate()
    return errors.decode(errors="replace").strip()[-2000:] or "no reason given"


def start_with_socket(command: Callable[[int], list[str]]) -> Started:
    """Start a template that inherits its end of a socket pair.

    Args:
        command: The command line, for the number of the descriptor.

    Raises:
        SandboxUnavailable: The program cannot be run.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        line = command(theirs.fileno())
        try:
            process = Group(line, pass_fds=[theirs.fileno()], env=ENVIRONMENT, cwd="/")
        except OSError as error:
            ours.close()
            raise SandboxUnavailable(f"{line[0]} cannot be run: {error}") from error
    return Started(process, ours)

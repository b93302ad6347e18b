"""The engines that start this interpreter as it is: the kernel's own locks, and none."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass

from tinyagent.execution.sandbox.engines.base import BOOT, WORKER_FOLDER, Started, start_with_socket


@dataclass(frozen=True, slots=True)
class KernelEngine:
    """Namespaces, Landlock and a system-call filter; needs no package, no daemon and no root."""

    name: str = "kernel"
    locks: bool = True

    def missing(self) -> str:
        """What this operating system lacks."""
        return "" if sys.platform == "linux" else "it needs Linux"

    def start(self, packages: str) -> Started:
        """Start the interpreter that this one is.

        Raises:
            SandboxUnavailable: It cannot be run.
        """
        del packages  # it sees all of the host's files
        return _start_python()


@dataclass(frozen=True, slots=True)
class PlainEngine:
    """A child process without locks, for trust level LOCAL."""

    name: str = "plain"
    locks: bool = False

    def missing(self) -> str:
        """What this operating system lacks."""
        if hasattr(os, "fork") and hasattr(socket, "send_fds"):
            return ""
        return (
            "it needs os.fork and Unix sockets, which this system does not have (on Windows, run"
            " the program in WSL or in a Linux container)"
        )

    def start(self, packages: str) -> Started:
        """Start the interpreter that this one is.

        Raises:
            SandboxUnavailable: It cannot be run.
        """
        del packages  # as above
        return _start_python()


def _start_python() -> Started:
    return start_with_socket(
        lambda control: [sys.executable, "-I", "-c", BOOT, str(WORKER_FOLDER), str(control)]
    )

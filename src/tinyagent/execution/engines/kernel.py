"""The kernel's own locks: the template, started as it is, locks itself up."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tinyagent.execution.engines.base import BOOT, WORKER_FOLDER, Started, start_with_socket


@dataclass(frozen=True, slots=True)
class KernelEngine:
    """Namespaces, Landlock and a system-call filter; needs no package, no daemon and no root."""

    name: str = "kernel"

    def missing(self) -> str:
        """What this operating system lacks."""
        return "" if sys.platform == "linux" else "it needs Linux"

    def start(self) -> Started:
        """Start the interpreter that this one is.

        Raises:
            SandboxUnavailable: it cannot be run.
        """
        return start_with_socket(
            lambda control: [sys.executable, "-I", "-c", BOOT, str(WORKER_FOLDER), str(control)]
        )

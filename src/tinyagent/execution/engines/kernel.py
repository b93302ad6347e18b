"""The kernel's own locks: the template, started as it is, locks itself up."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinyagent.execution.engines.base import BOOT, WORKER_FOLDER, Started, start_with_socket


@dataclass(frozen=True, slots=True)
class KernelEngine:
    """Namespaces, Landlock and a system-call filter; needs no package, no daemon and no root."""

    name: str = "kernel"

    def missing(self) -> str:
        """What this operating system lacks."""
        return "" if sys.platform == "linux" else "it needs Linux"

    def shortcomings(self, report: Mapping[str, Any]) -> str:
        """Which of the locks this kernel does not have."""
        locks = {
            "user namespaces": report["namespaces"],
            "Landlock": report["landlock"],
            "system-call filters": report["seccomp"],
        }
        missing = [name for name, there in locks.items() if not there]
        return f"this kernel gives no {' and no '.join(missing)}" if missing else ""

    def start(self) -> Started:
        """Start the interpreter that this one is.

        Raises:
            SandboxUnavailable: it cannot be run.
        """
        return start_with_socket(
            lambda control: [sys.executable, "-I", "-c", BOOT, str(WORKER_FOLDER), str(control)]
        )

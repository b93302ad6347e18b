"""Python programs on a kernel that lacks something: a filter refuses the calls that use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

NAMESPACES, LANDLOCK, FILTERS, LISTENERS = "namespaces", "landlock", "filters", "listeners"

_PROGRAM = """
import errno, json, os, sys
from pathlib import Path
order = json.loads(sys.argv[1])
from tinyagent.execution.sandbox.worker.kernel import bpf
from tinyagent.execution.sandbox.worker.kernel import linux
from tinyagent.execution.sandbox.worker.kernel import seccomp
from tinyagent.execution.sandbox.worker.kernel import syscalls

if order["shows_python"]:  # put it where all may read it, in mounts of this process only
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    closed, stage = order["shows_python"], order["stage"]
    linux.mount(sys.base_prefix, stage, None, 4096)
    linux.mount("tmpfs", closed, "tmpfs", 0, "mode=755")
    os.makedirs(sys.base_prefix)
    linux.mount(stage, sys.base_prefix, None, 4096)

def refused(number):
    return bpf.verdict(0x50000 | number)

allow, numbers = bpf.verdict(0x7FFF0000), syscalls.machine().numbers
calls = {
    "namespaces": {numbers["unshare"]: refused(errno.EPERM)},
    "landlock": {numbers["landlock_create_ruleset"]: refused(errno.ENOSYS)},
    "filters": {numbers["seccomp"]: refused(errno.ENOSYS)},
    "listeners": {numbers["seccomp"]: bpf.has_any(1, 8, refused(errno.EINVAL), allow)},
}
verdicts = {number: block for name in order["lacks"] for number, block in calls[name].items()}
machine = syscalls.machine()
seccomp.install(bpf.by_architecture(machine.audit, bpf.by_number(verdicts, allow), allow))

import asyncio
from tinyagent import SandboxUnavailable
from tinyagent.execution.trust import ExecutionLimits
from tinyagent.execution.sandbox.executor import ProcessExecutor
answer = {}

async def main():
    exec(compile(order["code"], "<test>", "exec", flags=0x2000), globals())
    if "work" in globals():
        await work()

asyncio.run(main())
print(json.dumps(answer))
"""


def on_a_kernel_without(
    *lacks: str, code: str, for_nobody: Path | None = None
) -> dict[str, object]:
    """What the code, which is to define `async def work()`, puts into `answer`.

    Args:
        lacks: what the kernel has not.
        code: the program.
        for_nobody: a folder to use if Python must be made readable for all users.
    """
    order = {"lacks": lacks, "code": textwrap.dedent(code), "shows_python": "", "stage": ""}
    if for_nobody is not None:
        order |= {"shows_python": _closed_folder(), "stage": str(for_nobody)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(order)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _closed_folder() -> str:
    """The outermost folder above Python's files that other users may not enter; "" for none."""
    for folder in reversed(Path(sys.base_prefix).parents):
        if not folder.stat().st_mode & 0o001:
            if Path(__file__).is_relative_to(folder):
                pytest.skip(f"{folder} is closed to other users, and these tests are in it")
            return str(folder)
    return ""


def is_root() -> bool:
    """Whether these tests run as root."""
    return os.geteuid() == 0

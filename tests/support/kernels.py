"""Python programs on a kernel that lacks something: a filter refuses the calls that use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
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

allow, machine = bpf.verdict(0x7FFF0000), syscalls.machine()
calls = {
    "namespaces": ("unshare", refused(errno.EPERM)),
    "landlock": ("landlock_create_ruleset", refused(errno.ENOSYS)),
    "filters": ("seccomp", refused(errno.ENOSYS)),
    "listeners": ("seccomp", bpf.has_any(1, 8, refused(errno.EINVAL), allow)),
    "filters of all threads": ("seccomp", bpf.has_any(1, 1, refused(errno.EINVAL), allow)),
    "limits": ("prlimit64", bpf.one_of(2, [0], allow, refused(errno.EPERM))),
    "overlays": ("fsconfig", bpf.one_of(1, [0], refused(errno.EINVAL), allow)),
    "mapped mounts": ("mount_setattr", bpf.one_of(2, [0x9000], refused(errno.EINVAL), allow)),
}

def lacking(name):
    if name in calls:
        return calls[name]
    if name.startswith("CLONE_"):
        return "unshare", bpf.has_any(0, getattr(linux, name), refused(errno.EINVAL), allow)
    if name.startswith("PR_"):
        number = getattr(linux, "_" + name)
        return "prctl", bpf.one_of(0, [number], refused(errno.EINVAL), allow)
    return name, refused(errno.EPERM)

import asyncio
from tinyagent import Sandbox, SandboxUnavailable
from tinyagent.execution.trust import ExecutionLimits
from tinyagent.execution.sandbox.executor import ProcessExecutor

def start_on(lacks):
    receive, send = os.pipe()
    if child := os.fork():
        os.close(send)
        return receive, child
    named = [lacking(name) for name in lacks]
    verdicts = {machine.numbers[call]: block for call, block in named}
    seccomp.install(bpf.by_architecture(machine.audit, bpf.by_number(verdicts, allow), allow))
    answer = {}

    async def main():
        exec(compile(order["code"], "<test>", "exec", flags=0x2000), globals())
        if "work" in globals():
            await work()

    globals()["answer"] = answer
    asyncio.run(main())
    os.write(send, json.dumps(answer).encode())
    sys.exit(0)

answers = []
for first in range(0, len(order["kernels"]), 4):
    for receive, child in [start_on(lacks) for lacks in order["kernels"][first : first + 4]]:
        with open(receive) as pipe:
            answers.append(json.load(pipe))
        os.waitpid(child, 0)
print(json.dumps(answers))
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
    return on_kernels_without([lacks], code=code, for_nobody=for_nobody)[0]


def on_kernels_without(
    kernels: Sequence[Sequence[str]], *, code: str, for_nobody: Path | None = None
) -> list[dict[str, object]]:
    """What the code puts into `answer` on each of these kernels.

    Args:
        kernels: what each has not: a name of the table above, a `CLONE_` or `PR_` constant of
            `kernel/linux.py`, or a system call.
        code: the program.
        for_nobody: as above.
    """
    order = {"kernels": kernels, "code": textwrap.dedent(code), "shows_python": "", "stage": ""}
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
    answers: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return answers


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

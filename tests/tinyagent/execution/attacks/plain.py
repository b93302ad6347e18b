"""Run attacks by plain `exec`, each in its own process with limits: the proof that they are.

The socket whose number is the first argument takes the path of an order, with three descriptors:
standard output, standard error, and a socket for frames. The order is a JSON object: `steps`, and
`folder`, the working folder. The answer is the process's number, and its exit code at its end.
The other arguments are modules to load before any fork.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEGA = 2**20
LIBRARIES_MEGA = 4096  # of address space: allocators of Arrow and NumPy reserve much of it


class FinalAnswerGiven(BaseException):
    """What `final_answer` ends a step with."""


def final_answer(value: Any, **metadata: Any) -> None:
    """End the step, as in an executor."""
    raise FinalAnswerGiven


def make_tools() -> dict[str, Callable[..., Any]]:
    """The tools that every attack finds, one with a secret in its closure."""
    secret = os.environ.get("SANDBOX_CANARY", "")

    def echo(value: Any) -> Any:
        return value

    async def echo_later(value: Any) -> Any:
        return value

    def lookup(key: str) -> int:
        if key == "wrong":
            raise ValueError(f"no account {key!r} among {len(secret)}")
        return len(secret)

    return {
        "echo": echo,
        "echo_later": lambda value: asyncio.run(echo_later(value)),
        "lookup": lookup,
        "final_answer": final_answer,
    }


def main() -> None:
    """Serve until the socket is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    while True:
        path, descriptors, _, _ = socket.recv_fds(control, 4096, 3)
        if not path:
            return
        pid = os.fork()
        if not pid:
            control.close()
            _become(path.decode(), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(b"%d" % pid)
        _, status = os.waitpid(pid, 0)
        control.send(b"%d" % os.waitstatus_to_exitcode(status))


def _become(path: str, output: int, errors: int, frames: int) -> None:
    """In the child: run the order's steps; never returns."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    os.dup(frames)
    os.chdir(order["folder"])
    _limit(LIBRARIES_MEGA if sys.argv[2:] else 1024)
    code = 1
    try:
        _run(order["steps"])
        code = 0
    finally:
        with contextlib.suppress(BaseException):
            sys.__stdout__.flush()  # type: ignore[union-attr]  # it is there
        os._exit(code)


def _run(steps: list[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    stream = sys.stdout
    for step in steps:
        names.update(make_tools())
        sys.stdout = stream
        stream.write("STEP\n")
        stream.flush()
        try:
            exec(step, names)  # noqa: S102 - an attack, run on purpose
        except FinalAnswerGiven:
            stream.write("ANSWERED\n")
        except Exception:  # noqa: BLE001 - the next step goes on, as in an executor
            traceback.print_exc(limit=20)


def _limit(megabytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    for kind, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + megabytes * MEGA),
        (resource.RLIMIT_CPU, 5),
        (resource.RLIMIT_FSIZE, 64 * MEGA),
        (resource.RLIMIT_NPROC, 512),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


if __name__ == "__main__":
    main()

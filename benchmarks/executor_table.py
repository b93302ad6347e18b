"""Other ways to run a model's code, beside this project's, in one run.

`start` is a new session with its first step, `step` one more, `loop` some recursion in pure Python
against the same in plain CPython.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from executors import STEP, median_of
from peer_table import ENVIRONMENTS, HERE, python_of

from tinyagent import Sandbox, SandboxUnavailable, TrustLevel
from tinyagent.execution import ProcessExecutor
from tinyagent.execution.protocol import Executor
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.templates import close_templates

LOOP = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(24)"
PINS = {"smolagents": "smolagents==1.26.0", "monty": "pydantic-monty==1.4.0"}
LIMIT = 120.0


class Figures(NamedTuple):
    """Microseconds."""

    start: float
    step: float
    loop: float


def rows() -> Iterator[str]:
    """The table's lines, as Markdown."""
    plain = median_of(lambda: exec(LOOP, {}), 5)  # noqa: S102 - the floor of the loop
    yield "| how | a session and its first step | a step | a loop, times plain CPython |"
    yield "|---|--:|--:|--:|"
    for name, measure in _cases().items():
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            start, step, loop = measure()
        except (SandboxUnavailable, subprocess.SubprocessError, OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[-1][:200].replace("|", "/")
            yield f"| {name} | not measured: {reason} | - | - |"
        else:
            figures = f"{start / 1000:,.2f} ms | {step / 1000:,.2f} ms | {loop / plain:.2f}"
            yield f"| {name} | {figures} |"


def _cases() -> dict[str, Callable[[], Figures]]:
    return {
        "`exec` in this process (no boundary)": _plain,
        "LOCAL (no boundary), each step in a fork": lambda: _ours(
            lambda: ProcessExecutor(Sandbox("local"))
        ),
        "ISOLATED, each step in a fork": lambda: _ours(ProcessExecutor),
        "ISOLATED, without checkpoints": lambda: _ours(
            lambda: ProcessExecutor(Sandbox(checkpoints=0))
        ),
        "SANDBOXED by bubblewrap": lambda: _engine("bubblewrap"),
        "SANDBOXED by Podman": _podman,
        "smolagents 1.26 local executor (no boundary)": lambda: _peer("smolagents"),
        "pydantic-monty 1.4, warm pool": lambda: _peer("monty"),
        "a cold `python -I`": lambda: _cold([sys.executable, "-I"]),
        "a cold `python -I` in bubblewrap": lambda: _cold(_in_bubblewrap()),
    }


def _plain() -> Figures:
    names: dict[str, object] = {}
    step = median_of(lambda: exec(STEP, names), 200)  # noqa: S102 - what is measured
    return Figures(step, step, median_of(lambda: exec(LOOP, {}), 5))  # noqa: S102 - as above


def _ours(make: Callable[[], Executor]) -> Figures:
    async def measure() -> Figures:
        async def timed(executor: Executor, code: str) -> float:
            started = time.perf_counter()
            result = await executor.run(code)
            if result.error is not None:
                raise ValueError(result.error)
            return (time.perf_counter() - started) * 1e6

        starts: list[float] = []
        for _ in range(20):
            async with make() as executor:
                starts.append(await timed(executor, STEP))
        async with make() as executor:
            await timed(executor, STEP)
            steps = [await timed(executor, STEP) for _ in range(50)]
            loops = [await timed(executor, LOOP) for _ in range(5)]
        return Figures(*(statistics.median(taken) for taken in (starts[1:], steps, loops)))

    return asyncio.run(measure())


def _engine(name: str) -> Figures:
    lacking = ENGINES[name].missing()
    if lacking:
        raise SandboxUnavailable(lacking)
    return _ours(lambda: ProcessExecutor(Sandbox(TrustLevel.SANDBOXED, engine=name)))


def _podman() -> Figures:
    """With the machine's own image of Python, or with one made of this interpreter."""
    if shutil.which("podman") is None or not ENGINES["podman"].missing():
        return _engine("podman")
    sys.path.append(str(HERE.parent))
    from tests.support.podman import offline_podman  # noqa: PLC0415 - found from here on

    with offline_podman() as variables:
        os.environ.update(variables)
        try:
            return _engine("podman")
        finally:
            close_templates()
            for name in variables:
                del os.environ[name]


def _peer(name: str) -> Figures:
    pins = (HERE / "peers" / f"{name}.txt").read_text() if name == "smolagents" else PINS[name]
    python = python_of(name, pins)
    script = Path(__file__).parent / "sandboxes" / f"in_{name}.py"
    done = subprocess.run(
        [python, str(script), STEP, LOOP], check=True, capture_output=True, text=True, timeout=LIMIT
    )
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def _cold(command: list[str]) -> Figures:
    def run(code: str) -> None:
        subprocess.run([*command, "-c", code], check=True, capture_output=True, timeout=LIMIT)

    step = median_of(lambda: run(STEP), 10)
    return Figures(step, step, median_of(lambda: run(LOOP), 3))


def _in_bubblewrap() -> list[str]:
    from tinyagent.execution.sandbox.engines.bubblewrap import bwrap_program  # noqa: PLC0415 - Linux only

    walls = ["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    return [bwrap_program(), *walls, sys.executable, "-I"]


if __name__ == "__main__":
    if not ENVIRONMENTS.parent.is_dir():
        ENVIRONMENTS.mkdir(parents=True)
    for line in rows():
        print(line, flush=True)

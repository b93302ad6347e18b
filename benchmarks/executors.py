"""What a session, a step and a tool call cost, beside plain forms of the same in the same run.

Wall-clock times: what is measured is mostly the kernel's work and the waiting for another process.
Each round measures all forms once. A form's figure is its fastest go of the round, for other work
on the machine only ever adds, and the more of it the more processes are needed; a ratio is the
median of the rounds' ratios.

How long a message to another process takes hangs on where that runs: an echo takes a fifth of the
time where both take turns on one core. So a step is compared with an echo in both placements.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pairs import Row

from tinyagent import Sandbox
from tinyagent.execution import ProcessExecutor
from tinyagent.execution.sandbox.engines.base import ENVIRONMENT, WORKER_FOLDER
from tinyagent.execution.sandbox.templates import ALWAYS

ROUNDS = 9
STEP = "x = 1"
_FLOOR = Path(__file__).parent / "fork_floor.py"

Measure = Callable[[], Awaitable[float]]
"""Gives the microseconds of the fastest go."""


@contextmanager
def bare_forks() -> Generator[Measure]:
    """`os.fork` and `waitpid` in a process that has loaded what the template has."""
    command = [sys.executable, "-I", str(_FLOOR), str(WORKER_FOLDER), *ALWAYS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        orders, answers = process.stdin, process.stdout

        async def measure() -> float:
            orders.write("fork\n")
            orders.flush()
            return float(answers.readline())

        try:
            yield measure
        finally:
            orders.close()


@contextmanager
def json_echo() -> Generator[Measure]:
    """A small JSON object over a socket pair to another process and back, on the event loop."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        while data := theirs.recv(1 << 16):
            theirs.sendall(json.dumps(json.loads(data)).encode())
        os._exit(0)
    theirs.close()

    ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature

    async def measure() -> float:
        loop = asyncio.get_running_loop()

        async def go() -> None:
            await loop.sock_sendall(ours, json.dumps({"step": 1, "code": STEP}).encode())
            json.loads(await loop.sock_recv(ours, 1 << 16))

        return await fastest_of(go, 200)

    try:
        yield measure
    finally:
        ours.close()
        os.waitpid(child, 0)


def median_of(go: Callable[[], object], times: int) -> float:
    """Median microseconds of one go."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        go()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1e6


async def fastest_of(go: Callable[[], Awaitable[object]], times: int) -> float:
    """Microseconds of the fastest go."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        await go()
        taken.append(time.perf_counter() - started)
    return min(taken) * 1e6


def placed(measure: Measure, own: set[int], others: set[int]) -> Measure:
    """The measure with this thread on the cores `own`, all processes it has started on `others`."""

    async def go() -> float:
        everywhere = os.sched_getaffinity(0)
        started = [pid for pid in descendants(os.getpid()) if pid != os.getpid()]
        try:
            _place(started, others)
            os.sched_setaffinity(0, own)
            return await measure()
        finally:
            _place(started, everywhere)
            os.sched_setaffinity(0, everywhere)

    return go


def _place(pids: Iterable[int], cores: set[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.sched_setaffinity(pid, cores)


def descendants(pid: int) -> Iterator[int]:
    """The process and all that it has started, and they."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            yield from descendants(int(child))


def session_and_step() -> Measure:
    """A new session, its first step, and the end of it; the end is not counted."""

    async def go() -> float:
        executor = ProcessExecutor()
        started = time.perf_counter()
        await executor.run(STEP)
        taken = time.perf_counter() - started
        await executor.aclose()
        await asyncio.sleep(0.01)  # the template forks the next process ahead
        return taken * 1e6

    async def measure() -> float:
        return min([await go() for _ in range(15)])

    return measure


def warm_step(executor: ProcessExecutor, code: str = STEP, times: int = 100) -> Measure:
    """A step in a session that has run some."""

    async def measure() -> float:
        return await fastest_of(lambda: executor.run(code), times)

    return measure


def tool_call(executor: ProcessExecutor) -> Measure:
    """One call of an async tool from code, of many in one step."""
    code = (
        "import time\nstarted = time.perf_counter()\nfor _ in range(100): add(1, 2)\n"
        "(time.perf_counter() - started) / 100 * 1e6"
    )

    async def measure() -> float:
        result = await executor.run(code)
        return float(result.value)

    return measure


async def _add(a: int, b: int) -> int:
    return a + b


async def executor_rows() -> list[Row]:
    """The rows of all cases."""
    with bare_forks() as fork, json_echo() as echo:
        plain, forking = ProcessExecutor(Sandbox(checkpoints=0)), ProcessExecutor()
        plain.inject("add", _add)
        first, *_, last = sorted(os.sched_getaffinity(0))
        cases: dict[str, Measure] = {
            "fork": fork,
            "echo": placed(echo, {first}, {first}),
            "echo apart": placed(echo, {first}, {last}),
            "new": session_and_step(),
            "step": placed(warm_step(plain), {first}, {first}),
            "step apart": placed(warm_step(plain), {first}, {last}),
            "fork step": warm_step(forking, times=30),
            "tool": placed(tool_call(plain), {first}, {first}),
        }
        for measure in cases.values():
            await measure()
        rounds = [{name: await measure() for name, measure in cases.items()} for _ in range(ROUNDS)]
        await plain.aclose()
        await forking.aclose()
    return _rows(rounds)


WORK = {
    "pure Python": """
def count(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
""",
    "NumPy": """
import numpy
def count(n):
    values = numpy.arange(n, dtype=float)
    for _ in range(20):
        values = numpy.sqrt(values * values + 1.0)
    return values.sum()
""",
    "pandas": """
import numpy, pandas
frame = pandas.DataFrame({"k": numpy.arange(300_000) % 1000, "v": numpy.arange(300_000.0)})
def count(n):
    return frame.groupby("k").v.agg(["sum", "mean", "max"]).sum().sum()
""",
}
_TIMED = """
import time
count({size})
started = time.perf_counter()
count({size})
print(time.perf_counter() - started)
"""


async def cpu_rows() -> list[Row]:
    """CPU-bound code in a session, against the same in plain CPython."""
    rows: list[Row] = []
    for name, work in WORK.items():
        code = work + _TIMED.format(size=1_500_000)
        ratios: list[float] = []
        mine: list[float] = []
        for _ in range(ROUNDS):
            async with ProcessExecutor() as executor:
                result = await executor.run(code)
            if result.error is not None:
                raise RuntimeError(result.error)
            mine.append(float(result.output))
            ratios.append(_plain_seconds(code) / float(result.output))
        speed = statistics.median(ratios)
        rows.append(
            Row(
                f"{name}: speed of a session / of plain CPython",
                f"{statistics.median(mine) * 1000:,.0f} ms",
                "-",
                f"{speed:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                ">= 0.95",
                speed >= 0.95,
            )
        )
    return rows


def _plain_seconds(code: str) -> float:
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    return float(done.stdout)


def _rows(rounds: list[dict[str, float]]) -> list[Row]:
    def row(case: str, ours: str, floor: str, target: float | None = None, less: str = "") -> Row:
        mine = [figures[ours] - (figures[less] if less else 0) for figures in rounds]
        other = [figures[floor] for figures in rounds]
        ratios = [a / b for a, b in zip(mine, other, strict=True)]
        ratio = statistics.median(ratios)
        return Row(
            case,
            f"{statistics.median(mine):,.0f} us",
            f"{statistics.median(other):,.0f} us",
            f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            "-" if target is None else f"<= {target:g}",
            target is None or ratio <= target,
        )

    return [
        row("a new session and its first step / bare fork and wait", "new", "fork", 4),
        row(
            "a warm step / JSON echo over a socket pair, on two cores",
            "step apart",
            "echo apart",
            3,
        ),
        row("the same, host and session on one core", "step", "echo"),
        row("a tool call from code / warm step", "tool", "step", 1.5),
        row(
            "what a checkpoint adds to a step / bare fork and wait", "fork step", "fork", 2, "step"
        ),
    ]

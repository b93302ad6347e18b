"""Probes of limits: time, memory, processes and files. The others are in `probes`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from tinyagent.core.threads import run_in_thread
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.doctor.bench import (
    LIMITS,
    Bench,
    ProbeFailed,
    ProbeResult,
    processes_called,
)
from tinyagent.execution.protocol import ExecutionResult

SHORT = replace(LIMITS, timeout_seconds=0.3)
_LATEST = 15.0  # seconds: on a busy machine the host has to wait as well
_LONG = replace(LIMITS, timeout_seconds=30)
_FEW = replace(LIMITS, max_processes=8)
_FORK_SPARE = 10  # other processes of a session: its warden, earlier states
_PART = 24 << 20
_MOST_TIMES = 2.4  # of the limit: the step and the state before it, and a fifth
_TAKE = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p

def take(flags, rights=3):
    for _ in range(256):
        place = libc.mmap(None, ctypes.c_size_t(2**20), 3, 0x22 | flags, -1, ctypes.c_long(0))
        if place in (None, 2**64 - 1):
            fail()
        ctypes.memset(place, 1, 2**20)
        libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(2**20), rights)
"""
_FORK_AND_TAKE = f"""
import os, select, signal
read, write = os.pipe()
started = 0
for _ in range(8):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        try:
            taken = b"x" * {_PART}
            os.write(write, b"y")
        except MemoryError:
            os.write(write, b"n")
        while True:
            signal.pause()
    started += 1
answers = b""
while len(answers) < started:
    answers += os.read(read, 8)
answers.count(b"y")
"""
_LOOPS = {
    "a loop": "while True: pass",
    "a loop in C": "import itertools; sum(itertools.repeat(0))",
}
NAME_ITSELF = "import ctypes; ctypes.CDLL(None).prctl(15, MARK.encode(), 0, 0, 0)"


async def time_limit(bench: Bench) -> ProbeResult:
    """Loop without end, in Python and in C."""
    began = time.monotonic()
    runs = [bench.steps(code, limits=SHORT) for code in _LOOPS.values()]
    results = [result for results in await asyncio.gather(*runs) for result in results]
    took = time.monotonic() - began
    outcomes = [
        f"{name}: {'ended' if result.timed_out else 'not ended'}"
        for name, result in zip(_LOOPS, results, strict=True)
    ]
    tried = f"{'; '.join(outcomes)} after {took:.1f} s"
    if not all(result.timed_out for result in results):
        return ProbeResult(held=False, tried=tried)
    if took > _LATEST:
        raise ProbeFailed(f"{tried}: the machine is too busy to show when")
    return ProbeResult(held=True, tried=tried)


async def memory_limit(bench: Bench) -> ProbeResult:
    """Take more memory than there may be: at once, and piece by piece."""
    acts = {
        "at once": "bytearray(4 * 2**26)",
        "in small pieces": "[bytes(1000) for _ in range(4 * 2**26 // 1000)]",
        "as a stack": "take(0x100)",
        "as memory that is then read only": "take(0, 1)",
    }
    finding = await bench.attempts(acts, _TAKE)
    if not finding.held:
        return finding
    (result,) = await bench.steps(_FORK_AND_TAKE, limits=_LONG)
    if result.timed_out:
        raise ProbeFailed("eight processes had not filled their memory in time")
    filled: int = result.value if isinstance(result.value, int) else 0
    held = filled * _PART <= _MOST_TIMES * LIMITS.max_memory_bytes
    shares = f"{filled} of 8 processes got {_PART >> 20} MiB, limit {LIMITS.max_memory_bytes >> 20}"
    return ProbeResult(held, f"{finding.tried}; {shares}")


async def process_limit(bench: Bench) -> ProbeResult:
    """Start processes and threads until refused; the next step must find none left."""
    forks = f"""
import os, signal
MARK = {bench.canaries.mark!r}
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            {NAME_ITSELF}
            signal.pause()
        count += 1
except OSError:
    pass
count
"""
    threads = """
import threading
threading.stack_size(2**16)
count, end = 0, threading.Event()
try:
    while count < 100:
        threading.Thread(target=end.wait, daemon=True).start()
        count += 1
except RuntimeError:
    pass
end.set()
count
"""
    async with bench.open(Sandbox(limits=_FEW)) as executor:
        counts: list[int] = [whole(await executor.run(forks)).value]
        counts.append(whole(await executor.run(threads)).value)
        left = len(await run_in_thread(processes_called, mark=bench.canaries.mark))
    held = max(counts) <= _FEW.max_processes + _FORK_SPARE and not left
    counted = f"limit {_FEW.max_processes}: {counts[0]} forks, {counts[1]} threads"
    return ProbeResult(held, f"{counted}; left after the step: {left}")


def whole(result: ExecutionResult) -> ExecutionResult:
    """The result of a step that must have finished.

    Raises:
        ProbeFailed: It did not.
    """
    if result.error is not None:
        raise ProbeFailed(result.error.strip().splitlines()[-1])
    return result

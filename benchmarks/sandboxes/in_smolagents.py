"""smolagents' local executor: microseconds of a start with its first step, of a step, of a loop."""

from __future__ import annotations

import json
import sys
import time

from smolagents.local_python_executor import LocalPythonExecutor

STEP, LOOP = sys.argv[1:3]


def start() -> LocalPythonExecutor:
    """A session and its first step."""
    executor = LocalPythonExecutor([])
    executor.send_tools({})
    executor(STEP)
    return executor


def median(go: object, times: int) -> float:
    """Median microseconds of one go."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        go()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[times // 2] * 1e6


executor = start()
print(
    json.dumps(
        {
            "start": median(start, 50),
            "step": median(lambda: executor(STEP), 100),
            "loop": median(lambda: executor(LOOP), 1),
        }
    )
)

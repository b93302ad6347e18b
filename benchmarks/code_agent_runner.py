"""Measures one framework's code agent, in the environment of this interpreter, when asked to.

Arguments: the framework (`sandboxes/code_NAME.py` with a class `Case`), its executor, the mock
server's base URL. For each line of standard input it prints the CPU milliseconds of one run as
JSON: of all of it, of the model's client in it, and of the plain code.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from code_agent_blocks import STEPS, block
from code_agent_cpu import children_seconds, wait_for_children
from floor import ANSWER

REPEATS = 10
Go = Callable[[], Awaitable[object]]


async def seconds(go: Go, expected: object) -> float:
    """CPU of one go in this process."""
    started = time.process_time()
    came = await go()
    if came != expected:
        raise RuntimeError(f"it came to {came!r}, not {expected!r}")
    return time.process_time() - started


async def measure(case: Any, children: int) -> dict[str, float]:
    """CPU milliseconds of a run; `whole` counts all processes that stem from this one.

    Run and client take turns, so that other work on the machine slows both alike.
    """
    gc.collect()
    taken = dict.fromkeys(("whole", "client", "code"), 0.0)
    before = children_seconds()
    for _ in range(REPEATS):
        taken["whole"] += await seconds(case.run, ANSWER)
        taken["client"] += await seconds(case.ask, STEPS + 1)
        taken["code"] += await seconds(plain_code, None)
    wait_for_children(children)  # else the end of the last session would not be counted
    taken["whole"] += children_seconds() - before
    return {name: total * 1000 / REPEATS for name, total in taken.items()}


async def plain_code() -> None:
    """The code without a sandbox and without an agent."""
    names: dict[str, Any] = {"add": lambda a, b: a + b, "final_answer": str}
    with redirect_stdout(StringIO()):
        for number in range(STEPS + 1):
            exec(block(number), names)  # noqa: S102 - it is written in this benchmark


async def serve(case: Any) -> None:
    """Answer each line of standard input."""
    await case.run()  # starts what is started once a process
    children = wait_for_children(None)
    for _ in sys.stdin:
        print(json.dumps(await measure(case, children)), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent / "sandboxes"))
    framework, executor, base_url = sys.argv[1:4]
    asyncio.run(serve(importlib.import_module(f"code_{framework}").Case(base_url, executor)))

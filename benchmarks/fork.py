"""Branches of a session that holds 100 MB: milliseconds until all are ready, and what they take.

python benchmarks/fork.py
"""

from __future__ import annotations

import asyncio
import statistics
import time

from tinyagent import Sandbox
from tinyagent.execution import ProcessExecutor

BRANCHES = 8
ROUNDS = 7
_STATE = "import numpy as np\nrows = np.ones(13_000_000)\nopen('file', 'w').write('text')\n0"


async def main() -> None:
    """Fork, let each branch run a step, and print the medians."""
    ready: list[float] = []
    stepped: list[float] = []
    async with ProcessExecutor(Sandbox(imports=["numpy"])) as executor:
        await executor.run(_STATE)
        for _ in range(ROUNDS):
            began = time.perf_counter()
            branches = await executor.fork(BRANCHES)
            ready.append(time.perf_counter() - began)
            results = await asyncio.gather(*(each.run("float(rows.sum())") for each in branches))
            stepped.append(time.perf_counter() - began)
            if any(result.value != 13e6 for result in results):
                raise SystemExit(f"wrong values: {[result.error for result in results]}")
            for each in branches:
                await each.aclose()
            await executor.run("0")
    for name, times in (("ready", ready), ("each has run a step", stepped)):
        milliseconds = statistics.median(times) * 1000
        print(f"{BRANCHES} branches with 104 MB, {name}: {milliseconds:.0f} ms (median)")


if __name__ == "__main__":
    asyncio.run(main())

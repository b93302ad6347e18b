"""What packages of its own cost a session: the first start, later starts, and imports.

It fetches four packages from the index, into a cache of its own.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time

from tinyagent import Sandbox
from tinyagent.execution import ProcessExecutor

NAMES = ("polars>=2", "scikit-learn", "lxml", "pillow")
ROUNDS = 60
CODE = "1 + 1"
TARGET = 1.5


async def start(names: tuple[str, ...], code: str = CODE) -> float:
    """The seconds from making an executor to the result of its first step."""
    began = time.perf_counter()
    async with ProcessExecutor(Sandbox(packages=names, checkpoints=0)) as executor:
        result = await executor.run(code)
        if result.error is not None:
            raise SystemExit(result.error)
        return time.perf_counter() - began


async def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TINYAGENT_PACKAGES"] = cache
        first = await start(NAMES)
        await start(())
        starts: dict[tuple[str, ...], list[float]] = {(): [], NAMES: []}
        for _ in range(ROUNDS):
            for names, times in starts.items():
                times.append(await start(names))
        bare, own = (statistics.median(times) for times in starts.values())
        imports = {
            name: await start(NAMES, f"import {name}") - own
            for name in ("polars", "sklearn", "lxml.etree", "PIL.Image", "numpy")
        }
    print(f"resolve, fetch, check and compile {', '.join(NAMES)}: {first:.1f} s")
    print(f"later start with the set {own * 1e3:.1f} ms, without packages {bare * 1e3:.1f} ms")
    print(f"ratio {own / bare:.2f} (target: at most {TARGET})")
    for name, seconds in imports.items():
        print(f"import {name}: {seconds * 1e3:.0f} ms")


if __name__ == "__main__":
    asyncio.run(main())

"""What `apart` of a sealed agent costs beside a new session that runs one line.

python benchmarks/sealed.py
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from tinyagent import Sandbox
from tinyagent.agents.code_sealed import SealedHelpers
from tinyagent.core.context import RunControl
from tinyagent.core.provenance import Label
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.models.scripted import ScriptedModel
from tinyagent.provenance.vault import Vault

ROUNDS = 30
TARGET = 2.0


def sandbox() -> ProcessExecutor:
    """A sandbox as `apart` makes one."""
    return ProcessExecutor(Sandbox("isolated", checkpoints=0))


async def session() -> None:
    """A new session that runs one line."""
    async with sandbox() as executor:
        await executor.run("1 + 1")


async def main() -> None:
    """Measure both in turn, and print the medians and their ratio."""
    control = RunControl("benchmark", 1, {})
    vault = control.vault = Vault(0, lambda _: None)
    source = "def measure(text):\n    return len(text)"
    helpers = SealedHelpers(control, ScriptedModel([]), sandbox, lambda: [source], lambda _: None)
    text = vault.seal("x" * 10_000, str, Label(frozenset({"read_mail"})), "read_mail")

    async def apart() -> None:
        await helpers.apart("<function measure at 0x1>", text, gives="int")

    ways: list[Callable[[], Awaitable[None]]] = [session, apart]
    seconds: list[list[float]] = [[], []]
    for number in range(ROUNDS + 1):
        for way, taken in zip(ways, seconds, strict=True):
            began = time.perf_counter()
            await way()
            if number:  # the first starts the template
                taken.append(time.perf_counter() - began)
    one, other = (statistics.median(taken) * 1000 for taken in seconds)
    print(f"new session {one:.1f} ms, apart {other:.1f} ms")
    print(f"apart / new session: {other / one:.2f}, at most {TARGET}")


if __name__ == "__main__":
    asyncio.run(main())

"""No attack gets anything out of a sandbox, and none harms its host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.cases import Attack
from tests.tinyagent.execution.attacks.confined import MakeExecutor, limits_of, run_confined
from tests.tinyagent.execution.attacks.everything import ALL

from tinyagent import Sandbox
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.trust import TrustLevel

# What another engine's walls hold back; the rest is up to host and worker, the same everywhere.
AT_THE_WALLS = {
    *(
        "bombs",
        "descriptors",
        "file reads",
        "filling",
        "floods",
        "hidden files",
        "lingering",
        "loading",
    ),
    *(
        "memory of others",
        "network",
        "other processes",
        "shared files",
        "signals",
        "system calls",
        "writes",
    ),
}
# What differs where steps run in the session itself, with no fork to fall back to.
ABOUT_PROCESSES = {
    "bombs",
    "descriptors",
    "forged frames",
    "lingering",
    "memory",
    "shared files",
    "signals",
}

AT_SANDBOXED = [attack for attack in ALL if attack.group in AT_THE_WALLS]
WITHOUT_CHECKPOINTS = [attack for attack in ALL if attack.group in ABOUT_PROCESSES]


@pytest.fixture
async def make_executor(canaries: Canaries) -> AsyncIterator[MakeExecutor]:
    """An executor for an attack, at a trust level; closed at the end."""
    made: list[ProcessExecutor] = []

    def make(attack: Attack, level: TrustLevel, **options: Any) -> ProcessExecutor:
        executor = ProcessExecutor(
            Sandbox(level, limits=limits_of(attack), imports=attack.imports, **options)
        )
        made.append(executor)
        return executor

    yield make
    for executor in made:
        await executor.aclose()


def name_of(attack: Attack) -> str:
    return attack.id


@pytest.mark.parametrize("attack", ALL, ids=name_of)
async def test_isolated(attack: Attack, make_executor: MakeExecutor, canaries: Canaries) -> None:
    await run_confined(attack, make_executor(attack, TrustLevel.ISOLATED), canaries)


@pytest.mark.parametrize("attack", AT_SANDBOXED, ids=name_of)
async def test_sandboxed(attack: Attack, make_executor: MakeExecutor, canaries: Canaries) -> None:
    lacking = ENGINES["bubblewrap"].missing()
    if lacking:
        pytest.skip(lacking)
    executor = make_executor(attack, TrustLevel.SANDBOXED, engine="bubblewrap")
    await run_confined(attack, executor, canaries)


@pytest.mark.parametrize("attack", WITHOUT_CHECKPOINTS, ids=name_of)
async def test_without_checkpoints(
    attack: Attack, make_executor: MakeExecutor, canaries: Canaries
) -> None:
    executor = make_executor(attack, TrustLevel.ISOLATED, checkpoints=0)
    await run_confined(attack, executor, canaries, checkpoints=False)

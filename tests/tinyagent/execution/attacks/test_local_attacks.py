"""At LOCAL, code neither outlasts its time limit nor harms its session or its host."""

from __future__ import annotations

import pytest
from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.cases import Attack
from tests.tinyagent.execution.attacks.confined import limits_of, run_confined
from tests.tinyagent.execution.attacks.everything import LOCAL

from tinyagent import Sandbox
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.trust import TrustLevel


@pytest.mark.parametrize("attack", LOCAL, ids=lambda attack: attack.id)
async def test_local(attack: Attack, canaries: Canaries) -> None:
    needed = ("builtins", "ctypes", "os", "sys", *attack.libraries)
    async with ProcessExecutor(
        Sandbox(TrustLevel.LOCAL, limits=limits_of(attack), imports=needed)
    ) as executor:
        await run_confined(attack, executor, canaries)

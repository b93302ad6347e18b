from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.execution import within

from tinyagent import Sandbox
from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.executor import ProcessExecutor, get_executor
from tinyagent.execution.trust import TrustLevel


@pytest.mark.parametrize("level", TrustLevel)
def test_the_level_is_the_executors(level: TrustLevel) -> None:
    executor = get_executor(Sandbox(str(level)))
    assert isinstance(executor, ProcessExecutor)
    assert executor.sandbox.level is level
    assert ProcessExecutor().sandbox.level is TrustLevel.ISOLATED


def test_a_level_that_does_not_exist_is_reported() -> None:
    with pytest.raises(
        ConfigurationError, match="no trust level 'safe'; use local, isolated, sandboxed"
    ):
        get_executor(Sandbox("safe"))


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_every_level_runs_a_step_within_its_limits(level: TrustLevel) -> None:
    executor = get_executor(Sandbox(level, limits=within(20, max_steps=1), imports=["fractions"]))
    async with executor:
        result = await executor.run("import fractions\nstr(fractions.Fraction(1, 2) / 3)")
        assert (result.error, result.value) == (None, "1/6")
        assert "all 1 steps of this session are used up" in ((await executor.run("1")).error or "")


async def test_options_reach_the_process(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("text")
    async with get_executor(Sandbox(files=[tmp_path / "data"], checkpoints=1)) as executor:
        assert (await executor.run("open('data').read()")).value == "text"

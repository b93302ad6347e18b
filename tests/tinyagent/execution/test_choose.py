from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import within

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.choose import get_executor
from tinyagent.execution.limits import TrustLevel
from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.process import ProcessExecutor


def test_each_level_has_its_executor() -> None:
    default = get_executor()
    assert isinstance(default, ProcessExecutor)
    assert default.trust_level is TrustLevel.ISOLATED
    sandboxed = get_executor("sandboxed")
    assert isinstance(sandboxed, ProcessExecutor)
    assert sandboxed.trust_level is TrustLevel.SANDBOXED
    assert isinstance(get_executor("local"), LocalExecutor)
    assert isinstance(get_executor(TrustLevel.LOCAL), LocalExecutor)


def test_a_level_that_is_none_is_said() -> None:
    with pytest.raises(ConfigurationError, match="'safe' is none of local, isolated, sandboxed"):
        get_executor("safe")


@pytest.mark.parametrize(
    "options",
    [{"files": []}, {"checkpoints": 1}, {"engine": "kernel"}, {"keep_ready": True}],
)
def test_local_refuses_the_options_of_processes(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        get_executor("local", **options)


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_every_level_runs_a_step_within_its_limits(level: TrustLevel) -> None:
    executor = get_executor(level, limits=within(20, max_steps=1), extra_imports=["fractions"])
    async with executor:
        result = await executor.run("import fractions\nstr(fractions.Fraction(1, 2) / 3)")
        assert (result.error, result.value) == (None, "1/6")
        assert "all 1 steps of this session are used up" in ((await executor.run("1")).error or "")


async def test_options_reach_the_process(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("text")
    async with get_executor(files=[tmp_path / "data"], checkpoints=1) as executor:
        assert (await executor.run("open('data').read()")).value == "text"

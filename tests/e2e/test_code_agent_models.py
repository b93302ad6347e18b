"""A code agent with real models: the larger one, live and as it was recorded, and a small one.

Recorded again, if a prompt has changed, by:

    pytest tests/e2e/test_code_agent_models.py -k recorded --record-models
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.code_tasks import TASKS, CodeTask, write_files
from tests.support.coding import seconds

from tinyagent import Model, OpenAIModel, Sandbox, TinyAgentError, TinyCodeAgent, get_executor
from tinyagent.models import RecordedModel

LARGE = "qwen2.5-coder-1.5b-instruct"
STATES = {"completed", "step_limit_reached", "usage_limit_reached", "error", "cut_off"}
_SHORT: dict[str, Any] = {"max_steps": 6, "max_tokens": 250, "temperature": 0}


def _agent(model: Model, task: CodeTask, folder: Path, **options: Any) -> TinyCodeAgent[Any]:
    """The agent of a task; what its model reads depends on no package of this machine."""
    files = write_files(task, folder)
    return TinyCodeAgent(
        model,
        task.tools,
        output_type=task.output_type,
        executor=partial(get_executor, Sandbox(files=files, limits=seconds(30))),
        **{**_SHORT, **options},
    )


async def _failures(
    agent_of: Callable[[CodeTask], TinyCodeAgent[Any]],
) -> list[str]:
    """What happened in each run that did not end with the right answer."""
    failed: list[str] = []
    for task in TASKS:
        result = await agent_of(task).run(task.task, return_result=True)
        if result.state != "completed" or not task.is_right(result):
            steps = "\n".join(f"{step.code}\n-> {step.observation}" for step in result.steps)
            failed.append(f"{task.name}: {result.state}, {result.output!r}\n{steps}")
    return failed


@pytest.mark.models
@pytest.mark.timeout(3600)
async def test_a_larger_model_does_five_of_six_tasks(large_model: str, tmp_path: Path) -> None:
    model = OpenAIModel(LARGE, base_url=large_model, timeout=600)

    def agent(task: CodeTask) -> TinyCodeAgent[Any]:
        files = write_files(task, tmp_path)
        return TinyCodeAgent(
            model, task.tools, output_type=task.output_type, sandbox=Sandbox(files=files), **_SHORT
        )

    failed = await _failures(agent)
    assert len(failed) <= 1, "\n\n".join(failed)


@pytest.mark.timeout(3600)
async def test_a_recorded_model_does_five_of_six_tasks(
    request: pytest.FixtureRequest,
    recorded_model: Callable[[Model | str], RecordedModel],
    tmp_path: Path,
) -> None:
    recording = request.config.getoption("--record-models")
    base_url = request.getfixturevalue("large_model") if recording else "http://127.0.0.1:1/v1"

    def agent(task: CodeTask) -> TinyCodeAgent[Any]:
        model = recorded_model(OpenAIModel(LARGE, base_url=base_url, timeout=600))
        return _agent(model, task, tmp_path)

    failed = await _failures(agent)
    assert len(failed) <= 1, "\n\n".join(failed)


@pytest.mark.llm
@pytest.mark.timeout(240)
@pytest.mark.parametrize("task", TASKS[:5], ids=lambda task: task.name)
async def test_whatever_a_small_model_writes_the_run_ends_in_a_state(
    task: CodeTask, small_model: str, tmp_path: Path
) -> None:
    model = OpenAIModel("smollm2-135m", base_url=small_model)
    agent = _agent(model, task, tmp_path, max_steps=3, max_tokens=80)
    result = await agent.run(task.task, return_result=True)
    assert result.state in STATES
    assert (result.state == "completed") is (result.error is None)
    assert result.error is None or isinstance(result.error, TinyAgentError)
    assert 1 <= result.steps_taken <= 3
    assert len(result.steps) == result.steps_taken
    assert all(step.observation for step in result.steps)

"""Short ways to a code agent whose model is scripted."""

from __future__ import annotations

from contextlib import aclosing
from textwrap import dedent
from typing import Any

import pytest

from tinyagent import (
    Event,
    ExecutionLimits,
    RunFinished,
    RunResult,
    ScriptedModel,
    TinyCodeAgent,
    TrustLevel,
)
from tinyagent.agents.code_observation import FINISH

each_level = pytest.mark.parametrize("level", list(TrustLevel))
each_process_level = pytest.mark.parametrize("level", [TrustLevel.ISOLATED, TrustLevel.SANDBOXED])


def block(code: str, thought: str = "") -> str:
    """A reply: a thought, and a block of code."""
    return f"{thought}\n```python\n{dedent(code).strip()}\n```".lstrip()


def coder(*codes: str) -> ScriptedModel:
    """A model that sends one block after the other."""
    return ScriptedModel([block(code) for code in codes])


def observed(model: ScriptedModel, request: int = -1) -> str:
    """What the model was shown of its code before this request, without the reminder to answer."""
    text = model.requests[request].messages[-1].text.removeprefix("Observation:\n")
    return text.replace(f"\n{FINISH}", "")


def seconds(timeout: float, **limits: Any) -> ExecutionLimits:
    """Limits with a time of so many seconds a block."""
    return ExecutionLimits(timeout_seconds=timeout, **limits)


async def events_of(agent: TinyCodeAgent[Any], task: str = "go", **options: Any) -> list[Event]:
    """All events of a run."""
    async with aclosing(agent.stream(task, **options)) as stream:
        return [event async for event in stream]


def result_of(events: list[Event]) -> RunResult[Any]:
    """The result of a run that was streamed."""
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last.result

"""Real models call a tool: the small one held to a schema, the larger one without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tinyagent import Event, OpenAIModel, ReactAgent, RunFinished, TextDelta, ToolFinished, tool
from tinyagent.core import ModelResponded, RecordingMismatch
from tinyagent.models import RecordedModel

PEOPLE = 545_123
TASK = "How many people live in Lisbon?"


@tool
def population(city: str) -> str:
    """Look up how many people live in a city.

    Args:
        city: the city's name
    """
    return f"The population of {city} is {PEOPLE} people."


def _agent(model: OpenAIModel | RecordedModel) -> ReactAgent[int]:
    return ReactAgent(
        model,
        [population],
        output_type=int,
        tool_calling_mode="structured",
        temperature=0,
        max_tokens=120,
    )


def _content(event: Event) -> Any:
    """An event without what differs from run to run: times and made-up ids."""
    match event:
        case TextDelta(text=text):
            return text
        case ModelResponded(response=response):
            return replace(response, id="")
        case ToolFinished(result=result):
            return (result.call.name, dict(result.call.arguments), result.content, result.note)
        case RunFinished(result=result):
            return (result.state, result.output, result.usage)
        case _:
            return type(event)


@pytest.mark.llm
@pytest.mark.timeout(240)
async def test_a_small_model_held_to_a_schema_calls_and_answers_and_is_replayed(
    small_model: str, tmp_path: Path
) -> None:
    file = tmp_path / "lisbon.json"
    live = RecordedModel(file, OpenAIModel("smollm2-135m", base_url=small_model), mode="record")
    events = [event async for event in _agent(live).stream(TASK)]
    last = events[-1]
    assert isinstance(last, RunFinished)
    calls = [result for step in last.result.steps for result in step.results]
    assert calls
    assert not any(result.is_error for result in calls)
    assert last.result.output == PEOPLE

    replayed = RecordedModel(file, mode="replay")
    again = [event async for event in _agent(replayed).stream(TASK)]
    assert [_content(event) for event in again] == [_content(event) for event in events]

    drifted = _agent(RecordedModel(file, mode="replay"))
    with pytest.raises(RecordingMismatch, match=r"(?s)-.*in Lisbon.*\+.*in Porto"):
        await drifted.run(TASK.replace("Lisbon", "Porto"))


@pytest.mark.models
@pytest.mark.timeout(600)
async def test_a_larger_model_calls_the_tool_natively(large_model: str) -> None:
    model = OpenAIModel("qwen2.5-coder-1.5b-instruct", base_url=large_model, timeout=300)
    agent = ReactAgent(
        model, [population], tool_calling_mode="native", temperature=0, max_tokens=200
    )
    result = await agent.run(f"{TASK} Call population with the city.")
    assert [call.call.name for step in result.steps for call in step.results] == ["population"]
    assert str(PEOPLE) in result.output.replace(",", "")

"""Recorded runs of both agents: each request begins with the one before it.

The code agent's runs are those of `test_code_agent_models.py`. The other's is recorded again with

    pytest tests/e2e/test_recorded_prefixes.py --record-models
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tinyagent import Model, OpenAIModel, ReactAgent, tool
from tinyagent.core.types import ModelRequest
from tinyagent.models import RecordedModel
from tinyagent.models.recording import read_recording
from tinyagent.models.wire.chat_request import encode_request

FOLDER = Path(__file__).parent / "recordings"
REACT = "test_a_react_agent_calls_a_tool_and_answers.json"
LEAST = 0.95  # a code agent's notes are at the end of each prompt, and not where they were before


@tool
def population(city: str) -> str:
    """Look up how many people live in a city.

    Args:
        city: the city's name
    """
    return f"The population of {city} is 545123 people."


@pytest.mark.timeout(240)
async def test_a_react_agent_calls_a_tool_and_answers(
    request: pytest.FixtureRequest, recorded_model: Callable[[Model | str], RecordedModel]
) -> None:
    recording = request.config.getoption("--record-models")
    base_url = request.getfixturevalue("small_model") if recording else "http://127.0.0.1:1/v1"
    model = recorded_model(OpenAIModel("smollm2-135m", base_url=base_url))
    agent = ReactAgent(
        model, [population], tool_calling_mode="structured", temperature=0, max_tokens=120,
        max_steps=4,
    )  # fmt: skip
    result = await agent.run("How many people live in Lisbon?", return_result=True)
    assert result.usage.requests > 1


def shares(requests: Sequence[ModelRequest]) -> list[float]:
    """How much of each prompt, as it is sent, is the beginning of the next."""
    prompts = [prompt(request) for request in requests]
    return [shared(one, other) / len(one) for one, other in pairwise(prompts)]


def shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    differing = (index for index, (here, there) in pairs if here != there)
    return next(differing, min(len(one), len(other)))


def prompt(request: ModelRequest) -> str:
    """What a server caches: the tools, then the messages."""
    body = encode_request("any", request, stream=False)
    messages = "".join(json.dumps(message) for message in body["messages"])
    return json.dumps(body.get("tools", [])) + messages


RUNS = {
    path.stem: [exchange.request for exchange in read_recording(path)[1]]
    for path in sorted(FOLDER.glob("*.json"))
}


@pytest.mark.parametrize("name", [name for name, requests in RUNS.items() if len(requests) > 1])
def test_a_prompt_is_the_beginning_of_the_next(name: str) -> None:
    assert min(shares(RUNS[name])) >= LEAST


def test_both_agents_are_recorded_with_several_requests() -> None:
    several = {name for name, requests in RUNS.items() if len(requests) > 1}
    assert REACT.removesuffix(".json") in several
    assert any("five_of_six_tasks" in name for name in several)


def test_a_system_prompt_that_changes_is_seen() -> None:
    first, second = RUNS[REACT.removesuffix(".json")][:2]
    system, *rest = second.messages
    changed = system.with_text(lambda text: f"2026-01-01 {text}")
    assert min(shares([first, ModelRequest((changed, *rest), second.format)])) < LEAST

"""Each model at each level of reasoning, with both agents and each output mode: a sample.

`make bench` tries all of them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from provider_options import KINDS, LEVELS, MODELS, Cell, all_models, cells, faults_of

from tinyagent import Sandbox
from tinyagent.execution import Executor, ProcessExecutor
from tinyagent.models import providers
from tinyagent.testing import PROVIDERS as SERVERS

NAMES = all_models()


@pytest.fixture
async def executor() -> AsyncIterator[Executor]:
    async with ProcessExecutor(Sandbox("local")) as made:
        yield made


def sample(number: int) -> list[Cell]:
    """One cell for each level of reasoning of a model: the next model has them in other modes."""
    provider, model = NAMES[number]
    made: list[Cell] = []
    for index, level in enumerate(LEVELS):
        kind = KINDS[(index + number) % len(KINDS)]
        typed = (index + number // len(KINDS)) % 2 == 0
        made.append(Cell(provider, model, kind, level, typed, streamed=index % 2 == number % 2))
    return [*made, Cell(provider, model, "native", LEVELS[number % len(LEVELS)], temperature=0.0)]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=map(":".join, NAMES))
async def test_a_model_takes_what_agents_send(number: int, executor: Executor) -> None:
    for cell in sample(number):
        assert (str(cell), await faults_of(cell, executor)) == (str(cell), [])


def test_the_sample_has_each_mode_at_each_level() -> None:
    tried = {(c.kind, c.reasoning, c.typed) for number in range(len(NAMES)) for c in sample(number)}
    assert len(tried) == len(KINDS) * len(LEVELS) * 2
    assert len(set(cells("ollama", "qwen3:8b"))) == 86


def test_each_rule_of_a_provider_has_a_model() -> None:
    assert {*MODELS} == {*providers.PROVIDERS, "compatible"} == {*SERVERS}
    for provider, models in MODELS.items():
        known = providers.PROVIDERS.get(provider, providers.LENIENT)
        for pattern, _ in known.rules:
            assert any(re.search(pattern, model) for model in models), (provider, pattern)


async def test_a_cell_is_bad_when_the_client_sends_a_level_that_the_model_refuses(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell("ollama", "qwen3:8b", "native", "low")
    assert await faults_of(cell, executor) == []
    minimal = {"low": {"reasoning_effort": "minimal"}}
    wrong = replace(providers.PROVIDERS["ollama"], reasoning=minimal)  # type: ignore[arg-type]
    known = {**providers.PROVIDERS, "ollama": wrong}
    monkeypatch.setattr(providers, "PROVIDERS", known)
    monkeypatch.setattr("provider_options.PROVIDERS", known)
    (fault,) = await faults_of(cell, executor)
    assert fault.startswith("refused: Invalid value: 'minimal'")


async def test_a_cell_is_bad_when_the_answer_is_wrong(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cell, "replies", lambda _: ["It is 4."])
    cell = Cell("ollama", "qwen3:8b", "native")
    assert await faults_of(cell, executor) == ["answered 'It is 4.'"]

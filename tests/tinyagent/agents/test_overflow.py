"""A conversation that is too long for the model is shortened and asked once more."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tinyagent import OpenAIModel, ReactAgent, RunResult, ScriptedModel, scripted_call
from tinyagent.core import ModelContextTooLong, ModelRequest
from tinyagent.testing import MockServer, error_reply

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
ROOM = 9_000


def read(page: int) -> str:
    """Read a page."""
    return f"{page}" * 4_000


def read_all() -> str:
    """Read everything."""
    return "x" * 17_000


def _size(request: ModelRequest) -> int:
    return sum(len(message.content) for message in request.messages)


def _reading(pages: int, tool: str = "read") -> ScriptedModel:
    """A model with little room that reads so many pages and then answers."""
    numbers = itertools.count(1)

    def answer(request: ModelRequest) -> Any:
        if _size(request) > ROOM:
            return ModelContextTooLong("too long")
        number = next(numbers)
        arguments: dict[str, Any] = {"page": number} if tool == "read" else {}
        return scripted_call(tool, **arguments) if number <= pages else "I have read it."

    return ScriptedModel(answer)


async def test_it_is_shortened_and_asked_once_more(ask: Ask) -> None:
    model = _reading(3)
    result = await ask(ReactAgent(model, [read]))
    assert (result.state, result.output, result.steps_taken) == ("completed", "I have read it.", 4)
    sizes = [_size(request) > ROOM for request in model.requests]
    assert sizes == [False, False, False, True, False]


async def test_what_is_kept_is_the_prompt_the_task_and_the_newest_pair(ask: Ask) -> None:
    model = _reading(3)
    await ask(ReactAgent(model, [read]))
    system, task, asked, answered = model.requests[-1].messages
    assert (system.role, task.role, task.content) == ("system", "user", "go")
    assert asked.tool_calls[0].arguments == {"page": 3}
    assert answered.tool_call_id == asked.tool_calls[0].id
    assert answered.content == "3" * 4_000


async def test_a_single_result_that_is_too_long_is_cut(ask: Ask) -> None:
    model = _reading(1, "read_all")
    result = await ask(ReactAgent(model, [read_all]))
    assert result.output == "I have read it."
    last = model.requests[-1].messages[-1]
    assert last.role == "tool"
    assert "characters are left out here" in last.content


async def test_a_long_run_is_shortened_as_often_as_it_must(ask: Ask) -> None:
    model = _reading(9)
    result = await ask(ReactAgent(model, [read]))
    assert (result.output, result.steps_taken) == ("I have read it.", 10)
    refused = [at for at, request in enumerate(model.requests) if _size(request) > ROOM]
    assert len(refused) > 2
    assert all(after - before > 1 for before, after in itertools.pairwise(refused))


@pytest.mark.parametrize(("after", "requests"), [(1, 3), (0, 1)])
async def test_a_second_refusal_ends_the_run(ask: Ask, after: int, requests: int) -> None:
    numbers = itertools.count()
    model = ScriptedModel(
        lambda _: (
            scripted_call("read", page=1) if next(numbers) < after else ModelContextTooLong("no")
        )
    )
    result = await ask(ReactAgent(model, [read]))
    assert (result.state, result.output) == ("error", None)
    assert isinstance(result.error, ModelContextTooLong)
    assert len(model.requests) == requests


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens",
        "the request exceeds the available context size (exceed_context_size_error)",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
async def test_servers_say_it_in_many_ways(ask: Ask, message: str) -> None:
    async with MockServer([error_reply(400, message)]) as server:
        result = await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [read]))
        assert len(server.requests) == 1
    assert type(result.error) is ModelContextTooLong

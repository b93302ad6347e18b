"""A server that refuses a form of tool calling is asked in the next one, once for all runs."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tinyagent import OpenAIModel, ReactAgent, RunResult
from tinyagent.adapters.choose import ToolCallingMode
from tinyagent.core import ModelFormatRefused, ModelResponse, RawToolCall
from tinyagent.testing import MockServer, Reply, error_reply

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
ARGUMENTS = {"a": 1, "b": 2}
REFUSED = {
    "tools": "this model does not support tools",
    "response_format": "unknown field: response_format",
}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Server:
    """A server that refuses some fields of a request and answers in the form that is left."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.forms: list[str] = []

    def __call__(self, body: dict[str, Any]) -> Reply | ModelResponse:
        form = next((name for name in REFUSED if name in body), "plain")
        self.forms.append(form)
        if form in self.refused:
            return error_reply(400, REFUSED[form])
        last = body["messages"][-1]["content"]
        result = last if form == "tools" else last.partition("Result of add:\n")[2]
        if form == "tools":
            if body["messages"][-1]["role"] != "tool":
                return ModelResponse(None, (RawToolCall("1", "add", json.dumps(ARGUMENTS)),))
            return ModelResponse(result)
        action = {"answer": result} if result else {"tool": "add", "arguments": ARGUMENTS}
        return ModelResponse(json.dumps({"scratchpad": "", **action}))


def _agent(server: MockServer, mode: ToolCallingMode = "auto") -> ReactAgent[str]:
    model = OpenAIModel("m", base_url=server.base_url)
    return ReactAgent(model, [add], tool_calling_mode=mode)


@pytest.mark.parametrize(
    ("refused", "forms"),
    [
        ((), ["tools"] * 2),
        (("tools",), ["tools"] + ["response_format"] * 2),
        (("tools", "response_format"), ["tools", "response_format"] + ["plain"] * 2),
    ],
)
async def test_it_goes_down_as_far_as_it_must_and_remembers(
    ask: Ask, refused: tuple[str, ...], forms: list[str]
) -> None:
    script = Server(*refused)
    async with MockServer(script) as server:
        agent = _agent(server)
        first = await ask(agent)
        assert (first.state, first.output, first.steps_taken) == ("completed", "3", 2)
        assert script.forms == forms
        script.forms.clear()
        assert (await ask(agent)).output == "3"
    assert script.forms == forms[-2:]


async def test_many_runs_at_once_go_down_one_step_and_not_two(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="tinyagent")
    script = Server("tools")
    async with MockServer(script) as server:
        agent = _agent(server)
        results = await asyncio.gather(*(agent.run("1 + 2?") for _ in range(20)))
    assert {result.output for result in results} == {"3"}
    assert (script.forms.count("tools"), script.forms.count("response_format")) == (20, 40)
    messages = [record.getMessage() for record in caplog.records]
    steps = [message for message in messages if "continuing with" in message]
    assert len(steps) == 1
    assert steps[0].endswith("does not support tools; continuing with OpenAIStructuredAdapter")


@pytest.mark.parametrize("mode", ["native", "structured"])
async def test_a_mode_that_was_asked_for_is_kept(ask: Ask, mode: ToolCallingMode) -> None:
    script = Server("tools", "response_format")
    async with MockServer(script) as server:
        result = await ask(_agent(server, mode))
    assert (result.state, len(script.forms)) == ("error", 1)
    assert isinstance(result.error, ModelFormatRefused)


async def test_where_nothing_is_left_the_refusal_ends_the_run(ask: Ask) -> None:
    async with MockServer([error_reply(400, REFUSED["tools"])]) as server:
        result = await ask(_agent(server))
        assert len(server.requests) == 3
    assert isinstance(result.error, ModelFormatRefused)


async def test_another_agent_begins_at_the_top() -> None:
    script = Server("tools")
    async with MockServer(script) as server:
        await _agent(server).run("1 + 2?")
        await _agent(server).run("1 + 2?")
    assert script.forms == ["tools", "response_format", "response_format"] * 2


async def test_a_conversation_continues_in_the_other_form() -> None:
    script = Server()
    async with MockServer(script) as server:
        agent = _agent(server)
        first = await agent.run("1 + 2?")
        script.refused = ("tools",)
        second = await agent.run("And again?", memory=first.memory)
    assert second.output == "3"
    sent = server.requests[-1]["messages"]
    assert not [message for message in sent if "tool_calls" in message or message["role"] == "tool"]
    assert sent[2]["content"] == json.dumps(
        {"scratchpad": "", "tool": "add", "arguments": ARGUMENTS}
    )

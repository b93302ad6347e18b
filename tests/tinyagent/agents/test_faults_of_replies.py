"""What a model may write that it should not, over the wire: corrected, or a clear end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tinyagent import OpenAIModel, ReactAgent, RunResult, StepLimitReached
from tinyagent.core import ModelReplyError, ModelResponse, RawToolCall
from tinyagent.testing import MockServer, Reply, json_reply

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
FENCED = '```json\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'
TAGGED = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _calls(*calls: tuple[str, str, str]) -> ModelResponse:
    return ModelResponse(None, tuple(RawToolCall(*call) for call in calls))


async def _run(ask: Ask, *replies: Reply | ModelResponse | str, **options: Any) -> RunResult[Any]:
    async with MockServer(replies) as server:
        return await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [add], **options))


def _texts(result: RunResult[Any], role: str) -> list[str]:
    """The texts of the messages of that role."""
    return [message.content for message in result.memory.messages[2:] if message.role == role]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("1", "ad", "{}"), "Error: there is no tool 'ad'; did you mean add? Tools: add"),
        (
            ("1", "add", '{"a": 1, '),
            "Error: the call to add was not run: its arguments are not valid JSON: Expecting",
        ),
        (
            ("1", "add", '{"a": "one", "b": 2}'),
            "Error: wrong arguments for add:\na: Input should be a valid integer, unable to parse",
        ),
        (("1", "add", "[1, 2]"), "must be a JSON object, got list. Send the whole call again."),
        (("1", "", ""), "Error: there is no tool ''; Tools: add"),
    ],
    ids=["unknown tool", "cut-off arguments", "wrong types", "no object", "no name"],
)
async def test_a_call_that_cannot_be_run_is_reported_to_the_model_which_corrects_it(
    ask: Ask, call: tuple[str, str, str], message: str
) -> None:
    corrected = ("2", "add", '{"a": 1, "b": 2}')
    result = await _run(ask, _calls(call), _calls(corrected), "It is 3.")
    assert (result.state, result.output, result.steps_taken) == ("completed", "It is 3.", 3)
    first, second = _texts(result, "tool")
    assert message in first
    assert second == "3"
    assert [step.results[0].is_error for step in result.steps] == [True, False]


async def test_two_calls_with_one_id_get_a_result_each(ask: Ask) -> None:
    calls = _calls(("1", "add", '{"a": 1, "b": 2}'), ("1", "add", '{"a": 3, "b": 4}'))
    result = await _run(ask, calls, "done")
    asked, *answered = result.memory.messages[2:5]
    assert len({call.id for call in asked.tool_calls}) == 2
    assert [message.tool_call_id for message in answered] == [call.id for call in asked.tool_calls]
    assert [message.content for message in answered] == ["3", "7"]


@pytest.mark.parametrize("written", [FENCED, TAGGED, f"Let me add.\n{TAGGED}"])
async def test_a_call_written_as_text_is_run(ask: Ask, written: str) -> None:
    result = await _run(ask, written, "It is 3.")
    assert (result.output, result.steps_taken) == ("It is 3.", 2)
    assert _texts(result, "tool") == ["3"]


async def test_an_unreadable_call_written_as_text_is_reported_to_the_model(ask: Ask) -> None:
    result = await _run(ask, "<tool_call>add(1, 2)</tool_call>", "It is 3.")
    assert result.output == "It is 3."
    (message,) = _texts(result, "user")
    assert "Your <tool_call> could not be read" in message
    assert _texts(result, "assistant")[0] == "<tool_call>add(1, 2)</tool_call>"


@pytest.mark.parametrize(
    "reply", [ModelResponse(""), ModelResponse(None), ModelResponse(" \n")], ids=repr
)
async def test_an_empty_reply_is_reported_to_the_model_which_tries_again(
    ask: Ask, reply: ModelResponse
) -> None:
    result = await _run(ask, reply, "It is 3.")
    assert (result.output, result.steps_taken) == ("It is 3.", 2)
    assert _texts(result, "user") == ["Your reply was empty. Call a tool or give your answer."]
    assert _texts(result, "assistant") == ["It is 3."]


async def test_a_model_that_stays_silent_reaches_the_step_limit(ask: Ask) -> None:
    result = await _run(ask, ModelResponse(None), max_steps=3)
    assert (result.state, result.steps_taken) == ("step_limit_reached", 3)
    assert isinstance(result.error, StepLimitReached)
    assert str(result.error) == "no answer after 3 steps (raise the limit with max_steps=...)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "the reply has null instead of an object"),
        ([], "the reply has a list instead of an object"),
        ({"choices": [{"message": None}]}, "the reply has null instead of an object"),
    ],
    ids=["null", "list", "null message"],
)
async def test_a_body_that_is_not_a_reply_is_tried_again_then_reported(
    ask: Ask, body: object, message: str
) -> None:
    async with MockServer([json_reply(body)]) as server:
        result = await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [add]))
        assert len(server.requests) == 3
    assert result.state == "error"
    assert isinstance(result.error, ModelReplyError)
    assert message in str(result.error)


async def test_a_body_that_is_not_a_reply_once_costs_no_step(ask: Ask) -> None:
    result = await _run(ask, json_reply(None), "It is 3.")
    assert (result.output, result.steps_taken, result.usage.requests) == ("It is 3.", 1, 1)


async def test_arguments_nested_very_deeply_do_no_harm(ask: Ask) -> None:
    for depth in (50, 150, 400, 600, 800, 950, 990, 2000, 50_000):
        arguments = '{"a": ' + "[" * depth + "]" * depth + "}"
        result = await _run(ask, _calls(("1", "add", arguments)), "done")
        assert result.output == "done"
        (message,) = _texts(result, "tool")
        assert message.startswith("Error: ")


async def test_letters_that_no_encoding_knows_harm_nobody(ask: Ask) -> None:
    lone = ModelResponse("half a \ud83d", (RawToolCall("1", "ad\ud83d", '{"a": "\\ud83d"}'),))
    result = await _run(ask, lone, "done")
    assert result.output == "done"
    assert result.memory.messages[2].content == "half a \ud83d"

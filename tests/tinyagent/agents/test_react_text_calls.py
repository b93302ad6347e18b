"""Calls that a model writes into its text: run, sent back, or part of an answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tinyagent import ReactAgent, RunResult, ScriptedModel, scripted_call
from tinyagent.core import ReplyRejected

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]

CALL = json.dumps({"name": "add", "arguments": {"a": 1, "b": 2}})
ONLY_CALLS = {
    "bare": CALL,
    "other keys": '{"tool": "add", "parameters": {"a": 1, "b": 2}}',
    "fenced": f"```json\n{CALL}\n```",
    "fence without a language": f"```\n{CALL}\n```",
    "tagged": f"<tool_call>{CALL}</tool_call>",
    "tag left open": f"<tool_call>{CALL}",
    "behind thoughts": f"<think>I add.</think>\n{CALL}",
}
UNREADABLE = {
    "two in a row": f"{CALL}\n{CALL}",
    "cut off": CALL[:-3],
    "cut off in a fence": f"```json\n{CALL[:-3]}",
    "tagged and cut off": f"<tool_call>{CALL[:-3]}",
    "unknown tool": '{"name": "sum_up", "arguments": {"a": 1, "b": 2}}',
}
QUOTATIONS = {
    "fenced": f"The page says:\n```json\n{CALL}\n```",
    "tagged": f"Other models write <tool_call>{CALL}</tool_call> for that.",
    "a tag by name": "Other models write <tool_call> for that.",
    "inline": f"The page says {CALL}",
}
BEFORE = {"after a native call": [scripted_call("add", a=1, b=1)], "at once": []}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("text", ONLY_CALLS.values(), ids=ONLY_CALLS)
async def test_a_reply_that_is_only_a_call_is_run(ask: Ask, text: str, before: list[Any]) -> None:
    result = await ask(ReactAgent(ScriptedModel([*before, text, "It is 3."]), [add]))
    assert result.output == "It is 3."
    assert [step.results[0].content for step in result.steps] == [*("2" for _ in before), "3"]
    called = [message for message in result.memory.messages if message.tool_calls][-1]
    assert CALL not in called.content


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
async def test_one_that_cannot_be_run_is_sent_back(ask: Ask, text: str, before: list[Any]) -> None:
    model = ScriptedModel([*before, text, "It is 3."])
    result = await ask(ReactAgent(model, [add]))
    assert result.output == "It is 3."
    assert len(result.steps) == len(before)
    assert "through the tool interface" in model.requests[-1].messages[-1].content


async def test_sending_it_back_is_an_event_and_takes_a_step() -> None:
    agent = ReactAgent(ScriptedModel([CALL[:-3]] * 3), [add], max_steps=3)
    events = [event async for event in agent.stream("go")]
    assert len([event for event in events if isinstance(event, ReplyRejected)]) == 3


@pytest.mark.parametrize("text", QUOTATIONS.values(), ids=QUOTATIONS)
async def test_a_model_that_calls_natively_may_quote_a_call(ask: Ask, text: str) -> None:
    model = ScriptedModel([scripted_call("add", a=1, b=1), text])
    result = await ask(ReactAgent(model, [add]))
    assert result.output == text
    assert len(result.steps) == 1


async def test_an_empty_reply_after_a_call_is_still_rejected(ask: Ask) -> None:
    model = ScriptedModel([scripted_call("add", a=1, b=1), " ", "2"])
    assert (await ask(ReactAgent(model, [add]))).output == "2"


async def test_without_tools_a_text_of_this_form_is_an_answer(ask: Ask) -> None:
    assert (await ask(ReactAgent(ScriptedModel([CALL])))).output == CALL


async def test_a_typed_answer_may_have_the_keys_of_a_call(ask: Ask) -> None:
    answer = {"name": "Ada", "arguments": {"a": 1}}
    agent = ReactAgent(ScriptedModel([json.dumps(answer)]), [add], output_type=dict[str, Any])
    assert (await ask(agent)).output == answer

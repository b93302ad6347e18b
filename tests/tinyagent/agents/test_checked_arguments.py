"""A call whose arguments its tool refuses reaches no person, no middleware and no tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tinyagent import (
    Approval,
    Middleware,
    ReactAgent,
    RunResult,
    ScriptedModel,
    TinyCodeAgent,
    Tool,
    ToolCall,
    ToolResult,
    ToolStarted,
    tool,
)
from tinyagent.adapters.choose import ToolCallingMode
from tinyagent.core import ModelResponse, NoProgress, RawToolCall

MODES: list[ToolCallingMode] = ["auto", "native", "structured", "parsed"]


class Watcher(Middleware):
    """Keeps the calls that it sees."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    async def tool_call(self, call: ToolCall, call_next: Callable[..., Any]) -> ToolResult:
        self.calls.append(dict(call.arguments))
        result: ToolResult = await call_next(call)
        return result


class Desk:
    """A tool that needs approval, and the person who gives it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.paid: list[int] = []
        self.watcher = Watcher()

        @tool(requires_approval=True)
        def pay(amount: int, note: str = "") -> str:
            """Pay an amount."""
            self.paid.append(amount)
            return f"paid {amount}{note}"

        self.pay = pay

    async def ask(self, call: ToolCall) -> bool:
        self.asked.append(dict(call.arguments))
        return bool(call.arguments["amount"] < 1_000)

    @property
    def middleware(self) -> list[Middleware]:
        return [self.watcher, Approval(self.ask)]


def replies(mode: ToolCallingMode, *calls: dict[str, Any]) -> list[str | ModelResponse]:
    """A reply for each call, and an answer."""
    if mode in {"auto", "native"}:
        made = [
            ModelResponse(None, (RawToolCall(str(at), "pay", json.dumps(call)),))
            for at, call in enumerate(calls)
        ]
        return [*made, ModelResponse("done")]
    texts = [json.dumps({"scratchpad": "", "tool": "pay", "arguments": call}) for call in calls]
    return [*texts, json.dumps({"scratchpad": "", "answer": "done"})]


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_sees_the_types_of_the_tool(mode: ToolCallingMode) -> None:
    desk = Desk()
    model = ScriptedModel(replies(mode, {"amount": "120"}, {"amount": "2000"}, {"amount": "x"}))
    agent = ReactAgent(model, [desk.pay], tool_calling_mode=mode, middleware=desk.middleware)
    events = [event async for event in agent.stream("go")]
    started = [event.call for event in events if isinstance(event, ToolStarted)]
    assert desk.asked == desk.watcher.calls == [{"amount": 120}, {"amount": 2000}]
    assert desk.paid == [120]
    assert [call.arguments for call in started] == [*desk.asked, {"amount": "x"}]
    assert started[-1].fault is not None


@pytest.mark.parametrize("mode", MODES)
async def test_wrong_arguments_go_back_to_the_model_with_the_signature(
    mode: ToolCallingMode,
) -> None:
    desk = Desk()
    model = ScriptedModel(replies(mode, {"amout": 3}))
    agent = ReactAgent(model, [desk.pay], tool_calling_mode=mode, middleware=desk.middleware)
    await agent.run("go")
    assert (desk.asked, desk.watcher.calls, desk.paid) == ([], [], [])
    shown = model.requests[1].messages[-1].text
    assert "amout: there is no such argument" in shown
    assert "pay(amount: int, note: str = '') -> str" in shown


async def test_what_the_model_sent_is_what_it_is_sent_again() -> None:
    desk = Desk()
    model = ScriptedModel(replies("native", {"amount": "120"}))
    await ReactAgent(model, [desk.pay], middleware=desk.middleware).run("go")
    (call,) = model.requests[1].messages[-2].tool_calls
    assert call.arguments == {"amount": "120"}


async def test_calls_of_code_are_checked_too() -> None:
    desk = Desk()
    code = """
values = ["120", "x"]
for value in values:
    try:
        print(pay(value))
    except TypeError as error:
        print(error)
final_answer("done")
"""
    agent = TinyCodeAgent(ScriptedModel([code]), [desk.pay], middleware=desk.middleware)
    result: RunResult[str] = await agent.run("go")
    assert desk.asked == desk.watcher.calls == [{"amount": 120}]
    assert desk.paid == [120]
    assert "def pay(amount: int, note: str = '') -> str:" in result.steps[0].observation


async def test_calls_of_agents_as_tools_are_checked_too() -> None:
    watcher = Watcher()
    inner = ReactAgent(ScriptedModel(["inner"])).as_tool("pay", "An agent that pays.")
    model = ScriptedModel(replies("native", {"wrong": "x"}, {"task": "y"}))
    await ReactAgent(model, [inner], middleware=[watcher]).run("go")
    assert watcher.calls == [{"task": "y"}]


async def test_the_same_wrong_call_again_and_again_ends_the_run() -> None:
    def count(up_to: int) -> int:
        """Count."""
        return up_to

    model = ScriptedModel(
        [ModelResponse(None, (RawToolCall("1", "count", '{"up_to": "x"}'),))] * 20
    )
    agent = ReactAgent(model, [Tool.from_function(count)], max_steps=20)
    result = await agent.run("go", return_result=True)
    assert isinstance(result.error, NoProgress)

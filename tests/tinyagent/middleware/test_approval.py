from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tinyagent import (
    Approval,
    Decision,
    ReactAgent,
    ScriptedModel,
    Tool,
    ToolCall,
    ToolResult,
    UsageLimitReached,
    UsageLimits,
    scripted_call,
    tool,
)
from tinyagent.core import RunControl
from tinyagent.middleware import approval as approval_module


@tool(requires_approval=True)
async def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def look() -> str:
    """Look around."""
    return "seen"


TOOLS = {"pay": pay, "look": Tool.from_function(look)}
PAY = ToolCall("1", "pay", {"amount": 5})


async def _through(call: ToolCall) -> ToolResult:
    return ToolResult(call, "it ran")


async def _yes(_call: ToolCall) -> bool:
    return True


async def _run(*middleware: Any) -> str:
    """What the model reads of a call that needs approval."""
    model = ScriptedModel([scripted_call("pay", amount=5), "done"])
    result = await ReactAgent(model, [pay, look], middleware=middleware).run("pay 5")
    return result.steps[0].results[0].content


@pytest.mark.parametrize("answer", [True, Decision(approved=True)])
async def test_a_yes_lets_the_call_pass(*, answer: Decision | bool) -> None:
    asked: list[ToolCall] = []

    async def ask(call: ToolCall) -> Decision | bool:
        asked.append(call)
        return answer

    assert await _run(Approval(ask)) == "paid 5"
    assert [(call.name, call.arguments) for call in asked] == [("pay", {"amount": 5})]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (False, "no reason was given"),
        (Decision(approved=False), "no reason was given"),
        (Decision(approved=False, reason="too much"), "too much"),
        (None, "no reason was given"),
        ("no", "no reason was given"),
        (1, "no reason was given"),
    ],
)
async def test_anything_but_a_yes_is_reported_with_its_reason(answer: Any, reason: str) -> None:
    async def ask(_call: ToolCall) -> Any:
        return answer

    assert await _run(Approval(ask)) == f"Error: pay was not approved: {reason}"


async def test_where_nobody_was_named_nobody_has_said_yes() -> None:
    refused = "Error: pay was not approved: there is nobody to approve it"
    assert await _run() == refused
    assert await _run(UsageLimits()) == refused
    assert await _run(Approval()) == refused


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("1", "look"),
        ToolCall("1", "missing"),
    ],
    ids=["needs none", "no such tool"],
)
async def test_nobody_is_asked_for_nothing(call: ToolCall) -> None:
    async def ask(call: ToolCall) -> bool:
        raise AssertionError(f"asked for {call.name}")

    gate = Approval(ask).steer(RunControl("go", 1, TOOLS))
    assert (await gate.tool_call(call, _through)).content == "it ran"


class Clock:
    """Replaces the clock of the module."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(approval_module, "time", made)
    return made


@pytest.mark.parametrize("side_by_side", [1, 3])
async def test_the_time_of_waiting_is_counted_once(clock: Clock, side_by_side: int) -> None:
    together, run = asyncio.Barrier(side_by_side), RunControl("go", 1, TOOLS)

    async def ask(_call: ToolCall) -> bool:
        await together.wait()
        clock.now = 130.0
        await together.wait()
        return True

    gate = Approval(ask).steer(run)
    await asyncio.gather(*(gate.tool_call(PAY, _through) for _ in range(side_by_side)))
    assert run.waited_seconds == 30.0


async def test_a_question_that_fails_counts_as_waited_too(clock: Clock) -> None:
    run = RunControl("go", 1, TOOLS)

    async def ask(_call: ToolCall) -> bool:
        clock.now += 7.0
        raise LookupError("the line is dead")

    gate = Approval(ask).steer(run)
    for _ in range(2):
        with pytest.raises(LookupError):
            await gate.tool_call(PAY, _through)
    assert run.waited_seconds == 14.0


async def test_runs_side_by_side_wait_each_for_itself() -> None:
    together = asyncio.Barrier(20)

    async def ask(call: ToolCall) -> Decision:
        await together.wait()
        return Decision(call.arguments["amount"] % 2 == 0, f"{call.arguments['amount']} is odd")

    agent = ReactAgent(
        ScriptedModel(
            lambda r: (
                r.messages[-1].text
                if r.messages[-1].role == "tool"
                else scripted_call("pay", amount=int(r.messages[-1].text))
            )
        ),
        [pay],
        middleware=[Approval(ask)],
    )
    results = await asyncio.gather(*(agent.run(str(number)) for number in range(20)))
    assert [result.output for result in results] == [
        f"Error: pay was not approved: {n} is odd" if n % 2 else f"paid {n}" for n in range(20)
    ]


async def test_a_layer_of_approvals_own_kind_takes_its_place() -> None:
    class Own(Approval):
        """One that says yes."""

        def __init__(self) -> None:
            super().__init__(_yes)

    assert await _run(Own()) == "paid 5"


async def test_a_call_that_was_refused_is_not_asked_for_again() -> None:
    asked: list[ToolCall] = []

    async def no(call: ToolCall) -> bool:
        asked.append(call)
        return False

    @tool(requires_approval=True)
    def wipe(path: str) -> str:
        """Wipe a path."""
        return path

    script = [scripted_call("wipe", path="/")] * 3 + ["I may not."]
    result = await ReactAgent(ScriptedModel(script), [wipe], middleware=[Approval(no)]).run("go")
    assert str(result) == "I may not."
    assert len(asked) == 1


async def test_a_model_that_nags_for_approval_is_stopped() -> None:
    @tool(requires_approval=True)
    def wipe(path: str) -> str:
        """Wipe a path."""
        return path

    many = [scripted_call("wipe", path=str(number)) for number in range(12)]
    agent = ReactAgent(ScriptedModel([many]), [wipe])
    with pytest.raises(UsageLimitReached, match="10 calls were refused"):
        await agent.run("go")

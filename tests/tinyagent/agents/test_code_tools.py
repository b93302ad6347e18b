"""Tools as functions of the code: called, failing, approved, limited; agents as tools."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest
from tests.support.coding import block, coder, each_level, events_of, observed, result_of, seconds

from tinyagent import (
    Approval,
    Decision,
    NoProgress,
    ReactAgent,
    RunContext,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    ToolCall,
    ToolFinished,
    ToolRetry,
    ToolStarted,
    TrustLevel,
    UsageLimitReached,
    UsageLimits,
    scripted_call,
    tool,
)

STOCK = {"apples": 3, "pears": 0}


def stock(item: str) -> int:
    """Look up how many of an item are left.

    Args:
        item: its name, in the plural.
    """
    return STOCK[item]


@each_level
async def test_the_code_calls_tools_as_plain_functions(level: TrustLevel) -> None:
    model = coder("left = {item: stock(item) for item in ['apples', 'pears']}\nfinal_answer(left)")
    agent = TinyCodeAgent(model, [stock], output_type=dict[str, int], sandbox=Sandbox(level=level))
    assert "- stock(item: str) -> int\n" in agent._system_prompt
    events = await events_of(agent)
    assert result_of(events).output == {"apples": 3, "pears": 0}
    started = [event.call for event in events if isinstance(event, ToolStarted)]
    assert [dict(call.arguments) for call in started] == [{"item": "apples"}, {"item": "pears"}]
    assert len({call.id for call in started}) == 2
    assert [e.result.value for e in events if isinstance(e, ToolFinished)] == [3, 0]


@each_level
async def test_an_async_tool_is_awaited_by_the_host_on_its_loop(level: TrustLevel) -> None:
    loops: list[Any] = []

    async def fetch(number: int) -> int:
        """Fetch a number."""
        await asyncio.sleep(0)
        loops.append((asyncio.get_running_loop(), threading.current_thread()))
        return number * 10

    model = coder("final_answer([fetch(number) for number in range(3)])")
    result = await TinyCodeAgent(
        model, [fetch], output_type=list[int], sandbox=Sandbox(level=level)
    ).run("go")
    assert result.output == [0, 10, 20]
    assert loops == [(asyncio.get_running_loop(), threading.main_thread())] * 3


@each_level
async def test_a_tools_error_is_raised_in_the_code_and_corrected(level: TrustLevel) -> None:
    model = coder(
        "stock('plums')",
        "try:\n    stock('plums')\nexcept KeyError:\n    final_answer('none')",
    )
    result = await TinyCodeAgent(model, [stock], sandbox=Sandbox(level=level)).run("go")
    assert result.output == "none"
    assert "KeyError: 'plums'" in observed(model)
    assert "line 1" in observed(model)
    assert "test_code_tools" not in observed(model)


@each_level
@pytest.mark.parametrize(
    ("call", "message"),
    [  # by another name, so that it is not refused before it runs
        ("find = stock\nfind()", "item"),
        ("find = stock\nfind('a', 'b')", "2 arguments by position, at most 1 are taken"),
        ("find = stock\nfind('a', item='b')", "item is passed both by position and by name"),
        ("find = stock\nfind(name='a')", "name"),
        ("find = stock\nfind(item=[1])", "item"),
    ],
)
async def test_a_wrong_call_shows_how_the_tool_is_called(
    level: TrustLevel, call: str, message: str
) -> None:
    model = coder(call, "final_answer(stock('apples'))")
    result = await TinyCodeAgent(model, [stock], output_type=int, sandbox=Sandbox(level=level)).run(
        "go"
    )
    assert result.output == 3
    shown = observed(model)
    assert "TypeError: stock was called with wrong arguments: " in shown
    assert message in shown
    assert "def stock(item: str) -> int:" in shown
    assert "item: its name, in the plural." in shown


@each_level
async def test_advice_of_a_tool_reaches_the_model(level: TrustLevel) -> None:
    def rooms(nights: int) -> str:
        """Find a room."""
        if nights < 1:
            raise ToolRetry("nights must be 1 or more")
        return "room 101"

    model = coder("rooms(0)", "final_answer(rooms(nights=1))")
    result = await TinyCodeAgent(model, [rooms], sandbox=Sandbox(level=level)).run("go")
    assert result.output == "room 101"
    assert "nights must be 1 or more" in observed(model)


@each_level
async def test_a_tool_knows_its_run(level: TrustLevel) -> None:
    def where(run: RunContext) -> str:
        """Say where we are."""
        return f"{run.task}, step {run.step}"

    agent = TinyCodeAgent(
        coder("1", "final_answer(where())"), [where], sandbox=Sandbox(level=level)
    )
    assert "- where() -> str\n" in agent._system_prompt
    assert (await agent.run("the task")).output == "the task, step 2"


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


PAY = """
    before = 'kept'
    try:
        receipt = pay(amount=5)
    except PermissionError as no:
        receipt = f'refused: {no}'
    final_answer(f'{before}, {receipt}')
"""


@each_level
async def test_a_block_waits_for_an_approval_and_the_time_does_not_count(
    level: TrustLevel,
) -> None:
    asked: list[ToolCall] = []

    async def ask(call: ToolCall) -> bool:
        asked.append(call)
        await asyncio.sleep(1.2)  # longer than the block may run
        return True

    agent = TinyCodeAgent(
        coder(PAY),
        [pay],
        sandbox=Sandbox(level=level, limits=seconds(1)),
        middleware=[Approval(ask)],
    )
    assert (await agent.run("go")).output == "kept, paid 5"
    assert [(call.name, dict(call.arguments)) for call in asked] == [("pay", {"amount": 5})]


@each_level
async def test_a_refusal_is_an_error_that_the_code_can_catch(level: TrustLevel) -> None:
    async def ask(_call: ToolCall) -> Decision:
        return Decision(approved=False, reason="too much")

    agent = TinyCodeAgent(
        coder(PAY), [pay], sandbox=Sandbox(level=level), middleware=[Approval(ask)]
    )
    assert (await agent.run("go")).output == "kept, refused: pay was not approved: too much"
    agent = TinyCodeAgent(coder(PAY), [pay], sandbox=Sandbox(level=level))
    assert "there is nobody to approve it" in (await agent.run("go")).output


GREEDY = """
    made = []
    for number in range(10):
        try:
            made.append(stock('apples'))
        except BaseException as error:
            made.append(error)
    final_answer(len(made))
"""


@pytest.mark.parametrize("level", [TrustLevel.ISOLATED, TrustLevel.SANDBOXED])
async def test_a_limit_reached_within_a_block_ends_the_run_whatever_it_catches(
    level: TrustLevel,
) -> None:
    limits = UsageLimits(tool_calls=4)
    agent = TinyCodeAgent(coder(GREEDY), [stock], sandbox=Sandbox(level=level), middleware=[limits])
    with pytest.raises(UsageLimitReached, match="its tool_calls: 4 of 4") as caught:
        await agent.run("go")
    result = caught.value.result
    assert result is not None
    assert (result.state, result.output) == ("usage_limit_reached", None)
    assert result.steps[-1].observation == "The run ended in the middle of this block."


async def test_a_limit_reached_within_a_local_block_ends_the_run() -> None:
    code = GREEDY.replace("BaseException", "Exception")
    agent = TinyCodeAgent(
        coder(code), [stock], sandbox=Sandbox(level="local"), middleware=[UsageLimits(tool_calls=4)]
    )
    result = await agent.run("go", return_result=True)
    assert result.state == "usage_limit_reached"
    assert "its tool_calls: 4 of 4" in str(result.error)


@each_level
async def test_a_block_that_is_repeated_is_reported_and_then_ends_the_run(
    level: TrustLevel,
) -> None:
    model = ScriptedModel(lambda _: block("print(stock('pears'))"))
    agent = TinyCodeAgent(model, [stock], sandbox=Sandbox(level=level))
    result = await agent.run("go", return_result=True)
    assert isinstance(result.error, NoProgress)
    assert len(model.requests) == 6
    assert "[The same block of code has given the same result 3 times." in observed(model, 3)
    assert "Give your answer now with final_answer(...)" in observed(model, 4)


@each_level
async def test_a_block_that_gives_another_value_each_time_is_not_a_repetition(
    level: TrustLevel,
) -> None:
    numbers = itertools.count(1)

    def poll() -> int:
        """Ask how far it is."""
        return next(numbers)

    model = coder(*["poll()"] * 7, "final_answer(poll())")
    result = await TinyCodeAgent(model, [poll], output_type=int, sandbox=Sandbox(level=level)).run(
        "go"
    )
    assert result.output == 8


async def test_calls_that_code_repeats_are_no_circle() -> None:
    model = coder("final_answer(sum(stock('apples') for _ in range(50)))")
    assert (await TinyCodeAgent(model, [stock], output_type=int).run("go")).output == 150


@each_level
async def test_an_agent_that_calls_tools_is_a_tool_of_one_that_writes_code(
    level: TrustLevel,
) -> None:
    inner = ReactAgent(
        ScriptedModel(
            lambda request: (
                request.messages[-1].text
                if request.messages[-1].role == "tool"
                else scripted_call("stock", item=request.messages[-1].text)
            )
        ),
        [stock],
    )
    model = coder("final_answer(int(keeper('apples')) + int(keeper('pears')))")
    keeper = inner.as_tool("keeper", "Knows the stock.")
    result = await TinyCodeAgent(
        model, [keeper], output_type=int, sandbox=Sandbox(level=level)
    ).run("go")
    assert result.output == 3
    assert result.usage.requests == 5


@each_level
async def test_an_agent_that_writes_code_is_a_tool_of_one_that_calls_tools(
    level: TrustLevel,
) -> None:
    inner = TinyCodeAgent(
        coder("print('thinking')", "final_answer({'sum': sum(range(5))})"),
        output_type=dict[str, int],
        sandbox=Sandbox(level=level),
    )
    model = ScriptedModel([scripted_call("reckon", task="0 to 4"), "It is 10."])
    outer = ReactAgent(model, [inner.as_tool("reckon", "Computes.")])
    result = await outer.run("Add up")
    assert result.output == "It is 10."
    assert result.steps[0].results[0].content == '{"sum":10}'
    assert result.usage.requests == 4


async def test_an_inner_run_that_ends_at_a_limit_is_an_error_in_the_outer_code() -> None:
    inner = TinyCodeAgent(ScriptedModel(lambda _: block("1")), max_steps=2)
    model = coder("helper('x')", "final_answer('alone')")
    outer = TinyCodeAgent(model, [inner.as_tool("helper", "Helps.")])
    result = await outer.run("go")
    assert result.output == "alone"
    assert "helper found no answer: no answer after 2 steps" in observed(model)

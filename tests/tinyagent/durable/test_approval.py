"""Runs that are suspended until somebody answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.durable_runs import Reply, blocks, empty_database, opened, turns
from tests.support.execution import sandbox_processes
from tests.support.waits import SECONDS, soon

from tinyagent import Approval, ReactAgent, TinyCodeAgent, Tool, ToolCall, scripted_call
from tinyagent.durable import RunConflict, UnknownRun
from tinyagent.durable.workflow import ANSWER


@pytest.fixture
def database(tmp_path: Path) -> str:
    return empty_database(tmp_path)


@pytest.fixture
def paid() -> list[int]:
    """What was paid."""
    return []


@pytest.fixture
def pay(paid: list[int]) -> Tool:
    """A tool that waits for a yes."""

    def pay(amount: int) -> str:
        """Pay.

        Args:
            amount: how much.
        """
        paid.append(amount)
        return f"paid {amount}"

    return Tool.from_function(pay, requires_approval=True)


def wish(amount: int) -> Any:
    return scripted_call("pay", call_id=f"pay-{amount}", amount=amount)


def payer(pay: Tool, *replies: Reply, **options: Any) -> ReactAgent[str]:
    return ReactAgent(turns(*replies), [pay], **options)


async def test_an_approved_call_is_made_once(database: str, pay: Tool, paid: list[int]) -> None:
    async with opened(database, {"payer": payer(pay, wish(5), "done")}) as runs:
        waiting = await runs.run("payer", "pay", run_id="run")
        assert waiting.state == "waiting"
        assert [(q.kind, q.tool, q.arguments) for q in waiting.questions] == [
            ("approval", "pay", {"amount": 5})
        ]
        assert paid == []
        assert [record.run_id for record in await runs.list(state="waiting")] == ["run"]
        await runs.approve("run")
        record = await runs.wait("run")
        assert await runs.list(state="waiting") == []
    assert (record.state, record.output, record.questions) == ("completed", "done", ())
    assert paid == [5]


async def test_a_refusal_and_its_reason_go_to_the_model(
    database: str, pay: Tool, paid: list[int]
) -> None:
    agent = payer(pay, wish(5), "so be it")
    async with opened(database, {"payer": agent}) as runs:
        await runs.run("payer", "pay", run_id="run")
        await runs.approve("run", approved=False, reason="too much\0 \ud83d")
        record = await runs.wait("run")
        memory = await runs.memory("run")
    assert (record.output, paid) == ("so be it", [])
    assert memory is not None
    assert "not approved: too much" in memory[3]["content"]


async def test_parallel_calls_are_finished_before_the_run_is_suspended(
    database: str, pay: Tool, paid: list[int]
) -> None:
    looked: list[int] = []

    async def look() -> str:
        """Look."""
        await asyncio.sleep(0)
        looked.append(1)
        return "seen"

    replies = turns([wish(5), scripted_call("look", call_id="l"), wish(7)], "done")
    async with opened(database, {"payer": ReactAgent(replies, [pay, look])}) as runs:
        waiting = await runs.run("payer", "pay", run_id="run")
        assert looked == [1]
        assert sorted(q.arguments["amount"] for q in waiting.questions) == [5, 7]
        with pytest.raises(RunConflict, match="name one with call"):
            await runs.approve("run")
        with pytest.raises(RunConflict, match="does not wait for a decision"):
            await runs.decide("run", "skip")
        five, seven = sorted(waiting.questions, key=lambda q: q.arguments["amount"])
        await runs.approve("run", call=seven.place)
        await runs.approve("run", call=five.place)
        record = await runs.wait("run")
    assert (record.output, sorted(paid), looked) == ("done", [5, 7], [1])


async def test_the_same_call_twice_is_asked_for_twice(
    database: str, pay: Tool, paid: list[int]
) -> None:
    twice = [wish(5), scripted_call("pay", call_id="again", amount=5)]
    async with opened(database, {"payer": payer(pay, twice, "done")}) as runs:
        waiting = await runs.run("payer", "pay", run_id="run")
        for question in waiting.questions:
            await runs.approve("run", call=question.place)
        assert (await runs.wait("run")).output == "done"
    assert len(waiting.questions) == 2
    assert paid == [5, 5]


async def test_an_answer_is_recorded_before_the_run_is_suspended_for_another(
    database: str, pay: Tool, paid: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database, {"payer": payer(pay, [wish(5), wish(6)], "done")}) as runs:
        written = runs._dbos._sys_db.record_operation_result

        def write_slowly(*args: Any, **options: Any) -> None:
            time.sleep(0.2)
            written(*args, **options)

        monkeypatch.setattr(runs._dbos._sys_db, "record_operation_result", write_slowly)
        waiting = await runs.run("payer", "pay", run_id="run")
        by_amount = {question.arguments["amount"]: question for question in waiting.questions}
        await runs.approve("run", approved=False, call=by_amount[5].place)
        waiting = await runs.wait("run")
        while len(waiting.questions) == 2:  # it has not gone on yet
            waiting = await runs.wait("run")
        assert [question.arguments for question in waiting.questions] == [{"amount": 6}]
        assert [step.name.partition(" ")[2] for step in await runs.steps("run")][1:] == ["ask pay"]
        await runs.approve("run", call=by_amount[6].place)
        assert (await runs.wait("run")).output == "done"
    assert paid == [6]


async def test_an_approval_callback_is_asked_once(
    database: str, pay: Tool, paid: list[int]
) -> None:
    asked: list[ToolCall] = []

    async def ask(call: ToolCall) -> bool:
        asked.append(call)
        return True

    def other() -> str:
        """Do another thing."""
        return "done"

    gated = Tool.from_function(other, requires_approval=True)

    async def ask_or_wait(call: ToolCall) -> bool:
        return await ask(call)

    replies = turns(wish(5), scripted_call("other", call_id="o"), "done")
    agent = ReactAgent(replies, [pay, gated], middleware=[Approval(ask_or_wait)])
    async with opened(database, {"payer": agent}) as runs:
        record = await runs.run("payer", "pay", run_id="run")
        steps = [step.name.partition(" ")[2] for step in await runs.steps("run")]
    assert record.output == "done"
    assert [call.name for call in asked] == ["pay", "other"]
    assert [step for step in steps if step.startswith("ask")] == ["ask pay", "ask other"]


async def test_a_block_that_waits_holds_no_sandbox_and_continues_where_it_was(
    database: str, pay: Tool, paid: list[int]
) -> None:
    noted: list[int] = []

    def note(number: int) -> int:
        """Note a number.

        Args:
            number: the number.
        """
        noted.append(number)
        return number

    model = blocks("x = note(1)", "y = pay(x + 1)\nz = note(3)", "final_answer([x, y, z])")
    agent = TinyCodeAgent(model, [note, pay])
    async with opened(database, {"payer": agent}) as runs:
        await TinyCodeAgent(blocks("final_answer(0)")).run("start what all sandboxes share")
        before = sandbox_processes()
        waiting = await runs.run("payer", "pay", run_id="run")
        assert waiting.state == "waiting"
        await soon(lambda: sandbox_processes() <= before)
        await runs.approve("run")
        record = await runs.wait("run")
    assert record.output == '[1,"paid 2",3]'
    assert (noted, paid) == ([1, 3], [2])


async def test_an_agent_as_a_tool_waits_with_its_whole_run(
    database: str, pay: Tool, paid: list[int]
) -> None:
    clerk = payer(pay, wish(5), "paid it").as_tool("clerk", "Pays.")
    replies = turns(
        [
            scripted_call("clerk", call_id="1", task="pay 5"),
            scripted_call("clerk", call_id="2", task="pay 5 again"),
        ],
        "all done",
    )
    async with opened(database, {"boss": ReactAgent(replies, [clerk])}) as runs:
        waiting = await runs.run("boss", "pay", run_id="run")
        assert [question.tool for question in waiting.questions] == ["pay", "pay"]
        for question in waiting.questions:
            await runs.approve("run", call=question.place)
        record = await runs.wait("run")
    assert (record.state, record.output, paid) == ("completed", "all done", [5, 5])
    assert record.usage.requests == 6


async def test_an_answer_that_came_during_suspension_wakes_the_run(
    database: str, pay: Tool, paid: list[int]
) -> None:
    async with opened(database, {"payer": payer(pay, wish(5), "done")}) as runs:
        (question,) = (await runs.run("payer", "pay", run_id="run")).questions
        answer = {f"{ANSWER}{question.place}": {"approved": True, "reason": ""}}
        await runs._client.update_workflow_attributes_async("run", answer, merge=True)
        assert await runs.tend() == 1
        assert (await runs.wait("run")).output == "done"
        assert await runs.tend() == 0
    assert paid == [5]


@pytest.mark.parametrize("ended", ["cancelled", "completed"])
async def test_only_a_waiting_run_can_be_answered(
    database: str, pay: Tool, paid: list[int], ended: str
) -> None:
    async with opened(database, {"payer": payer(pay, wish(5), "done")}) as runs:
        await runs.run("payer", "pay", run_id="run")
        end: Callable[[str], Any] = runs.cancel if ended == "cancelled" else runs.approve
        await end("run")
        assert (await runs.wait("run")).state == ended
        with pytest.raises(RunConflict, match=f"does not wait for an approval: it is {ended}"):
            await runs.approve("run")
        with pytest.raises(UnknownRun):
            await runs.approve("none")
    assert paid == ([] if ended == "cancelled" else [5])


@pytest.mark.parametrize("choice", ["retry", "skip", "abort"])
async def test_a_decision_settles_a_call_in_doubt(database: str, choice: Any) -> None:
    begun = asyncio.Event()
    calls: list[int] = []

    async def send() -> str:
        """Send."""
        calls.append(1)
        if len(calls) == 1:
            begun.set()
            await asyncio.get_running_loop().create_future()
        return "sent"

    agents = {"sender": ReactAgent(turns(scripted_call("send", call_id="s"), "done"), [send])}
    async with opened(database, agents, drain_seconds=0.05) as runs:
        await runs.start("sender", "send", run_id="run")
        await begun.wait()
    async with opened(database, agents) as runs:
        doubtful = await runs.wait("run", timeout=SECONDS)
        assert (doubtful.state, calls) == ("needs_decision", [1])
        assert [question.kind for question in doubtful.questions] == ["in_doubt"]
        assert len(await runs.list(state="needs_decision")) == 1
        await runs.decide("run", choice)
        record = await runs.wait("run")
        memory = await runs.memory("run")
    assert len(calls) == (2 if choice == "retry" else 1)
    if choice == "abort":
        assert (record.state, record.error_kind) == ("error", "RunAborted")
    else:
        assert record.output == "done"
        assert memory is not None
        result_text = "sent" if choice == "retry" else "its result is not known"
        assert result_text in memory[3]["content"]


async def test_an_idempotent_call_is_made_again_without_asking(database: str) -> None:
    begun = asyncio.Event()
    calls: list[int] = []

    async def look() -> str:
        """Look."""
        calls.append(1)
        if len(calls) == 1:
            begun.set()
            await asyncio.get_running_loop().create_future()
        return "seen"

    tool = Tool.from_function(look, idempotent=True)
    agents = {"looker": ReactAgent(turns(scripted_call("look", call_id="l"), "done"), [tool])}
    async with opened(database, agents, drain_seconds=0.05) as runs:
        await runs.start("looker", "look", run_id="run")
        await begun.wait()
    async with opened(database, agents) as runs:
        assert (await runs.wait("run", timeout=SECONDS)).output == "done"
    assert len(calls) == 2

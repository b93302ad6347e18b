"""Starting runs, looking at them, ending and resuming them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.durable_runs import Reply, empty_database, opened, turns
from tests.support.waits import SECONDS

from tinyagent import (
    Event,
    Memory,
    ReactAgent,
    RunContext,
    RunFinished,
    ScriptedModel,
    TextDelta,
    Tool,
    ToolFinished,
    scripted_call,
)
from tinyagent.core import ModelServerError
from tinyagent.core.errors import ConfigurationError
from tinyagent.durable import DurableRuns, RunConflict, UnknownRun


@pytest.fixture
def database(tmp_path: Path) -> str:
    return empty_database(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def either_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What is asked of attributes is asked otherwise in each."""
    if request.param == "sqlite":
        return empty_database(tmp_path)
    url: str = request.getfixturevalue("postgres_database").url
    return url


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: one
        b: the other
    """
    return a + b


def adder() -> ReactAgent[str]:
    return ReactAgent(turns(scripted_call("add", call_id="1", a=1, b=2), "it is 3"), [add])


async def test_a_run_is_executed_and_reported(database: str) -> None:
    async with opened(database, {"adder": adder()}) as runs:
        record = await runs.run("adder", "1 + 2?", run_id="sum", tags={"of": "two"})
        names = [step.name.partition(" ")[2] for step in await runs.steps("sum")]
        memory = await runs.memory("sum")
    assert (record.state, record.output, record.steps_taken) == ("completed", "it is 3", 2)
    assert (record.agent, record.task, record.tags) == ("adder", "1 + 2?", {"of": "two"})
    assert record.usage.requests == 2
    assert names == ["model", "begin add", "tool add", "model", "end"]
    assert memory is not None
    assert Memory.from_list(memory).to_list()[-1]["content"] == "it is 3"


async def test_the_same_id_is_the_same_run(database: str) -> None:
    agent = adder()
    async with opened(database, {"adder": agent}) as runs:
        first = await runs.run("adder", "1 + 2?", run_id="sum")
        again = await runs.run("adder", "1 + 2?", run_id="sum")
        with pytest.raises(RunConflict, match="another agent or task"):
            await runs.start("adder", "3 + 4?", run_id="sum")
        with pytest.raises(UnknownRun, match="'none'"):
            await runs.get("none")
    assert first == again


async def test_runs_without_agents_are_executed_elsewhere(database: str) -> None:
    async with opened(database) as asking:
        run_id = await asking.start("adder", "1 + 2?")
        assert (await asking.get(run_id)).state == "queued"
        with pytest.raises(TimeoutError):
            await asking.wait(run_id, timeout=0.1)
        async with opened(database, {"adder": adder()}):
            assert (await asking.wait(run_id, timeout=SECONDS)).output == "it is 3"


async def test_a_conversation_continues_in_another_run(database: str) -> None:
    def count(request: Any) -> str:
        return str(len(request.messages))

    async with opened(database, {"counter": ReactAgent(ScriptedModel(count))}) as runs:
        first = await runs.run("counter", "one")
        second = await runs.run("counter", "two", memory=await runs.memory(first.run_id))
    assert (first.output, second.output) == ("2", "4")


async def test_runs_are_listed_newest_first(either_database: str) -> None:
    agents = {"adder": adder(), "other": ReactAgent(turns(ModelServerError("down")))}
    async with opened(either_database, agents) as runs:
        for name in ("a", "b"):
            await runs.run("adder", name, run_id=name, tags={"name": name})
        await runs.run("other", "c", run_id="c")
        records = await runs.list()

        async def listed(**options: Any) -> set[str]:
            return {record.run_id for record in await runs.list(**options)}

        created = [record.created for record in records]
        assert created == sorted(created, reverse=True)
        assert len(records) == 3
        # SQLite knows whole seconds: within one, the order is open.
        pages = [await listed(limit=1, offset=offset) for offset in range(4)]
        assert [len(page) for page in pages] == [1, 1, 1, 0]
        assert set.union(*pages) == {"a", "b", "c"}
        assert await listed(agent="adder", state="completed") == {"a", "b"}
        assert await listed(tags={"name": "a"}) == {"a"}
        await runs.tag("a", {"name": "b", "half": "\ud800\0"})
        assert await listed(tags={"name": "a"}) == set()
        assert (await runs.get("a")).tags == {"name": "b", "half": "?\N{REPLACEMENT CHARACTER}"}
        with pytest.raises(UnknownRun):
            await runs.tag("nobody", {})
        assert await listed(state="error") == {"c"}
        assert await listed(state="waiting") == set()


async def test_a_run_that_failed_is_resumed_where_it_was(database: str) -> None:
    replies: list[Reply] = [scripted_call("add", a=1, b=2), ModelServerError("down"), "it is 3"]
    model = ScriptedModel(replies)
    async with opened(database, {"adder": ReactAgent(model, [add])}) as runs:
        failed = await runs.run("adder", "1 + 2?", run_id="sum")
        assert (failed.state, failed.error, failed.error_kind) == (
            "error",
            "down",
            "ModelServerError",
        )
        await runs.resume("sum")
        record = await runs.wait("sum")
        with pytest.raises(RunConflict, match="completed"):
            await runs.resume("sum")
    assert record.output == "it is 3"
    assert len(model.requests) == 3


async def test_a_cancelled_run_makes_no_more_calls_and_can_be_resumed(database: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take long."""
        begun.set()
        await go_on.wait()
        return "done"

    model = turns(scripted_call("slow", call_id="1"), "over")
    async with opened(database, {"slow": ReactAgent(model, [slow])}) as runs:
        await runs.start("slow", "go", run_id="run")
        await begun.wait()
        await runs.cancel("run")
        go_on.set()
        assert (await runs.wait("run")).state == "cancelled"
        await runs.resume("run")
        record = await runs.wait("run")
        # The call was under way when it was cancelled: its result could not be recorded.
        assert record.state == "needs_decision"
        await runs.cancel("run")
        assert (await runs.wait("run")).state == "cancelled"
    assert len(model.requests) == 1


async def test_ended_runs_are_deleted_and_suspended_ones_kept(either_database: str) -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    from tinyagent import Tool

    gated = Tool.from_function(pay, requires_approval=True)
    payer = ReactAgent(turns(scripted_call("pay", call_id="1"), "paid"), [gated])
    async with opened(either_database, {"adder": adder(), "payer": payer}) as runs:
        await runs.run("adder", "1 + 2?", run_id="sum")
        await runs.run("payer", "pay", run_id="waiting")
        assert [run.run_id for run in await runs.list(state="waiting", agent="payer")] == [
            "waiting"
        ]
        assert await runs.list(state="waiting", agent="adder") == []
        assert await runs.forget(timedelta(hours=1)) == 0
        assert await runs.forget(timedelta(seconds=-1)) == 1
        assert [record.run_id for record in await runs.list()] == ["waiting"]
        with pytest.raises(UnknownRun):
            await runs.steps("sum")


async def test_a_listener_gets_the_events(database: str) -> None:
    heard: list[tuple[str, Event, bool]] = []
    listener = lambda run_id, event, again: heard.append((run_id, event, again))  # noqa: E731
    async with opened(database, {"adder": adder()}, listener=listener) as runs:
        await runs.run("adder", "1 + 2?", run_id="sum")
    events = [event for _, event, _ in heard]
    assert {run_id for run_id, _, _ in heard} == {"sum"}
    assert not any(again for _, _, again in heard)
    assert any(isinstance(event, TextDelta) for event in events)
    assert [e.result.content for e in events if isinstance(e, ToolFinished)] == ["3"]
    assert isinstance(events[-1], RunFinished)


async def test_an_agent_that_a_worker_lacks_is_an_error_that_can_be_resumed(database: str) -> None:
    async with opened(database, {"adder": adder()}) as runs:
        record = await runs.run("subtracter", "1 - 2?")
        assert record.state == "error"
        assert "no agent 'subtracter', only: adder" in record.error


@dataclass
class Shop:
    apples: int
    key: str = "sk-never-stored"


async def stock(context: RunContext[Shop]) -> int:
    """Count the apples."""
    return context.deps.apples


def _bytes(file: Path) -> bytes:
    return file.read_bytes()


async def test_each_process_passes_the_deps_and_none_are_stored(
    database: str, tmp_path: Path
) -> None:
    replies = turns(scripted_call("stock", call_id="1"), "counted")
    tools = [Tool.from_function(stock, requires_approval=True)]
    agents = {"clerk": ReactAgent(replies, tools, deps_type=Shop)}
    async with opened(database, agents, deps={"clerk": Shop(3)}) as runs:
        assert (await runs.run("clerk", "How many?", run_id="count")).state == "waiting"
    async with opened(database, agents, deps={"clerk": Shop(5)}) as runs:
        await runs.approve("count")
        assert (await runs.wait("count", timeout=SECONDS)).output == "counted"
        (result,) = [step.value for step in await runs.steps("count") if "tool stock" in step.name]
    assert result["content"] == "5"
    stored = _bytes(tmp_path / "runs.sqlite")
    assert b"How many?" in stored
    assert b"sk-never-stored" not in stored


async def test_a_run_without_the_deps_that_its_agent_needs_fails_and_can_be_resumed(
    database: str,
) -> None:
    agents = {"words": ReactAgent(turns("done"), deps_type=str)}
    async with opened(database, agents) as runs:
        record = await runs.run("words", "go", run_id="one")
        assert (record.state, "need deps of type str" in record.error) == ("error", True)
    async with opened(database, agents, deps={"words": "these"}) as runs:
        await runs.resume("one")
        assert (await runs.wait("one", timeout=SECONDS)).output == "done"


def test_deps_of_an_unknown_agent_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="deps: there is no agent 'adler', only: adder"):
        DurableRuns(agents={"adder": adder()}, deps={"adler": 1})


async def test_an_answer_that_was_not_recorded_is_asked_for_again_after_the_end_of_a_process(
    database: str,
) -> None:
    asked = asyncio.Event()

    class Slow(ScriptedModel):
        async def complete(self, _request: Any) -> Any:
            asked.set()
            return await asyncio.get_running_loop().create_future()

    async with opened(database, {"adder": ReactAgent(Slow([]))}, drain_seconds=0.05) as runs:
        await runs.start("adder", "1 + 2?", run_id="sum")
        await asked.wait()
    async with opened(database, {"adder": adder()}) as runs:
        assert (await runs.wait("sum", timeout=SECONDS)).output == "it is 3"


async def test_draining_lets_calls_end_and_begins_none(database: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take long."""
        begun.set()
        await go_on.wait()
        return "done"

    model = turns(scripted_call("slow", call_id="1"), "over")
    agents = {"slow": ReactAgent(model, [slow])}
    async with opened(database, agents) as runs:
        await runs.start("slow", "go", run_id="run")
        await begun.wait()
        assert runs.in_flight == 1
        drained = asyncio.create_task(runs.drain())
        go_on.set()
        await drained
        names = [step.name.partition(" ")[2] for step in await runs.steps("run")]
        assert names == ["model", "begin slow", "tool slow"]
    async with opened(database, agents) as runs:
        assert (await runs.wait("run", timeout=SECONDS)).output == "over"
    assert len(model.requests) == 2


@pytest.mark.parametrize("url", ["runs.sqlite", "mysql://host/runs", ""])
def test_an_unsupported_database_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must be a URL of SQLite or PostgreSQL"):
        DurableRuns(url)


async def test_a_database_that_is_away_is_reported_without_its_url(tmp_path: Path) -> None:
    url = f"postgresql://user:secret@/runs?host={tmp_path}"
    for agents in (None, {"adder": adder()}):
        with pytest.raises(ConfigurationError, match="cannot be opened") as raised:
            async with DurableRuns(url, agents):
                pass
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("run_id", ["", " ", "a\0", "a\nb", "a" * 1000, "\ud800"])
async def test_an_id_that_no_run_can_have(either_database: str, run_id: str) -> None:
    async with DurableRuns(either_database) as runs:
        with pytest.raises(ConfigurationError, match="printable"):
            await runs.start("agent", "task", run_id=run_id)
        with pytest.raises(UnknownRun):
            await runs.get(run_id)
        assert await runs.start("agent", "task", run_id="order 7") == "order 7"

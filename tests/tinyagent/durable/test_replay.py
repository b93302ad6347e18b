"""Blocks of code that run again, for their variables, when their run goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.coding import seconds
from tests.support.durable_runs import blocks, empty_database, opened, turns
from tests.support.waits import SECONDS

from tinyagent import (
    CodeFinished,
    Event,
    OutputDelta,
    ReactAgent,
    RunFinished,
    RunStarted,
    Sandbox,
    ScriptedModel,
    TextDelta,
    TinyCodeAgent,
    Tool,
    ToolFinished,
    TrustLevel,
    scripted_call,
)
from tinyagent.durable import RunRecord
from tinyagent.execution.sandbox.executor import get_executor

# In C, where nothing can stop it: the session is left behind.


class World:
    """Tools, and how often they were called. `wait` suspends the run until a yes."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.calls: list[Any] = []
        self.heard: list[tuple[Event, bool]] = []

    def tools(self) -> list[Any]:
        def note(value: Any) -> Any:
            """Note a value.

            Args:
                value: the value.
            """
            self.calls.append(value)
            if value == "fail":
                raise ValueError("not this")
            return value

        def wait() -> str:
            """Wait for a yes."""
            return "go on"

        return [note, Tool.from_function(wait, requires_approval=True)]

    async def run(self, *codes: str, **options: Any) -> tuple[RunRecord, ScriptedModel]:
        """The run of these blocks, one of which waits until it may go on."""
        model = blocks(*codes)
        agent = TinyCodeAgent(model, self.tools(), **options)
        async with opened(self.database, {"coder": agent}, listener=self._tell) as runs:
            assert (await runs.run("coder", "go", run_id="run")).state == "waiting"
            await runs.approve("run")
            return await runs.wait("run", timeout=SECONDS), model

    def _tell(self, _run_id: str, event: Event, again: bool) -> None:  # noqa: FBT001 - as listeners are called
        self.heard.append((event, again))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(empty_database(tmp_path))


@pytest.mark.parametrize("level", [TrustLevel.LOCAL, TrustLevel.ISOLATED])
async def test_variables_notes_and_failures_come_back(world: World, level: TrustLevel) -> None:
    record, model = await world.run(
        "x = note(1)\nstore('key', note([x]))\nprint('first')",
        "y = 2\nnote('fail')",
        "try:\n    note('fail')\nexcept Exception as error:\n    z = type(error).__name__\nwait()",
        "final_answer([x, y, z, recall('key')])",
        sandbox=Sandbox(level),
    )
    assert record.output == '[1,2,"ValueError",[1]]'
    assert world.calls == [1, [1], "fail", "fail"]
    assert len(model.requests) == 4
    assert "stored: key = [1]" in model.requests[-1].messages[3].text


async def test_repeated_events_are_marked_and_have_no_deltas(world: World) -> None:
    await world.run("print(note(1))", "wait()", "print(2)", "final_answer(3)")
    _, at = (n for n, (event, _) in enumerate(world.heard) if isinstance(event, RunStarted))
    first, second = world.heard[:at], world.heard[at:]
    assert not any(again for _, again in first)
    assert not any(isinstance(event, RunFinished) for event, _ in first)
    assert isinstance(second[-1][0], RunFinished)
    again = [event for event, again in second if again]
    assert [type(event) for event in again if isinstance(event, ToolFinished | CodeFinished)] == [
        ToolFinished,
        CodeFinished,
    ]
    assert not any(isinstance(event, TextDelta | OutputDelta) for event in again)
    fresh = [event for event, again in second if not again]
    assert [event.text for event in fresh if isinstance(event, OutputDelta)] == ["2\n"]


@pytest.mark.parametrize("trust_level", [TrustLevel.ISOLATED, TrustLevel.LOCAL])
async def test_a_block_that_was_stopped_is_not_run_again(
    world: World, trust_level: TrustLevel
) -> None:
    record, model = await world.run(
        "x = 1",
        "x = note(2)\nwhile True: pass",
        "wait()",
        "final_answer(x)",
        sandbox=Sandbox(trust_level, limits=seconds(0.5)),
    )
    assert (record.output, world.calls) == ("1", [2])
    assert sum("stopped after 0.5 s" in m.content for m in model.requests[-1].messages) == 1


async def test_variables_that_were_lost_stay_lost(world: World) -> None:
    record, _ = await world.run(
        "x = 1",
        "while True: pass",
        "try:\n    x\nexcept NameError:\n    x = 'lost'",
        "wait()",
        "final_answer(x)",
        executor=lambda: get_executor(
            Sandbox(TrustLevel.ISOLATED, limits=seconds(0.5), checkpoints=0)
        ),
    )
    assert record.output == "lost"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("n = note(mode)", "it calls note"),
        ("n = wait() if mode == 'after' else 1", "it calls wait"),
        ("n = 1 if mode == 'before' else note(1)", "it calls note"),
        ("n = note(1) if mode == 'before' else 1", "it leaves out"),
        ("assert mode == 'before'", "it ended with no error, and now with the error"),
        ("if mode == 'after': final_answer(1)", "it ended with no error, and now with an answer"),
    ],
)
async def test_code_that_makes_other_calls_ends_the_run(
    world: World, tmp_path: Path, code: str, message: str
) -> None:
    mode = tmp_path / "mode"
    mode.write_text("before")
    model = blocks("mode = open('mode').read()", code, "wait()", "final_answer(2)")
    agent = TinyCodeAgent(model, world.tools(), sandbox=Sandbox(files=[mode]))
    async with opened(world.database, {"coder": agent}) as runs:
        assert (await runs.run("coder", "go", run_id="run")).state == "waiting"
        calls = len(world.calls)
        mode.write_text("after")
        await runs.approve("run")
        record = await runs.wait("run", timeout=SECONDS)
    assert (record.state, record.error_kind) == ("error", "ReplayDiverged")
    assert message in record.error
    assert len(world.calls) == calls


async def test_a_block_that_continues_in_the_middle_must_ask_for_the_same(world: World) -> None:
    record, _ = await world.run("import time\nn = note(time.time_ns())\nwait()\nfinal_answer(n)")
    assert record.error_kind == "ReplayDiverged"
    assert "does not make the same calls again" in record.error
    assert len(world.calls) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("assert mode == 'before'\nnote(1)\nwait()", "leaves out"),
        ("note(1) if mode == 'before' else None\nwait()", "where a call"),
        ("note(1 if mode == 'before' else 2)\nwait()", "where a call"),
        ("note(1)\nif mode == 'before': wait()\nfinal_answer(1)", "no fault"),
    ],
)
async def test_an_interrupted_block_that_leaves_out_its_calls_ends_the_run(
    world: World, tmp_path: Path, code: str, message: str
) -> None:
    mode = tmp_path / "mode"
    mode.write_text("before")
    model = blocks(f"mode = open('mode').read()\n{code}", "note('again')", "final_answer(2)")
    agent = TinyCodeAgent(model, world.tools(), sandbox=Sandbox(files=[mode]))
    async with opened(world.database, {"coder": agent}) as runs:
        assert (await runs.run("coder", "go", run_id="run")).state == "waiting"
        mode.write_text("after")
        await runs.approve("run")
        record = await runs.wait("run", timeout=SECONDS)
    # A question that is not asked again has changed nothing outside: that one may be left out.
    expected = ("completed", "") if message == "no fault" else ("error", "ReplayDiverged")
    assert (record.state, record.error_kind) == expected
    assert record.error == "" or message in record.error
    assert (world.calls, len(model.requests)) == ([1], 1)


async def test_a_call_in_doubt_is_not_made_again_by_a_block_that_left_out_an_earlier_call(
    world: World, tmp_path: Path
) -> None:
    mode = tmp_path / "mode"
    mode.write_text("before")
    begun = asyncio.Event()

    async def pay() -> None:
        """Pay."""
        world.calls.append("pay")
        begun.set()
        await asyncio.get_running_loop().create_future()

    model = blocks("if open('mode').read() == 'before': note(1)\npay()", "final_answer(2)")
    agents = {"coder": TinyCodeAgent(model, [*world.tools(), pay], sandbox=Sandbox(files=[mode]))}
    async with opened(world.database, agents, drain_seconds=0.05) as runs:
        await runs.start("coder", "go", run_id="run")
        await begun.wait()
    mode.write_text("after")
    async with opened(world.database, agents) as runs:
        record = await runs.wait("run", timeout=SECONDS)
    assert (record.state, record.error_kind) == ("error", "ReplayDiverged")
    assert world.calls == [1, "pay"]


async def test_a_recorded_call_whose_tool_has_another_name_now_ends_the_run(world: World) -> None:
    note, wait = world.tools()
    replies = (scripted_call("note", call_id="n", value=1), scripted_call("wait", call_id="w"))

    def transfer(value: Any) -> None:
        """Note a value, under another name.

        Args:
            value: the value.
        """
        world.calls.append(value)

    model = turns(list(replies), "done")
    async with opened(world.database, {"coder": ReactAgent(model, [note, wait])}) as runs:
        assert (await runs.run("coder", "go", run_id="run")).state == "waiting"
    async with opened(world.database, {"coder": ReactAgent(model, [transfer, wait])}) as runs:
        await runs.approve("run")
        record = await runs.wait("run", timeout=SECONDS)
    assert (record.state, record.error_kind) == ("error", "ReplayDiverged")
    assert "begin note" in record.error
    assert (world.calls, len(model.requests)) == ([1], 1)

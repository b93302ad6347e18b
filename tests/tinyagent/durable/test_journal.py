"""What is recorded, and who may record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.durable_runs import blocks, empty_database, opened, turns
from tests.support.waits import SECONDS, soon

from tinyagent import Image, ReactAgent, Sandbox, ScriptedModel, TinyCodeAgent, Tool, scripted_call
from tinyagent.core import ModelFormatRefused, ModelRequest
from tinyagent.core.context import RunControl
from tinyagent.core.errors import RunConflict
from tinyagent.core.messages import Task
from tinyagent.core.types import RawToolCall
from tinyagent.durable.cursor import Cursor, digest
from tinyagent.durable.journal import CallGate, Entry, Journal


@pytest.fixture
def database(tmp_path: Path) -> str:
    return empty_database(tmp_path)


def wait() -> str:
    """Wait for a yes."""
    return "go on"


WAIT = Tool.from_function(wait, requires_approval=True)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize("make", [ReactAgent, TinyCodeAgent])
async def test_a_task_with_an_image_is_stored_and_reaches_the_model(
    make: Any, database: str
) -> None:
    reply = "A cat." if make is ReactAgent else "```python\nfinal_answer('A cat.')\n```"
    model = ScriptedModel(lambda _: reply)
    agent = make(model, **({} if make is ReactAgent else {"sandbox": Sandbox("local")}))
    async with opened(database, {"looker": agent}) as runs:
        task: Task = ["What is it?", Image(PNG)]
        record = await runs.run("looker", task, run_id="one")
        assert (record.output, record.task) == ("A cat.", "What is it?\n[image]")
        assert await runs.start("looker", task, run_id="one") == "one"
        with pytest.raises(RunConflict, match="another agent or task"):
            await runs.start("looker", ["What is it?"], run_id="one")
    seen = [part for each in model.requests[0].messages for part in each.parts]
    assert Image(PNG) in seen


async def test_an_execution_that_has_lost_its_run_records_and_calls_nothing(database: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    sent: list[int] = []

    async def send(number: int) -> str:
        """Send.

        Args:
            number: of the letter.
        """
        sent.append(number)
        begun.set()
        await go_on.wait()
        return "sent"

    calls = [scripted_call("send", call_id=f"s{n}", number=n) for n in (1, 2)]
    model = turns(*calls, "all sent")
    async with opened(database, {"sender": ReactAgent(model, [send])}) as runs:
        await runs.start("sender", "send", run_id="run")
        await begun.wait()
        # As if this process had been taken for dead: another execution takes the run up.
        await asyncio.to_thread(runs._liveness.put_back, ["run"])
        doubtful = await runs.wait("run", timeout=SECONDS)
        assert [question.tool for question in doubtful.questions] == ["send"]
        go_on.set()  # the first execution goes on, and finds that it has lost the run
        await soon(lambda: runs.in_flight == 0)
        assert (await runs.get("run")).state == "needs_decision"
        assert sent == [1]
        await runs.decide("run", "skip")
        assert (await runs.wait("run")).output == "all sent"
    assert sent == [1, 2]


async def test_an_execution_whose_run_another_has_ended_stops_at_once(database: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    looked: list[int] = []

    async def look(number: int) -> str:
        """Look.

        Args:
            number: at what.
        """
        looked.append(number)
        if len(looked) == 1:
            begun.set()
            await go_on.wait()
        return "seen"

    calls = [scripted_call("look", call_id=f"l{n}", number=n) for n in (1, 2)]
    model = turns(*calls, "all seen")
    agent = ReactAgent(model, [Tool.from_function(look, idempotent=True)])
    async with opened(database, {"looker": agent}) as runs:
        await runs.start("looker", "look", run_id="run")
        await begun.wait()
        await asyncio.to_thread(runs._liveness.put_back, ["run"])
        assert (await runs.wait("run", timeout=SECONDS)).output == "all seen"
        assert (looked, len(model.requests)) == ([1, 1, 2], 3)
        # Its next record has the number and the name of one that is there.
        go_on.set()
        await soon(lambda: runs.in_flight == 0)
        await runs.drain()
    assert (looked, len(model.requests)) == ([1, 1, 2], 3)


async def test_parallel_calls_find_their_results_in_any_order(database: str) -> None:
    order: list[list[int]] = [[]]
    turn = {1: asyncio.Event(), 2: asyncio.Event(), 3: asyncio.Event()}

    async def look(number: int) -> str:
        """Look.

        Args:
            number: at what.
        """
        await turn[number].wait()
        order[-1].append(number)
        if number > 1:
            turn[number - 1].set()
        return f"seen {number}"

    calls = [scripted_call("look", call_id=f"c{n}", number=n) for n in (1, 2, 3)]
    model = turns([*calls, scripted_call("wait", call_id="w")], "done")
    turn[3].set()
    async with opened(database, {"looker": ReactAgent(model, [look, WAIT])}) as runs:
        await runs.run("looker", "look", run_id="run")
        await runs.approve("run")
        assert (await runs.wait("run")).output == "done"
        memory = await runs.memory("run")
    assert order == [[3, 2, 1]]
    assert memory is not None
    results = [message["content"] for message in memory if message["role"] == "tool"]
    assert results == ["seen 1", "seen 2", "seen 3", "go on"]


async def test_a_long_result_can_be_paged_after_the_run_was_suspended(database: str) -> None:
    def answer(request: ModelRequest) -> str | RawToolCall:
        results = [m.text for m in request.messages if m.role == "tool"]
        if not results:
            return scripted_call("long", call_id="l")
        if len(results) == 1:
            return scripted_call("wait", call_id="w")
        if len(results) == 2:
            handle = results[0].partition('handle="')[2].partition('"')[0]
            return scripted_call("read_result", call_id="r", handle=handle, offset=30_000, limit=5)
        return str(json.loads(results[2])["text"])

    def long() -> str:
        """Say much."""
        return "x" * 30_000 + "found" + "y" * 30_000

    agent = ReactAgent(ScriptedModel(answer), [long, WAIT])
    async with opened(database, {"reader": agent}) as runs:
        await runs.run("reader", "read", run_id="run")
        await runs.approve("run")
        assert (await runs.wait("run")).output == "found"


async def test_a_form_that_the_server_refused_in_another_process_is_stepped_down_again(
    database: str,
) -> None:
    def answer(request: ModelRequest) -> Any:
        if request.format.tools or request.format.response_format:
            raise ModelFormatRefused("no tools here")
        if "go on" in request.messages[-1].content:
            return '{"scratchpad": "", "answer": "done"}'
        return '{"scratchpad": "", "tool": "wait", "arguments": {}}'

    def agent() -> ReactAgent[str]:
        return ReactAgent(ScriptedModel(answer), [WAIT])

    async with opened(database, {"agent": agent()}) as runs:
        # The first run steps down for all of the agent; the second's journal has no refusal in it.
        for run_id in ("first", "second"):
            assert (await runs.run("agent", "go", run_id=run_id)).state == "waiting"
    async with opened(database, {"agent": agent()}) as runs:
        for run_id in ("second", "first"):
            await runs.approve(run_id)
            assert (await runs.wait(run_id)).output == "done"


async def test_a_run_that_a_tool_starts_for_itself_is_part_of_its_call(database: str) -> None:
    inner = ReactAgent(ScriptedModel(lambda request: f"inner {request.messages[-1].content}"))

    async def think(task: str) -> str:
        """Think.

        Args:
            task: of what.
        """
        return str(await inner.run(task))

    calls = [scripted_call("think", call_id="t", task="deep"), scripted_call("wait", call_id="w")]
    model = turns(*calls, "done")
    async with opened(database, {"thinker": ReactAgent(model, [think, WAIT])}) as runs:
        await runs.run("thinker", "go", run_id="run")
        await runs.approve("run")
        assert (await runs.wait("run")).output == "done"
        memory = await runs.memory("run")
        names = [step.name.partition(" ")[2] for step in await runs.steps("run")]
    assert memory is not None
    assert memory[3]["content"] == "inner deep"
    assert names.count("model") == 3


async def test_a_record_that_cannot_be_read_ends_the_run(database: str) -> None:
    model = turns(scripted_call("wait", call_id="w"), "done")
    async with opened(database, {"agent": ReactAgent(model, [WAIT])}) as runs:
        await runs.run("agent", "go", run_id="run")
    import sqlite3

    connection = sqlite3.connect(database.removeprefix("sqlite:///"))
    with connection:
        connection.execute("UPDATE operation_outputs SET output = '{\"at\":0}' WHERE function_id=1")
    connection.close()
    async with opened(database, {"agent": ReactAgent(model, [WAIT])}) as runs:
        await runs.approve("run")
        record = await runs.wait("run")
    assert record.error_kind == "ReplayDiverged"
    assert "record 1 of the run (1.1 model) cannot be read" in record.error


async def test_files_that_the_code_made_are_kept_with_the_run(database: str) -> None:
    model = blocks("open('a.txt', 'w').write('hello')", "final_answer(1)")
    async with opened(database, {"coder": TinyCodeAgent(model)}) as runs:
        record = await runs.run("coder", "write")
        (made,) = await runs.artifacts(record.run_id)
    assert (made.name, made.data) == ("a.txt", b"hello")


def test_the_clock_of_a_run_continues_from_its_last_record() -> None:
    run = RunControl("task", 1, {})
    cursor = Cursor(cast("Any", None), run, "")
    cursor.go_on_from({"at": 100.0})
    assert 100 <= run.seconds < 160
    cursor.go_on_from({"at": 50.0})
    assert 100 <= run.seconds < 160


def test_a_place_and_a_kind_are_read_from_the_name_of_a_step() -> None:
    entry = Entry(7, "2.9f8e7d6c-1#1 begin send_mail", {})
    assert (entry.place, entry.kind) == ("2.9f8e7d6c-1#1", "begin")
    assert Entry(1, "end", {}).kind == ""


def test_a_digest_does_not_depend_on_the_order_of_arguments() -> None:
    assert digest("f", {"a": 1, "b": [2]}) == digest("f", {"b": [2], "a": 1})
    assert len({digest("f", {"a": 1}), digest("g", {"a": 1}), digest("f", {"a": "1"})}) == 3


async def test_a_run_is_replayed_until_its_records_are_read_or_passed_over() -> None:
    async def answers() -> dict[str, Any]:
        return {}

    entries = [Entry(0, "1.1 model", {}), Entry(0, "1.2 tool send", {}), Entry(0, "2.1 model", {})]
    journal = Journal("run", [*entries, Entry(0, "1 end", {})], answers, CallGate())
    journal.pass_over("1.")
    assert [entry.place for entry in journal.unread(("model",), "")] == ["2.1"]
    assert journal.is_replaying
    assert journal.find("model", "2.1") == entries[2]
    assert not journal.is_replaying

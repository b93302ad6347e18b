"""A run that kills its process does not take others with it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

from tests.support.durable_runs import empty_database, opened, turns
from tests.support.waits import SECONDS, soon

from tinyagent import ReactAgent, Tool, scripted_call
from tinyagent.durable import suspects
from tinyagent.durable.suspects import LIVES, Lives, Room

LIMIT = 3
INNOCENT = [f"innocent-{number}" for number in range(5)]


async def poison() -> None:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)


async def slow() -> str:
    """Take so long that the process ends first."""
    await asyncio.sleep(0.3)
    return "looked"


def _agents() -> dict[str, Any]:
    return {
        "poison": ReactAgent(
            turns(scripted_call("poison")), [Tool.from_function(poison, idempotent=True)]
        ),
        "innocent": ReactAgent(
            turns(scripted_call("slow"), "done"), [Tool.from_function(slow, idempotent=True)]
        ),
    }


def _work(database: str) -> None:
    suspects.MOST_LIVES = LIMIT

    async def until_all_have_ended() -> None:
        async with opened(database, _agents()) as runs:
            for run_id in ("poison", *INNOCENT):
                await runs.wait(run_id)

    asyncio.run(until_all_have_ended())


async def test_only_the_run_that_kills_its_process_is_lost(tmp_path: Path) -> None:
    database = empty_database(tmp_path)
    async with opened(database) as runs:
        await runs.start("poison", "go", run_id="poison")
        for run_id in INNOCENT:
            await runs.start("innocent", "go", run_id=run_id)
        forks = multiprocessing.get_context("forkserver")
        lives = 0
        while True:
            process = forks.Process(target=_work, args=(database,))
            process.start()
            await asyncio.to_thread(process.join, SECONDS)
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
            lives += 1
            assert lives <= LIMIT
        assert lives == LIMIT
        assert [(await runs.get(run_id)).output for run_id in INNOCENT] == ["done"] * 5
        lost = await runs.get("poison")
        assert (lost.state, [one.run_id for one in await runs.list(state="lost")]) == (
            "lost",
            ["poison"],
        )
        assert "died 3 times after record 1 " in lost.error
        await runs.resume("poison")
        assert (await runs.get("poison")).state == "queued"


def test_a_run_that_has_made_a_record_stops_being_a_suspect() -> None:
    noted: dict[str, Any] = {}
    begun = []
    for records in (4, 4, 4, 4, 5, 5, 5):
        lives = Lives.after_death(noted, records)
        noted = lives.to_attributes()
        begun.append((lives.begun, lives.is_suspect))
    assert begun[:4] == [(2, False), (3, True), (4, True), (5, True)]
    assert begun[4:] == [(2, False), (3, True), (4, True)]
    assert noted == {LIVES: {"records": 5, "begun": 4}}


async def test_a_suspect_is_alone_and_nobody_waits_for_ever(monkeypatch: Any) -> None:
    inside: list[str] = []
    seen: list[list[str]] = []
    leave = {
        name: asyncio.Event() for name in ("first", "suspect", "late", "stuck", "second suspect")
    }
    room = Room()

    async def enter(name: str, *, is_suspect: bool = False) -> None:
        async with room.entered(is_suspect=is_suspect):
            inside.append(name)
            seen.append(sorted(inside))
            await leave[name].wait()
            inside.remove(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(enter("first"))
        await soon(lambda: inside == ["first"])
        group.create_task(enter("suspect", is_suspect=True))
        await asyncio.sleep(0)
        group.create_task(enter("late"))
        await asyncio.sleep(0)
        assert inside == ["first"]
        leave["first"].set()
        await soon(lambda: inside == ["suspect"])
        leave["suspect"].set()
        await soon(lambda: inside == ["late"])
        monkeypatch.setattr(suspects, "_SUSPECT_SECONDS", 0.01)
        group.create_task(enter("second suspect", is_suspect=True))
        await soon(lambda: inside == ["late", "second suspect"])
        monkeypatch.setattr(suspects, "_OTHERS_SECONDS", 0.01)
        group.create_task(enter("stuck"))
        await soon(lambda: inside == ["late", "second suspect", "stuck"])
        for event in leave.values():
            event.set()
    assert seen[:3] == [["first"], ["suspect"], ["late"]]

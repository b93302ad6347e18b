"""A worker: what the options of its queues do, what it leaves behind when it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import CampaignModel, task_of
from tests.support.waits import SECONDS, soon

from tinyagent import ReactAgent, ScriptedModel
from tinyagent.cli.worker import stop_on_signals
from tinyagent.core import ModelRequest
from tinyagent.durable import DurableRuns
from tinyagent.durable.queues import QueueOptions, Rate


class Answering:
    """An agent that answers its task at once, or when it is let; it notes the tasks in order."""

    def __init__(self, *, held: bool = False) -> None:
        self.began: list[str] = []
        self.go = asyncio.Event()
        if not held:
            self.go.set()
        self.agent = ReactAgent(_Held(self))


class _Held(ScriptedModel):
    def __init__(self, owner: Answering) -> None:
        super().__init__(lambda request: request.messages[-1].text or "")
        self._owner = owner

    async def complete(self, request: ModelRequest) -> Any:
        self._owner.began.append(request.messages[-1].text or "")
        await self._owner.go.wait()
        return await super().complete(request)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.sqlite'}"


@asynccontextmanager
async def working(url: str, answering: Answering, **options: Any) -> AsyncGenerator[DurableRuns]:
    stop = asyncio.Event()
    queues = {"default": QueueOptions(poll_seconds=0.05, **options)}
    async with DurableRuns(url, {"a": answering.agent}, queues=queues) as runs:
        task = asyncio.create_task(runs.work(stop))
        try:
            yield runs
        finally:
            answering.go.set()
            stop.set()
            await task


async def enqueue(url: str, *tasks: str, **options: Any) -> None:
    """Have runs wait in the queue, each called by its task."""
    async with DurableRuns(url) as runs:
        for task in tasks:
            await runs.start("a", task, run_id=task, **options)


async def test_no_more_runs_at_once_than_in_all(url: str) -> None:
    answering = Answering(held=True)
    await enqueue(url, "1", "2", "3")
    async with working(url, answering, in_all=2) as runs:
        await soon(lambda: len(answering.began) == 2)
        assert [run.run_id for run in await runs.list(state="queued")] == ["3"]
        answering.go.set()
        assert (await runs.wait("3", timeout=SECONDS)).output == "3"


async def test_no_more_starts_in_a_time_than_its_rate(url: str) -> None:
    answering = Answering()
    await enqueue(url, "1", "2", "3")
    async with working(url, answering, rate=Rate(2, 3600.0)) as runs:
        await runs.wait("1", timeout=SECONDS)
        await runs.wait("2", timeout=SECONDS)
        assert [run.run_id for run in await runs.list(state="queued")] == ["3"]


async def test_the_first_priority_comes_first(url: str) -> None:
    answering = Answering()
    await enqueue(url, "late", priority=9)
    await enqueue(url, "soon", priority=1)
    async with working(url, answering, per_worker=1) as runs:
        await runs.wait("late", timeout=SECONDS)
    assert answering.began == ["soon", "late"]


async def test_keys_take_turns(url: str) -> None:
    answering = Answering(held=True)
    await enqueue(url, "a1", "a2", "a3", key="a")
    await enqueue(url, "b1", key="b")
    async with working(url, answering, per_key=1) as runs:
        await soon(lambda: len(answering.began) == 2)
        assert set(answering.began) == {"a1", "b1"}
        answering.go.set()
        await runs.wait("a3", timeout=SECONDS)


async def test_a_worker_without_options_leaves_those_there_are(url: str) -> None:
    answering = Answering(held=True)
    async with working(url, Answering(), in_all=1):
        pass
    await enqueue(url, "1", "2")
    async with DurableRuns(url, {"a": answering.agent}):
        await soon(lambda: len(answering.began) == 1)
        answering.go.set()
        await soon(lambda: len(answering.began) == 2)


@pytest.mark.timeout(180)
async def test_a_drained_worker_ends_its_calls_and_leaves_its_runs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    tables = f"sqlite:///{tmp_path / 'effects.sqlite'}"
    effects = Effects(tables)
    effects.create()
    names = ["react-1", "react-2", "code-1", "code-2"]
    async with CampaignModel(0.05) as model, DurableRuns(url) as runs:
        places = {"CAMPAIGN_EFFECTS": tables, "CAMPAIGN_MODEL": model.base_url}
        # Slow calls: no run may end before all have begun.
        fleet = Fleet(Orders(url, {**places, "CAMPAIGN_PAUSE": "4"}))
        fleet.start()
        try:
            for name in names:
                await runs.start(name.partition("-")[0], task_of(name), run_id=name)
            await soon(lambda: len({call.run for call in effects.calls()}) == len(names), 90)
            assert await asyncio.to_thread(fleet.stop) == [0]
            asked = len(model.asked)
            assert {(await runs.get(name)).state for name in names} == {"queued"}
            assert [call for call in effects.calls() if call.ended is None] == []
            fleet.start(Orders(url, {**places, "CAMPAIGN_PAUSE": "0.05"}))
            for name in names:
                assert (await runs.wait(name, timeout=90)).state == "completed"
        finally:
            await asyncio.to_thread(fleet.stop)
    assert asked
    calls = [(call.tool, call.run, call.step) for call in effects.calls()]
    effects.close()
    assert len(calls) == len(set(calls)) == 9 * len(names)
    assert len({(a.run, a.turn) for a in model.asked}) == len(model.asked)


async def test_the_first_signal_stops_and_the_second_kills() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stop = stop_on_signals()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), SECONDS)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)

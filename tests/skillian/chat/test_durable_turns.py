"""Durable turns in one process; tests/e2e/test_durable_turns.py kills the processes."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.chat.test_approvals import Posting
from tests.skillian.chat.test_turns import all_of, said
from tests.skillian.chat.turn_agents import ToolAgent, echo
from tests.support.waits import soon

from skillian.chat import durable_turns
from skillian.chat.agent import Approvals
from skillian.chat.durable_turns import TURN, DurableTurns, runs_url
from skillian.chat.turns import TurnWork, follow
from skillian.errors import UnavailableError
from skillian.storage import (
    CANCELLED,
    SessionNotFound,
    SessionStore,
    StoreUnavailable,
    TooManyWaiting,
    TurnEvent,
    TurnLost,
)
from tinyagent import Decision, tool

SECONDS = 60.0
EVENTS = [
    "turn_started",
    "model_finished",
    "tool_started",
    "tool_finished",
    "delta",
    "model_finished",
    "answer",
    "turn_ended",
]
Open = Callable[..., AbstractAsyncContextManager[DurableTurns]]


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_turns, "_TEND_SECONDS", 0.1)
    monkeypatch.setattr(durable_turns, "_DRAIN_SECONDS", 0.1)


@pytest.fixture
def opened(store: SessionStore, url: str) -> Open:
    """Durable turns of this agent."""

    @asynccontextmanager
    async def open_turns(
        agent: Any, approvals: Approvals | None = None
    ) -> AsyncGenerator[DurableTurns]:
        work = TurnWork(agent, store, approvals=approvals)
        async with DurableTurns(work, url, 4) as turns:
            yield turns

    return open_turns


class Hanging:
    """A tool that stands still the first time that it is called."""

    def __init__(self, *, idempotent: bool) -> None:
        self.at_work = asyncio.Event()
        self.stopped = asyncio.Event()
        self.calls = 0

        @tool(idempotent=idempotent)
        async def wait(text: str) -> str:
            """Wait.

            Args:
                text: of no use.
            """
            self.calls += 1
            if self.calls <= 1:
                self.at_work.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.stopped.set()
            return text

        self.tool = wait


async def test_a_durable_turn_has_the_events_of_any_turn(
    store: SessionStore, opened: Open, tmp_path: Path
) -> None:
    session = (await store.create("me")).id
    async with opened(ToolAgent(echo)) as turns:
        for question in ("First", "Second"):
            events = await all_of(turns.run(session, "me", question))
            assert [event.type for event in events] == EVENTS
            assert events[6].data["content"] == f"Re: {question}"
        with pytest.raises(SessionNotFound):
            await all_of(turns.run(session, "you", "Hello"))
    assert_private(tmp_path)
    stored = await store.events(session)
    assert [event.number for event in stored] == list(range(1, 17))
    assert said(await store.messages(session)) == [
        "First",
        "",
        "Re: First",
        "Second",
        "",
        "Re: Second",
    ]


async def test_leaving_a_durable_turn_leaves_it_running(store: SessionStore, opened: Open) -> None:
    session = (await store.create("me")).id
    async with opened(ToolAgent(echo)) as turns:
        events = turns.run(session, "me", "Hello")
        await anext(events)
        await events.aclose()
        stored = await all_of(follow(store, session, "me"))
    assert stored[-2].data["content"] == "Re: Hello"


async def test_a_cancelled_turn_ends_and_its_tool_stops(
    store: SessionStore, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    session = (await store.create("me")).id
    hanging = Hanging(idempotent=True)
    async with opened(ToolAgent(hanging.tool)) as turns:
        reading = asyncio.create_task(all_of(turns.run(session, "me", "Hello")))
        await asyncio.wait_for(hanging.at_work.wait(), SECONDS)
        await turns.cancel(session)
        events = await reading
        assert [event.type for event in events[-2:]] == ["turn_failed", "turn_ended"]
        assert events[-2].data == {"type": "cancelled", "message": CANCELLED}
        await asyncio.wait_for(hanging.stopped.wait(), SECONDS)
        await turns.cancel(session)  # there is nothing any more
        after = await all_of(turns.run(session, "me", "Again"))
    assert after[-2].data["content"] == "Re: Again"
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert said(await store.messages(session)) == ["Hello", CANCELLED, "Again", "", "Re: Again"]


async def test_a_session_that_is_deleted_while_its_turn_waits_leaves_no_run(
    store: SessionStore, opened: Open
) -> None:
    session = (await store.create("me")).id
    posting, approvals = Posting(), Approvals()
    async with opened(posting.agent(approvals), approvals) as turns:
        async for event in turns.run(session, "me", "Post x"):
            if event.type == "approval_wanted":
                break
        runs = turns.runs
        await runs.wait(f"{session}-1", timeout=SECONDS)
        await store.delete("me", session)
        async with asyncio.timeout(SECONDS):
            while (await runs.get(f"{session}-1")).state != "cancelled":  # noqa: ASYNC110 - the record is polled
                await asyncio.sleep(0.02)
    assert posting.posted == []


async def queued(turns: DurableTurns) -> bool:
    return bool(await turns.runs.list(state="queued", agent=TURN, tags={"owner": "me"}))


async def test_an_owner_has_a_limit_of_queued_turns(
    store: SessionStore, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_turns, "MAX_WAITING", 1)
    sessions = [(await store.create("me")).id for _ in range(6)]
    hanging = Hanging(idempotent=True)
    hanging.calls = -10  # all of them stand still
    async with opened(ToolAgent(hanging.tool)) as turns:
        for session in sessions[:5]:  # four are worked on, and one waits
            await anext(turns.run(session, "me", "Hello"))
            async with asyncio.timeout(SECONDS):
                while session != sessions[4] and await queued(turns):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.02)
        with pytest.raises(TooManyWaiting, match="1 of your turns"):
            await anext(turns.run(sessions[5], "me", "Hello"))
    assert await store.messages(sessions[5]) == []


async def test_a_turn_that_cannot_be_worked_on_does_not_hold_up_its_session(
    store: SessionStore, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = (await store.create("me")).id

    async def fail(*_: object) -> None:
        raise RuntimeError("strange")

    async with opened(ToolAgent(echo)) as turns:
        with monkeypatch.context() as broken:
            broken.setattr(TurnWork, "go_on", fail)
            events = await asyncio.wait_for(all_of(turns.run(session, "me", "Hi")), SECONDS)
        assert [event.type for event in events] == ["turn_started", "turn_failed", "turn_ended"]
        after = await all_of(turns.run(session, "me", "Again"))
    assert after[-2].data["content"] == "Re: Again"


async def test_a_run_that_is_cancelled_from_outside_ends_its_turn(
    store: SessionStore, opened: Open, url: str
) -> None:
    from tinyagent.durable import DurableRuns

    session = (await store.create("me")).id
    hanging = Hanging(idempotent=True)
    async with opened(ToolAgent(hanging.tool)) as turns:
        reading = asyncio.create_task(all_of(turns.run(session, "me", "Hello")))
        await asyncio.wait_for(hanging.at_work.wait(), SECONDS)
        async with DurableRuns(runs_url(url)) as runs:
            [run] = await runs.list()
            await runs.cancel(run.run_id)
        events = await asyncio.wait_for(reading, SECONDS)
        assert events[-2].data == {"type": "cancelled", "message": CANCELLED}


async def test_a_deleted_session_ends_its_turn(store: SessionStore, opened: Open) -> None:
    session = (await store.create("me")).id
    hanging = Hanging(idempotent=True)
    async with opened(ToolAgent(hanging.tool)) as turns:
        reading = asyncio.create_task(all_of(turns.run(session, "me", "Hello")))
        await asyncio.wait_for(hanging.at_work.wait(), SECONDS)
        await store.delete("me", session)
        with pytest.raises(TurnLost):
            await reading
        await asyncio.wait_for(hanging.stopped.wait(), SECONDS)


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_call_that_was_begun_is_made_again_only_if_idempotent(
    store: SessionStore, opened: Open, *, idempotent: bool
) -> None:
    session = (await store.create("me")).id
    hanging = Hanging(idempotent=idempotent)
    agent = ToolAgent(hanging.tool)
    async with opened(agent) as turns:
        reading = asyncio.create_task(all_of(turns.run(session, "me", "Hello")))
        await asyncio.wait_for(hanging.at_work.wait(), SECONDS)
    # The process ends in order, but the call does not: the turn is left.
    assert hanging.stopped.is_set()
    async with opened(agent):
        events = await asyncio.wait_for(reading, SECONDS)
    assert [event.type for event in events] == EVENTS
    assert hanging.calls == (2 if idempotent else 1)
    result = events[3].data["result"]
    if idempotent:
        assert result == "Hello"
    else:
        assert result == (
            "Error: wait was started, and its result is not known; it was not called again"
        )
    assert len(agent.model.requests) == 2


@pytest.mark.parametrize("approved", [True, False])
async def test_a_turn_waits_for_approval_in_no_process(
    store: SessionStore, opened: Open, *, approved: bool
) -> None:
    session = (await store.create("me")).id
    posting, approvals = Posting(), Approvals()
    agent = posting.agent(approvals)
    all_events = list[TurnEvent]()
    async with opened(agent, approvals) as turns:
        events = turns.run(session, "me", "Post x")
        async for event in events:
            all_events.append(event)
            if event.type == "approval_wanted":
                break
    async with opened(agent, approvals) as turns:
        decision = Decision(approved, "so it is")
        assert not await turns.answer(session, "another", decision)
        assert await turns.answer(session, "c1", decision)
        all_events += await asyncio.wait_for(all_of(events), SECONDS)
        assert not await turns.answer(session, "c1", decision)
    assert posting.posted == (["x"] if approved else [])
    kinds = [event.type for event in all_events if event.type not in {"delta", "model_finished"}]
    assert kinds == [
        "turn_started", "tool_started", "approval_wanted", "approval_given", "tool_finished",
        "answer", "turn_ended",
    ]  # fmt: skip
    assert next(event.data for event in all_events if event.type == "approval_given") == {
        "id": "c1",
        "approved": approved,
        "reason": "so it is",
    }


async def test_nobody_answers_in_time(
    store: SessionStore, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_turns, "APPROVAL_SECONDS", 0.2)
    session = (await store.create("me")).id
    posting, approvals = Posting(), Approvals()
    async with opened(posting.agent(approvals), approvals) as turns:
        events = await asyncio.wait_for(all_of(turns.run(session, "me", "Post x")), SECONDS)
    given = next(event.data for event in events if event.type == "approval_given")
    assert given == {"id": "c1", "approved": False, "reason": "nobody answered in time"}
    assert posting.posted == []


def assert_private(folder: Path) -> None:
    """What was said is nobody else's business."""
    files = [file for file in folder.glob("*-runs.db*") if file.is_file()]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


@pytest.mark.parametrize(
    ("store_url", "expected"),
    [
        ("sqlite:///skillian.db", "sqlite:///skillian-runs.db"),
        ("sqlite:////a.b/sessions", "sqlite:////a.b/sessions-runs"),
        ("postgresql+psycopg://me:p%40ss@host/db", "postgresql://me:p%40ss@host/db"),
        ("postgres://host/db", "postgresql://host/db"),
    ],
)
def test_the_runs_are_next_to_the_sessions(store_url: str, expected: str) -> None:
    assert runs_url(store_url) == expected


async def test_a_failure_does_not_end_what_is_done_every_few_seconds(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(durable_turns, "_TEND_SECONDS", 0.01)
    faults = [StoreUnavailable("away"), RuntimeError("strange")]
    rounds = 0

    async def fail(_: DurableTurns) -> None:
        if faults:
            raise faults.pop(0)

    async def count(_: DurableTurns) -> None:
        nonlocal rounds
        rounds += 1

    monkeypatch.setattr(DurableTurns, "_forget", fail)
    monkeypatch.setattr(DurableTurns, "_settle", count)
    async with opened(ToolAgent(echo)):
        await soon(lambda: rounds >= 3)
    assert faults == []
    messages = [record.getMessage() for record in caplog.records if record.name == "skillian"]
    failed = "durable turns cannot be tended"
    assert messages == [f"{failed}: StoreUnavailable", failed]


def test_without_the_extra_the_error_names_it(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_turns, "find_spec", lambda _: None)
    work = TurnWork(ToolAgent(echo), store)
    with pytest.raises(UnavailableError, match=r"pip install '\.\[durable\]'"):
        DurableTurns(work, "sqlite:///a.db", 1)

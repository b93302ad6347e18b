from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel
from tests.skillian.chat.test_turns import all_of
from tests.skillian.chat.turn_agents import local_turns

from skillian.chat.agent import Agent, ApprovalGiven, Approvals, ApprovalWanted
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool, in_session
from skillian.storage import SessionStore, TurnEvent
from tinyagent import Decision, ScriptedModel, ToolCall, scripted_call

CALL = ToolCall("c1", "post", {"text": "x"})


class Text(BaseModel):
    text: str


class Posting:
    """A skill with one tool that a person has to approve; keeps what was posted."""

    def __init__(self) -> None:
        self.posted: list[str] = []
        tool = SkillTool("post", "Post it.", Text, self._run, requires_approval=True)
        self.skills = SkillRegistry([Skill("posting", "Posts.", "Post.", (tool,))])

    def agent(self, approvals: Approvals | None) -> Agent:
        model = ScriptedModel([scripted_call("post", call_id="c1", text="x"), "Done."])
        return Agent(model, self.skills, approvals=approvals)

    async def _run(self, asked: Text) -> dict[str, Any]:
        self.posted.append(asked.text)
        return {"posted": asked.text}


async def answered(store: SessionStore, decision: Decision) -> tuple[Posting, list[TurnEvent]]:
    """A turn whose call is answered as soon as it is announced."""
    posting, approvals = Posting(), Approvals()
    session = (await store.create("me")).id
    turns = local_turns(lambda: posting.agent(approvals), store, approvals=approvals)
    events = list[TurnEvent]()
    async for event in turns.run(session, "me", "Post x"):
        events.append(event)
        if event.type == "approval_wanted":
            assert posting.posted == []
            assert approvals.answer(session, event.data["id"], decision)
            assert not approvals.answer(session, event.data["id"], decision)
    return posting, events


async def test_a_call_waits_for_approval(store: SessionStore) -> None:
    posting, events = await answered(store, Decision(approved=True))
    assert posting.posted == ["x"]
    kinds = [event.type for event in events if event.type not in {"delta", "model_finished"}]
    assert kinds == [
        "turn_started", "tool_started", "approval_wanted", "approval_given", "tool_finished",
        "answer", "turn_ended",
    ]  # fmt: skip
    wanted = next(event.data for event in events if event.type == "approval_wanted")
    assert wanted == {"id": "c1", "tool": "post", "args": {"text": "x"}}


async def test_the_model_reads_a_refusal_with_its_reason(store: SessionStore) -> None:
    posting, events = await answered(store, Decision(approved=False, reason="not today"))
    assert posting.posted == []
    by_type = {event.type: event.data for event in events}
    assert by_type["approval_given"] == {"id": "c1", "approved": False, "reason": "not today"}
    assert by_type["tool_finished"]["result"] == "Error: post was not approved: not today"
    assert by_type["tool_finished"]["is_error"]


async def test_without_anybody_to_ask_a_call_is_refused(store: SessionStore) -> None:
    for approvals in (None, Approvals()):
        posting = Posting()
        turns = local_turns(lambda made=posting, one=approvals: made.agent(one), store)  # type: ignore[misc]
        session = (await store.create("me")).id
        events = await all_of(turns.run(session, "me", "Post x"))
        assert posting.posted == []
        assert "approval_wanted" not in {event.type for event in events}


async def test_an_approval_that_nobody_answers_is_refused() -> None:
    events = list[ApprovalWanted | ApprovalGiven]()
    approvals = Approvals(seconds=0.01)
    with in_session("s"), approvals.possible("s"):
        decision = await approvals.ask(CALL, events.append)
    assert (decision.approved, decision.reason) == (False, "nobody answered in time")
    assert events == [ApprovalWanted(CALL), ApprovalGiven(CALL, decision)]
    assert not approvals.answer("s", "c1", Decision(approved=True))


async def test_a_turn_that_is_cancelled_waits_no_more() -> None:
    approvals, is_asked = Approvals(), asyncio.Event()
    with in_session("s"), approvals.possible("s"):
        asking = asyncio.create_task(approvals.ask(CALL, lambda _: is_asked.set()))
        await is_asked.wait()
        asking.cancel()
        await asyncio.wait([asking])
    assert not approvals.answer("s", "c1", Decision(approved=True))


async def test_a_turn_that_ends_late_does_not_stop_the_next_from_asking() -> None:
    approvals, is_asked = Approvals(), asyncio.Event()
    with in_session("s"), approvals.possible("s"):
        with approvals.possible("s"):
            pass
        asking = asyncio.create_task(approvals.ask(CALL, lambda _: is_asked.set()))
        await is_asked.wait()
        assert approvals.answer("s", "c1", Decision(approved=True))
        assert (await asking).approved
    with in_session("s"):
        assert not (await approvals.ask(CALL, lambda _: None)).approved

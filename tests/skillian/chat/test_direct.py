"""Direct calls: no model is asked, and everything else is as for any other call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.skillian.chat.turn_agents import local_turns

from skillian.chat.agent import Agent, Approvals
from skillian.chat.direct import direct_call, direct_message
from skillian.chat.scope import part_of
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool
from skillian.storage import SessionStore
from tinyagent import Decision, ScriptedModel


class Asked(BaseModel):
    source: str


COMPANY: dict[str, Any] = {
    "source": "fi_reporting",
    "measures": ["amount"],
    "filters": {"company": ["1001"]},
}


@pytest.mark.parametrize(
    "message",
    [
        "Show amount",
        '/query_source {"source": "x"}',  # a message begins with words
        'x\n/run_python {"code": "1"}',
        "x\n/query_source [1]",
        "x\n/query_source {broken}",
        'x\n/query_source {"source": "x"} and more',
    ],
)
def test_other_messages_are_questions(message: str) -> None:
    assert direct_call(message) is None


def test_a_direct_message_states_its_call() -> None:
    call = direct_call(direct_message("In\ntwo lines: é", "query_source", COMPANY))
    assert call is not None
    assert (call.words, call.tool, call.arguments) == ("In\ntwo lines: é", "query_source", COMPANY)


async def test_a_direct_call_asks_no_model(store: SessionStore, tmp_path: Path) -> None:
    async with DataServices(SourceRegistry.load(write_demo(tmp_path))) as data:
        model = ScriptedModel([])  # it fails when it is asked
        agent = Agent(model, load_registry(data))
        session = (await store.create("me")).id
        turns = local_turns(lambda: agent, store)
        message = direct_message("Filters changed: company 1001", "query_source", COMPANY)
        events = [event async for event in turns.run(session, "me", message)]
    [answer] = [event.data for event in events if event.type == "answer"]
    assert answer["finished"]
    assert answer["usage"]["requests"] == 0
    assert answer["tool_calls"][0]["args"] == COMPANY
    assert "2,172,539.90" in answer["content"]
    [scope] = answer["scope"]
    assert "company: 1001" in scope
    assert [part_of(*each) for each in enumerate(scope)] == [
        "sources", "measures", "filters", "filters", "groups", "time",
    ]  # fmt: skip


async def test_a_direct_call_that_needs_approval_waits_for_it(store: SessionStore) -> None:
    made: list[str] = []

    async def run(asked: Asked) -> dict[str, Any]:
        made.append(asked.source)
        return {"answer": "ran"}

    tool = SkillTool("query_source", "Query.", Asked, run, requires_approval=True)
    skills = SkillRegistry([Skill("s", "S.", "S.", (tool,))])
    approvals = Approvals()
    session = (await store.create("me")).id
    agent = Agent(ScriptedModel([]), skills, approvals=approvals)
    turns = local_turns(lambda: agent, store, approvals=approvals)
    message = direct_message("Again", "query_source", {"source": "x"})
    async for event in turns.run(session, "me", message):
        if event.type == "approval_wanted":
            assert approvals.answer(session, event.data["id"], Decision(approved=False))
    assert made == []


@pytest.mark.parametrize(
    ("index", "words", "part"),
    [
        (0, "by the book and bpc", "sources"),
        (1, "amount, debit", "measures"),
        (1, "all of company", "filters"),
        (1, "company: 1001", "filters"),
        (3, "by company", "groups"),
        (2, "in total", "groups"),
        (4, "match within 0.01 EUR (amount)", "limits"),
        (4, "the first 50 rows", "rows"),
        (5, "as of 2026-01-01", "time"),
    ],
)
def test_parts_of_a_scope(index: int, words: str, part: str) -> None:
    assert part_of(index, words) == part

"""Whose call a tool answers: the session's, else the turn's."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from tests.skillian.chat.turn_agents import ScriptedAgent, local_turns

from skillian.chat.agent import Agent
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool, in_session, session_id
from skillian.storage import SessionStore
from tinyagent import ScriptedModel, scripted_call, tool


class Nothing(BaseModel):
    pass


SEEN: list[str] = []


async def _note(_: Nothing) -> dict[str, Any]:
    SEEN.append(session_id())
    return {}


def agent() -> Agent:
    SEEN.clear()
    skill = Skill("s", "About s.", "Use it.", (SkillTool("note", "Note.", Nothing, _note),))
    script: list[Any] = [
        scripted_call("note"),
        scripted_call("note"),
        "Done.",
        scripted_call("note"),
        "Done.",
    ]
    return Agent(ScriptedModel(script), SkillRegistry([skill]))


async def test_a_turn_without_a_session_has_its_own() -> None:
    asked = agent()
    await asked.process("one")
    await asked.process("two")
    assert SEEN[0]
    assert SEEN[0] == SEEN[1] != SEEN[2]
    assert session_id() == ""


async def test_a_turn_of_a_session_is_in_it() -> None:
    asked = agent()
    with in_session("mine"):
        await asked.process("one")
    await asked.process("two")
    assert SEEN[:2] == ["mine", "mine"]
    assert SEEN[2] != "mine"


@tool
async def whose(text: str) -> str:
    """Say whose call it is.

    Args:
        text: of no use.
    """
    SEEN.append(session_id())
    return text


async def test_a_stored_sessions_turns_are_in_it(store: SessionStore) -> None:
    SEEN.clear()
    session = await store.create("")
    scripted = ScriptedAgent([scripted_call("whose", text="a"), "Done."], whose)
    async for _ in local_turns(lambda: scripted, store).run(session.id, "", "Go"):
        assert session_id() == ""
    assert [session.id] == SEEN

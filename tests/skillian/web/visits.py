"""Visits to the page, with agents that answer from a script."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.testing import User
from pydantic import BaseModel

from skillian.api.service import Service
from skillian.chat.agent import Agent, Approvals
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool
from skillian.web.chat.sessions import SessionList
from skillian.web.chat.view import ChatView
from skillian.web.shell.frame import Visit
from tinyagent import ScriptedModel


class Text(BaseModel):
    text: str


async def _post(arguments: Text) -> dict[str, Any]:
    return {"posted": arguments.text}


def visit(service: Service, owner: str = "") -> Visit:
    """A visit to the page."""
    return Visit(service, owner, None)


def answer_with(
    service: Service,
    *script: Any,
    model: ScriptedModel | None = None,
    approvals: Approvals | None = None,
) -> None:
    """Make the service answer from a script; its tool `post` waits for approval."""
    tool = SkillTool("post", "Post it.", Text, _post, requires_approval=True)
    skills = SkillRegistry([Skill("posting", "Posts.", "Post.", (tool,))])
    service.work.agent = Agent(model or ScriptedModel(script), skills, approvals=approvals)


async def chat_view(service: Service, session: str | None = None, owner: str = "") -> None:
    """The view of a conversation, with the list of sessions."""
    one = visit(service, owner)
    sessions = SessionList(one, session)
    with ui.element("div"):
        await sessions.build()
    await ChatView(one, session, sessions).build()


def ask(user: User, question: str) -> None:
    """Type a question and send it."""
    user.find(ui.textarea).clear().type(question)
    user.find("Send").click()

"""Visits of the page, with agents that answer from a script."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.testing import User
from pydantic import BaseModel

from skillian.api.service import Service
from skillian.chat.agent import Agent
from skillian.chat.approvals import Approvals
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool
from skillian.web.chat import Chat
from skillian.web.frame import Visit
from skillian.web.sessions import Sessions
from tinyagent import ScriptedModel


class Text(BaseModel):
    text: str


async def _post(asked: Text) -> dict[str, Any]:
    return {"posted": asked.text}


def visit(service: Service, owner: str = "") -> Visit:
    """Somebody looks."""
    return Visit(service, owner, None)


def answer_with(
    service: Service,
    *script: Any,
    model: ScriptedModel | None = None,
    approvals: Approvals | None = None,
) -> None:
    """Let the service answer from a script; its tool `post` waits for an approval."""
    tool = SkillTool("post", "Post it.", Text, _post, requires_approval=True)
    skills = SkillRegistry([Skill("posting", "Posts.", "Post.", (tool,))])
    service.agent = Agent(model or ScriptedModel(script), skills, approvals=approvals)


async def chat_view(service: Service, session: str | None = None, owner: str = "") -> None:
    """The view of a conversation, with the sessions beside it."""
    one = visit(service, owner)
    sessions = Sessions(one, session)
    with ui.element("div"):
        await sessions.build()
    await Chat(one, session, sessions).build()


def ask(user: User, question: str) -> None:
    """Write a question and send it."""
    user.find(ui.textarea).clear().type(question)
    user.find("Send").click()

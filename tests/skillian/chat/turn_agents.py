"""Agents for turns: real ones, with a scripted model and a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from skillian.chat.agent import Conversation
from skillian.chat.turns import LocalTurns, StreamingAgent, TurnWork
from skillian.storage import SessionStore
from tinyagent import Event, ReactAgent, ScriptedModel, scripted_call, tool
from tinyagent.core import ModelRequest, RawToolCall


@tool
async def echo(text: str) -> dict[str, str]:
    """Say it again.

    Args:
        text: what to say.
    """
    return {"said": text}


@tool
async def hang(text: str) -> str:
    """Never end.

    Args:
        text: of no use.
    """
    await asyncio.Event().wait()
    return text


def local_turns(
    agent_factory: Callable[[], StreamingAgent], store: SessionStore, **options: Any
) -> LocalTurns:
    """Turns in this process, each with another agent."""
    return LocalTurns(TurnWork(_AgentOfEachTurn(agent_factory), store, **options))


class _AgentOfEachTurn:
    model_name = "scripted"

    def __init__(self, factory: Callable[[], StreamingAgent]) -> None:
        self._factory = factory

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        return self._factory().stream(user_message, conversation)


class ScriptedAgent:
    """Answers from a script, as ScriptedModel takes it."""

    def __init__(self, script: Any, *tools: Any) -> None:
        self.model = ScriptedModel(script)
        self.model_name = self.model.name
        self._agent = ReactAgent(self.model, tools)

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        memory = None if conversation is None else conversation.memory
        return self._agent.stream(user_message, memory=memory)


class ToolAgent(ScriptedAgent):
    """Calls its tool with the message, then answers with `Re: ` and the message."""

    def __init__(self, used: Any) -> None:
        super().__init__(_asks(used.name), used)


def _asks(name: str) -> Callable[[ModelRequest], str | RawToolCall]:
    def answer(request: ModelRequest) -> str | RawToolCall:
        asked = [message.content for message in request.messages if message.role == "user"][-1]
        if request.messages[-1].role == "tool":
            return f"Re: {asked}"
        return scripted_call(name, text=asked)

    return answer

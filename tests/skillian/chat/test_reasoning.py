"""Turns of models that reason: what they thought goes back to them, and is shown to nobody else."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest
from tests.skillian.chat.turn_agents import echo, local_turns

from skillian.chat.agent import MAX_PARTS_CHARACTERS, Conversation, as_stored
from skillian.storage import SessionStore
from tinyagent import AnthropicModel, Event, Message, Model, OpenAIModel, ReactAgent, Text
from tinyagent.core import Opaque, Reasoning
from tinyagent.models import OpenAIResponsesModel
from tinyagent.testing import Call, Output, StrictServer

NAMES = {
    "deepseek": "deepseek-chat",
    "kimi": "kimi-k2.5",
    "mistral": "magistral-medium-latest",
    "openrouter": "anthropic/claude-sonnet-5",
    "gemini": "gemini-3-pro",
    "anthropic": "claude-sonnet-5",
    "openai": "gpt-5.5",
}
SCRIPT = [
    Output("I ask.", "They greet me.", [Call("echo", {"text": "Hello"})]),
    Output("Re: Hello", "It was said."),
    Output("I ask again.", "Once more.", [Call("echo", {"text": "Again"})]),
    Output("Re: Again", "Twice now."),
]


class Reasoner:
    """An agent with a tool whose model reasons."""

    def __init__(self, model: Model) -> None:
        self.model_name = model.name
        self._agent = ReactAgent(model, [echo], reasoning="high")

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        memory = None if conversation is None else conversation.memory
        return self._agent.stream(user_message, memory=memory)


def _model(provider: str, server: StrictServer, patch: pytest.MonkeyPatch) -> Model:
    if provider == "anthropic":
        patch.setenv("ANTHROPIC_BASE_URL", server.url)
        return AnthropicModel(NAMES[provider], api_key="k")
    make = OpenAIResponsesModel if provider == "openai" else OpenAIModel
    return make(NAMES[provider], base_url=server.base_url, api_key="k", provider=provider)


@pytest.mark.parametrize("provider", NAMES)
async def test_the_next_turn_has_the_reasoning(
    provider: str, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with StrictServer(provider, SCRIPT) as server:
        model = _model(provider, server, monkeypatch)
        session = (await store.create("me")).id
        for message in ("Hello", "Again"):
            events = local_turns(lambda: Reasoner(model), store).run(session, "me", message)
            last = [event async for event in events if event.type == "answer"][-1]
            assert last.data["content"] == f"Re: {message}"
        assert (server.refusals, server.losses) == ([], [])
        assert len(server.requests) == 4
        shown = json.dumps(await store.export(session))
        assert "parts" not in shown
        assert "opaque" not in shown
        assert [each["content"] for each in json.loads(shown)["messages"]][:2] == [
            "Hello",
            "I ask.",
        ]


THOUGHT = Reasoning("Hm.", Opaque("p", "m", {"signature": "s"}))


def test_a_stored_message_has_its_text_and_its_parts() -> None:
    message = Message("assistant", (THOUGHT, Text("Yes.")))
    stored = json.loads(json.dumps(as_stored(message)))
    assert stored["content"] == "Yes."
    assert Conversation.from_list([stored]).messages == (message,)
    assert as_stored(Message("assistant", "Yes.")) == {"role": "assistant", "content": "Yes."}


def test_reasoning_that_is_too_long_is_not_stored() -> None:
    long = Reasoning("x" * MAX_PARTS_CHARACTERS)
    assert as_stored(Message("assistant", (long, Text("Yes.")))) == {
        "role": "assistant",
        "content": "Yes.",
    }

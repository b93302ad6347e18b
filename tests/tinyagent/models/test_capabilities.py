"""What tinyagent can do with each provider, tried against a server that holds to its documentation.

docs/models.md shows this as a table: a test's name for each capability and provider. A provider
that is in none of the lists here has no such capability, or nothing here can verify it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tinyagent import AnthropicModel, Document, Image, Model, OpenAIModel, ReactAgent
from tinyagent.core import ModelRefused
from tinyagent.core.cost import ModelUse, cost_of
from tinyagent.models import OpenAIResponsesModel
from tinyagent.models.providers import PROVIDERS
from tinyagent.testing import Call, Output, StrictServer

MODELS: Mapping[str, str] = {
    "openai": "gpt-4.1",
    "openai-responses": "gpt-5.5",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3-pro-preview",
    "deepseek": "deepseek-chat",
    "kimi": "kimi-k2.5",
    "mistral": "magistral-medium-latest",
    "openrouter": "anthropic/claude-sonnet-5",
    "groq": "openai/gpt-oss-120b",
    "xai": "grok-4",
    "minimax": "MiniMax-M2",
    "dashscope": "qwen3-max",
    "ollama": "qwen3",
    "vllm": "Qwen/Qwen3-8B",
    "lmstudio": "qwen3-8b",
    "llamacpp": "qwen3-8b",
}
SERVED = [name for name in MODELS if name not in {"dashscope", "lmstudio", "llamacpp"}]
VERIFIED: Mapping[str, list[str]] = {
    "test_tools": SERVED,
    "test_strict_schema": [name for name in SERVED if name not in {"deepseek", "minimax"}],
    "test_reasoning": [name for name in SERVED if name not in {"openai", "groq"}],
    "test_images": [name for name in SERVED if name not in {"minimax", "groq"}],
    "test_documents": ["openai", "openai-responses", "anthropic", "mistral", "openrouter"],
    "test_caching": ["openai", "openai-responses", "anthropic", "gemini", "deepseek"],
    "test_price_known": [
        name
        for name in MODELS
        if name not in {"dashscope", "ollama", "vllm", "lmstudio", "llamacpp"}
    ],
}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n%%EOF"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _server(provider: str, script: list[Any]) -> StrictServer:
    return StrictServer(provider.partition("-")[0], script)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the model of a provider behind a server."""

    def make(provider: str, server: StrictServer) -> Model:
        name = MODELS[provider]
        if provider == "anthropic":
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            return AnthropicModel(name, api_key="k")
        made = OpenAIResponsesModel if provider == "openai-responses" else OpenAIModel
        known = provider.partition("-")[0]
        return made(name, base_url=server.base_url, api_key="k", provider=known)

    return make


def test_each_provider_is_here() -> None:
    assert {*PROVIDERS, "openai-responses"} == set(MODELS)


@pytest.mark.parametrize("provider", VERIFIED["test_tools"])
async def test_tools(provider: str, model: Any) -> None:
    calls = [Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})]
    async with _server(provider, [Output(calls=calls), "3 and 7"]) as server:
        result = await ReactAgent(model(provider, server), [add]).run("What are 1 + 2 and 3 + 4?")
        assert (server.refusals, result.output) == ([], "3 and 7")
        assert [each.content for each in result.steps[0].results] == ["3", "7"]


@pytest.mark.parametrize("provider", VERIFIED["test_strict_schema"])
async def test_strict_schema(provider: str, model: Any) -> None:
    answer: dict[str, Any] = {"scratchpad": "", "answer": 3}
    if PROVIDERS[provider.partition("-")[0]].schema == "openai":
        answer = {"action": answer}
    async with _server(provider, [json.dumps(answer)]) as server:
        agent = ReactAgent(
            model(provider, server), [add], output_type=int, tool_calling_mode="structured"
        )
        assert (await agent.run("What is 1 + 2?")).output == 3
        assert server.refusals == []
        assert '"json_schema"' in json.dumps(server.requests[0])


@pytest.mark.parametrize("provider", VERIFIED["test_reasoning"])
async def test_reasoning(provider: str, model: Any) -> None:
    first = Output("I add.", "One and two.", [Call("add", {"a": 1, "b": 2})])
    async with _server(provider, [first, Output("3", "It is done.")]) as server:
        agent = ReactAgent(model(provider, server), [add], reasoning="high")
        result = await agent.run("What is 1 + 2?")
        assert (server.refusals, server.losses, result.output) == ([], [], "3")
        parts = [part for each in result.memory.messages for part in each.parts]
        assert any(getattr(part, "opaque", None) for part in parts)


@pytest.mark.parametrize("provider", VERIFIED["test_images"])
async def test_images(provider: str, model: Any) -> None:
    async with _server(provider, ["A dot."]) as server:
        await ReactAgent(model(provider, server)).run(["What is it?", Image(PNG)])
        assert server.refusals == []
        assert [seen.data for seen in server.attachments] == [PNG]


@pytest.mark.parametrize("provider", VERIFIED["test_documents"])
async def test_documents(provider: str, model: Any) -> None:
    async with _server(provider, ["Nothing."]) as server:
        await ReactAgent(model(provider, server)).run(["What is in it?", Document(PDF, "a.pdf")])
        assert server.refusals == []
        assert [seen.data for seen in server.attachments] == [PDF]


@pytest.mark.parametrize(
    "provider", [name for name in SERVED if name not in VERIFIED["test_documents"]]
)
async def test_no_documents(provider: str, model: Any) -> None:
    async with _server(provider, ["Nothing."]) as server:
        with pytest.raises(ModelRefused, match=f"{provider} does not take PDFs"):
            await ReactAgent(model(provider, server)).run(["What is in it?", Document(PDF)])
        assert server.requests == []


@pytest.mark.parametrize("provider", VERIFIED["test_caching"])
async def test_caching(provider: str, model: Any) -> None:
    script = [Output(calls=[Call("add", {"a": 1, "b": 2})]), "3"]
    async with _server(provider, script) as server:
        agent = ReactAgent(model(provider, server), [add], instructions="Be exact. " * 3_000)
        result = await agent.run("What is 1 + 2?")
        assert server.refusals == []
        assert result.usage.cached_tokens > 5_000


@pytest.mark.parametrize("provider", VERIFIED["test_price_known"])
def test_price_known(provider: str) -> None:
    use = ModelUse(provider.partition("-")[0], MODELS[provider], 1_000, 1_000)
    assert cost_of((use,)).usd is not None

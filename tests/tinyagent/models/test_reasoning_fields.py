"""What each provider is sent of reasoning, temperature and prompt caching."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tinyagent import (
    Message,
    OpenAIModel,
    ToolCall,
)
from tinyagent.core import (
    ModelRequest,
    ModelResponse,
    RequestFormat,
)
from tinyagent.core.types import remembered
from tinyagent.models.providers import LENIENT, PROVIDERS
from tinyagent.models.wire.chat_reply import ChatReply
from tinyagent.models.wire.chat_request import encode_request
from tinyagent.testing import MockServer

TOOLS = ({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},)


def _body(name: str, model: str, *messages: Message, **options: Any) -> dict[str, Any]:
    request = ModelRequest(messages, **options)
    provider = PROVIDERS[name].for_model(model)
    return encode_request(model, request, stream=True, provider=provider)


def _kept(response: ModelResponse) -> Message:
    calls = [
        ToolCall(call.id, call.name, json.loads(call.arguments), opaque=call.opaque)
        for call in response.tool_calls
    ]
    content = remembered(response, response.content or "", calls)
    return Message("assistant", content, tuple(calls))


def _google(budget: int) -> dict[str, Any]:
    return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}


@pytest.mark.parametrize(
    ("name", "model", "wish", "sent"),
    [
        ("openai", "gpt-4.1", None, {"temperature": 0.0}),
        ("openai", "gpt-5.5", None, {}),
        ("openai", "gpt-5.5", "off", {"temperature": 0.0, "reasoning_effort": "none"}),
        ("openai", "gpt-5.2", None, {"temperature": 0.0}),
        ("openai", "gpt-5.2", "low", {"reasoning_effort": "low"}),
        ("openai", "gpt-5-mini", "off", {"reasoning_effort": "minimal"}),
        ("openai", "gpt-5-codex", "off", {"reasoning_effort": "low"}),
        ("openai", "gpt-5-pro", "off", {"reasoning_effort": "high"}),
        ("openai", "gpt-5.1-codex-max", "off", {"reasoning_effort": "low"}),
        ("openai", "gpt-5.1-codex-max", None, {}),
        ("openai", "gpt-5.3-codex", None, {"temperature": 0.0}),
        ("openai", "gpt-5.4-pro", "low", {"reasoning_effort": "medium"}),
        ("openai", "gpt-5.4-pro", None, {}),
        ("openai", "gpt-5.2-chat-latest", "off", {}),
        ("openai", "gpt-5-chat-latest", "high", {"temperature": 0.0}),
        ("openai", "gpt-4.1", "high", {"temperature": 0.0}),
        ("openai", "gpt-6-astra", "off", {"reasoning_effort": "low"}),
        ("openai", "o3", 30_000, {"reasoning_effort": "high"}),
        ("openai", "o4-mini", "off", {"reasoning_effort": "low"}),
        ("gemini", "gemini-3-pro", "off", {"temperature": 0.0, "reasoning_effort": "low"}),
        ("gemini", "gemini-2.5-flash", "off", {"temperature": 0.0, "reasoning_effort": "none"}),
        ("gemini", "gemini-2.5-flash", 90_000, {"temperature": 0.0, **_google(24_576)}),
        ("gemini", "gemini-2.5-pro", 1, {"temperature": 0.0, **_google(128)}),
        ("gemini", "gemini-2.0-flash", "high", {"temperature": 0.0}),
        ("openrouter", "m", 5_000, {"temperature": 0.0, "reasoning": {"max_tokens": 5_000}}),
        ("openrouter", "m", "off", {"temperature": 0.0, "reasoning": {"enabled": False}}),
        ("openrouter", "openai/o3", "off", {"temperature": 0.0, "reasoning": {"effort": "low"}}),
        ("mistral", "m", "low", {"temperature": 0.0, "reasoning_effort": "high"}),
        ("mistral", "m", "off", {"temperature": 0.0, "reasoning_effort": "none"}),
        ("xai", "grok-4", "low", {"temperature": 0.0}),
        ("xai", "grok-4.3", "medium", {"temperature": 0.0, "reasoning_effort": "medium"}),
        ("xai", "grok-3-mini", "off", {"temperature": 0.0, "reasoning_effort": "low"}),
        ("groq", "llama-3.3-70b-versatile", "low", {"temperature": 0.0}),
        ("groq", "openai/gpt-oss-120b", "off", {"temperature": 0.0, "reasoning_effort": "low"}),
        ("kimi", "kimi-k2.6", "off", {"thinking": {"type": "disabled"}}),
        ("kimi", "kimi-k2.6", None, {}),
        ("kimi", "kimi-k3", "off", {"reasoning_effort": "low"}),
        ("kimi", "kimi-k2-0905-preview", "off", {"temperature": 0.0}),
        ("minimax", "MiniMax-M2", "off", {"temperature": 0.01}),
        ("deepseek", "m", "off", {"temperature": 0.0, "thinking": {"type": "disabled"}}),
        ("vllm", "m", 100, {"temperature": 0.0, "thinking_token_budget": 100}),
    ],
)
def test_reasoning_and_temperature_are_sent_in_the_provider_s_form(
    name: str, model: str, wish: Any, sent: dict[str, Any]
) -> None:
    body = _body(name, model, Message("user", "hi"), temperature=0.0, reasoning=wish)
    known = {"model", "messages", "stream", "stream_options", "prompt_cache_key"}
    assert {key: value for key, value in body.items() if key not in known} == sent


def test_every_provider_knows_what_each_level_is_or_has_no_switch() -> None:
    for provider in (*PROVIDERS.values(), LENIENT):
        assert set(provider.reasoning) in ({"off", "low", "medium", "high"}, set())


@pytest.mark.parametrize("name", ["openai", "kimi", "mistral", "xai"])
def test_requests_that_begin_alike_have_the_same_cache_key(name: str) -> None:
    def key(*messages: Message, tools: tuple[dict[str, Any], ...] = TOOLS) -> str:
        body = _body(name, "m", *messages, format=RequestFormat(tools=tools))
        return str(body["prompt_cache_key"])

    system = Message("system", "Be brief. My secret is 1234.")
    first = key(system, Message("user", "one"))
    assert first == key(system, Message("user", "two"), Message("assistant", "three"))
    assert len({first, key(Message("system", "Be long.")), key(system, tools=())}) == 3
    assert "1234" not in first
    assert len(first) <= 64


def test_claude_by_openrouter_is_asked_to_cache() -> None:
    asked = Message("user", "hi")
    claude = _body("openrouter", "anthropic/claude-sonnet-5", asked)
    assert claude["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in _body("openrouter", "openai/gpt-5.5", asked)


@pytest.mark.parametrize(
    ("wish", "config"),
    [
        (None, {"include_thoughts": True}),
        ("low", {"include_thoughts": True, "thinking_level": "low"}),
        ("off", None),
    ],
)
def test_gemini_shows_its_thoughts_if_asked_to(wish: Any, config: Any) -> None:
    provider = PROVIDERS["gemini"].for_model("gemini-3-pro", show_reasoning=True)
    request = ModelRequest((Message("user", "hi"),), reasoning=wish)
    body = encode_request("gemini-3-pro", request, stream=False, provider=provider)
    shown = body["extra_body"]["google"]["thinking_config"]
    assert shown == (config or {"thinking_level": "low"})
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(
    "pieces", [["<thought>Hm.</thought>so"], ["<thou", "ght>Hm.</th", "ought>so"]]
)
def test_gemini_s_thoughts_are_read_and_not_sent_back(pieces: list[str]) -> None:
    provider = PROVIDERS["gemini"].for_model("gemini-3-pro", show_reasoning=True)
    reader = ChatReply(provider, "gemini-3-pro")
    for piece in pieces:
        reader.add({"choices": [{"delta": {"content": piece}}]})
    reader.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    response = reader.response()
    assert (response.reasoning, response.content) == ("Hm.", "so")
    request = ModelRequest((Message("user", "hi"), _kept(response)))
    body = encode_request("gemini-3-pro", request, stream=False, provider=provider)
    assert body["messages"][1]["content"] == "so"


async def test_a_temperature_that_is_not_accepted_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with MockServer(["a", "b"]) as server:
        model = OpenAIModel("kimi-k2.6", base_url=server.base_url, provider="kimi")
        for _ in range(2):
            await model.complete(ModelRequest((Message("user", "hi"),), temperature=0.25))
    assert ["temperature" in body for body in server.requests] == [False, False]
    reports = [r.message for r in caplog.records if "0.25" in r.message]
    assert reports == ["kimi-k2.6 does not accept the temperature 0.25: none is sent"]

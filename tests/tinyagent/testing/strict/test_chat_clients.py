"""Complete tool loops through the official OpenAI client, one for each provider of chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from openai import AsyncOpenAI
from tests.tinyagent.testing.strict.support import ANSWER, THINKS_AND_ADDS, Json, tool

from tinyagent.testing import Call, Output, StrictServer
from tinyagent.testing.strict.chat.rules import CHAT

MODELS = {
    "openai": "gpt-4.1",
    "deepseek": "deepseek-v4",
    "kimi": "kimi-k3",
    "gemini": "gemini-3-flash",
    "openrouter": "google/gemini-3-pro",
}
BY_OPENAI = [name for name in CHAT if name != "mistral"]


def client_of(server: StrictServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)


async def ask(client: AsyncOpenAI, messages: list[Json], model: str, *, stream: bool) -> Json:
    """One turn of the model, as a message that can go back."""
    options: Any = {"model": model, "messages": messages, "tools": [tool(), tool("sub")]}
    if not stream:
        completion = await client.chat.completions.create(**options)
        assert completion.usage is not None
        message: Json = completion.choices[0].message.model_dump(exclude_none=True)
        return message
    chunks = await client.chat.completions.create(
        stream=True, stream_options={"include_usage": True}, **options
    )
    return await join(cast("AsyncIterator[Any]", chunks))


async def join(chunks: AsyncIterator[Any]) -> Json:
    """The message that the deltas of a stream make; details are joined by index and type."""
    message: Json = {"role": "assistant"}
    calls: list[Json] = []
    usage = None
    async for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            delta = choice.delta.model_dump(exclude_none=True)
            for key in ("content", "reasoning_content", "reasoning"):
                if delta.get(key):
                    message[key] = message.get(key, "") + delta[key]
            for detail in delta.get("reasoning_details", []):
                _add_detail(message.setdefault("reasoning_details", []), detail)
            for call in delta.get("tool_calls", []):
                _add_call(calls, call)
    assert usage is not None
    if calls:
        message["tool_calls"] = calls
    return message


def _add_detail(details: list[Json], detail: Json) -> None:
    if details and details[-1]["type"] == detail["type"]:
        joined = details[-1].get("text", "") + detail.get("text", "")
        details[-1] = {**details[-1], **detail, "text": joined}
    else:
        details.append(detail)


def _add_call(calls: list[Json], delta: Json) -> None:
    index = delta.pop("index", None)
    if index is None or index == len(calls):
        calls.append(delta)
    else:
        calls[index]["function"]["arguments"] += delta["function"]["arguments"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", BY_OPENAI)
async def test_a_tool_loop_with_two_calls_at_once_is_accepted(
    provider: str, *, stream: bool
) -> None:
    both = Output(reasoning="I need both.", calls=[Call("add", {"a": 1}), Call("sub", {"b": 2})])
    model = MODELS.get(provider, "some-model")
    async with (
        StrictServer(provider, [THINKS_AND_ADDS, both, ANSWER]) as server,
        client_of(server) as client,
    ):
        messages: list[Json] = [{"role": "user", "content": "What is 1 + 2?"}]
        for _ in range(2):
            message = await ask(client, messages, model, stream=stream)
            messages.append(message)
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": "3"}
                for call in message["tool_calls"]
            ]
        last = await ask(client, messages, model, stream=stream)
        assert "It is 3." in last["content"]
        assert server.refusals == []
        assert server.losses == []
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("provider", "field"),
    [("deepseek", "reasoning_content"), ("kimi", "reasoning_content"), ("xai", "reasoning_content")]
    + [(name, "reasoning") for name in ("vllm", "ollama", "groq", "openrouter")],
)
async def test_reasoning_is_in_the_provider_s_field(provider: str, field: str) -> None:
    async with StrictServer(provider, [ANSWER]) as server, client_of(server) as client:
        for stream in (False, True):
            response = await ask(client, [{"role": "user", "content": "hi"}], "m", stream=stream)
            assert response[field] == "That was easy."
            assert response["content"] == "It is 3."


async def test_minimax_sends_reasoning_in_the_content_or_next_to_it() -> None:
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with StrictServer("minimax", [ANSWER]) as server, client_of(server) as client:
        completion = await client.chat.completions.create(**body)
        split = await client.chat.completions.create(**body, extra_body={"reasoning_split": True})
    assert completion.choices[0].message.content == "<think>\nThat was easy.\n</think>\n\nIt is 3."
    assert split.choices[0].message.content == "It is 3."
    details = [{"type": "reasoning.text", "text": "That was easy."}]
    assert split.choices[0].message.model_dump()["reasoning_details"] == details


async def test_thinking_can_be_switched_off() -> None:
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with StrictServer("deepseek", [ANSWER]) as server, client_of(server) as client:
        off = {"thinking": {"type": "disabled"}}
        completion = await client.chat.completions.create(**body, extra_body=off)
    assert "reasoning_content" not in completion.choices[0].message.model_dump(exclude_none=True)


async def test_a_stream_of_openai_reports_usage_only_on_request() -> None:
    body: Any = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}
    async with StrictServer("openai", ["Hi there."]) as server, client_of(server) as client:
        chunks = [c async for c in await client.chat.completions.create(**body, stream=True)]
        asked = [
            chunk
            async for chunk in await client.chat.completions.create(
                **body, stream=True, stream_options={"include_usage": True}
            )
        ]
    assert all(chunk.usage is None for chunk in chunks)
    assert asked[-1].usage is not None
    assert asked[-1].choices == []


async def test_xai_counts_reasoning_separately_and_openai_within_the_answer() -> None:
    body: Any = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
    usages = []
    for provider in ("xai", "openai"):
        async with StrictServer(provider, [ANSWER]) as server, client_of(server) as client:
            usages.append((await client.chat.completions.create(**body)).usage)
    xai, openai = usages
    assert xai is not None
    assert openai is not None
    assert xai.completion_tokens_details is not None
    thoughts = xai.completion_tokens_details.reasoning_tokens
    assert thoughts
    assert xai.total_tokens == xai.prompt_tokens + xai.completion_tokens + thoughts
    assert openai.total_tokens == openai.prompt_tokens + openai.completion_tokens
    assert openai.completion_tokens == xai.completion_tokens + thoughts


@pytest.mark.parametrize("provider", ["openai", "deepseek", "kimi"])
async def test_a_repeated_prefix_is_cached(provider: str) -> None:
    first = [{"role": "user", "content": "a long question " * 50}]
    longer = [*first, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "so?"}]
    changed = [{"role": "user", "content": "another question " * 50}]
    cached = []
    async with StrictServer(provider, ["yes"]) as server, client_of(server) as client:
        for messages in (first, longer, changed):
            body: Any = {"model": "m", "messages": messages}
            usage = (await client.chat.completions.create(**body)).usage
            assert usage is not None
            assert usage.prompt_tokens_details is not None
            cached.append(usage.prompt_tokens_details.cached_tokens or 0)
            if provider == "deepseek":
                extra = usage.model_dump()
                hit, miss = extra["prompt_cache_hit_tokens"], extra["prompt_cache_miss_tokens"]
                assert hit == cached[-1]
                assert hit + miss == usage.prompt_tokens
    assert cached[0] == 0
    assert cached[1] > 190
    assert cached[2] < 20


async def test_a_failure_in_the_middle_of_a_stream_is_an_event() -> None:
    from openai import APIError, APIStatusError

    broken = Output("It is", error="upstream is gone")
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with StrictServer("openrouter", [broken]) as server, client_of(server) as client:
        chunks = await client.chat.completions.create(**body, stream=True)
        with pytest.raises(APIError, match="upstream is gone"):
            await join(chunks)
        with pytest.raises(APIStatusError, match="upstream is gone"):
            await client.chat.completions.create(**body)

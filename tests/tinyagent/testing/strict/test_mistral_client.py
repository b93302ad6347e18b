"""A complete tool loop through Mistral's own client."""

from __future__ import annotations

from typing import Any

import pytest
from mistralai.client import Mistral
from mistralai.client.errors import SDKError
from tests.tinyagent.testing.strict.support import ADD, ANSWER, Json, tool

from tinyagent.testing import Output, StrictServer


async def ask(client: Mistral, messages: list[Any], *, stream: bool) -> Any:
    """One turn of the model: content and calls."""
    options: Any = {"model": "magistral", "messages": messages, "tools": [tool()]}
    if not stream:
        response = await client.chat.complete_async(**options)
        assert response.usage.completion_tokens
        return response.choices[0].message
    message: Json = {"role": "assistant", "content": [], "tool_calls": []}
    usage = None
    async for event in await client.chat.stream_async(**options):
        usage = event.data.usage or usage
        delta = event.data.choices[0].delta
        if delta.content:
            part = [{"type": "text", "text": delta.content}]
            message["content"] += part if isinstance(delta.content, str) else delta.content
        message["tool_calls"] += delta.tool_calls or []
    assert usage is not None
    assert usage.prompt_tokens
    return message


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_loop_is_accepted(*, stream: bool) -> None:
    script = [Output("Let me see.", calls=[ADD]), Output(calls=[ADD]), Output("It is 3.")]
    async with (
        StrictServer("mistral", script) as server,
        Mistral(api_key="k", server_url=server.url) as client,
    ):
        messages: list[Any] = [{"role": "user", "content": "What is 1 + 2?"}]
        for _ in range(2):
            message = await ask(client, messages, stream=stream)
            messages.append(message)
            calls = message["tool_calls"] if isinstance(message, dict) else message.tool_calls
            messages += [{"role": "tool", "tool_call_id": c.id, "content": "3"} for c in calls]
        await ask(client, messages, stream=stream)
        assert server.refusals == []
        assert all(len(c["id"]) == 9 for c in server.requests[-1]["messages"][1]["tool_calls"])


async def test_thoughts_are_parts_of_the_content_and_may_come_back() -> None:
    question = {"role": "user", "content": "hi"}
    async with (
        StrictServer("mistral", [ANSWER]) as server,
        Mistral(api_key="k", server_url=server.url) as client,
    ):
        response = await ask(client, [question], stream=False)
        streamed = await ask(client, [question], stream=True)
        assert [part.type for part in response.content] == ["thinking", "text"]
        thoughts = [p.thinking[0].text for p in streamed["content"] if not isinstance(p, dict)]
        assert "".join(thoughts) == "That was easy."
        await ask(client, [question, response, question], stream=False)
        await ask(client, [question, streamed, question], stream=False)
        assert server.refusals == []
        assert server.losses == []
        response.content = response.content[1:]
        await ask(client, [question, response, question], stream=False)
        assert server.losses == ["messages[1]: the reasoning did not come back unchanged"]


async def test_a_refusal_is_read_by_the_client() -> None:
    question = {"role": "user", "content": "hi"}
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages: list[Any] = [
        question,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
    ]
    async with (
        StrictServer("mistral", ["never"]) as server,
        Mistral(api_key="k", server_url=server.url) as client,
    ):
        with pytest.raises(SDKError, match="must be a-z, A-Z, 0-9, with a length of 9"):
            await ask(client, messages, stream=False)

"""What the mock server sends is read as it was, over each API."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from tinyagent import AnthropicModel, Message, Model, OpenAIModel, Usage
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, RawToolCall
from tinyagent.models import OpenAIResponsesModel
from tinyagent.testing import MockServer
from tinyagent.testing.apis import Api, result_in

REQUEST = ModelRequest((Message("user", "1 + 2?"),))
USED = Usage(requests=1, input_tokens=9, output_tokens=4, cached_tokens=2)
CALLS = (RawToolCall("call_1", "add", '{"a": 1}'), RawToolCall("call_2", "add", '{"a": 2}'))
RESPONSES = [
    ModelResponse("It is three.", usage=USED),
    ModelResponse("I add.", CALLS, usage=USED, finish_reason="tool_calls"),
    ModelResponse(None, CALLS[:1], usage=USED, finish_reason="tool_calls"),
    ModelResponse("It is", usage=USED, finish_reason="length"),
    ModelResponse(None, usage=USED, finish_reason="refusal", refusal="I will not."),
]


async def _read(model: Model, *, stream: bool) -> tuple[ModelResponse, str]:
    """The answer and what was streamed of it."""
    if not stream:
        return await model.complete(REQUEST), ""
    words: list[str] = []
    async with aclosing(model.stream(REQUEST)) as items:
        async for item in items:
            if isinstance(item, ModelDelta):
                words.append(item.text)
                continue
            return item, "".join(words)
    raise AssertionError("the stream has no end")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
@pytest.mark.parametrize("sent", RESPONSES)
async def test_a_reply_is_read_as_it_was_sent(
    sent: ModelResponse, api: Api, *, stream: bool
) -> None:
    async with (
        MockServer([sent]) as server,
        AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        model: Model = AnthropicModel("mock", client=client)
        if api != "messages":
            made = OpenAIModel if api == "chat" else OpenAIResponsesModel
            model = made("mock", base_url=server.base_url)
        read, words = await _read(model, stream=stream)
    assert (read.content, read.usage) == (sent.content, sent.usage)
    assert (read.finish_reason, read.refusal) == (sent.finish_reason, sent.refusal)
    assert [(call.id, call.name, call.arguments) for call in read.tool_calls] == [
        (call.id, call.name, call.arguments) for call in sent.tool_calls
    ]
    assert words == (sent.content or "" if stream else "")


@pytest.mark.parametrize(
    ("api", "last", "result"),
    [
        ("chat", {"role": "tool", "content": "3"}, "3"),
        ("chat", {"role": "user", "content": "Result of add:\n3"}, "3"),
        ("chat", {"role": "user", "content": "1 + 2?"}, ""),
        ("responses", {"type": "function_call_output", "output": "3"}, "3"),
        ("responses", {"role": "user", "content": [{"type": "input_text", "text": "1?"}]}, ""),
        ("messages", {"role": "user", "content": [{"type": "tool_result", "content": "3"}]}, "3"),
        (
            "messages",
            {"role": "user", "content": [{"type": "text", "text": "Result of add:\n3"}]},
            "3",
        ),
    ],
)
def test_the_result_that_a_request_ends_with(api: Api, last: dict[str, Any], result: str) -> None:
    body = {"input" if api == "responses" else "messages": [last]}
    assert result_in(body, api) == result

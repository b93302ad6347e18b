from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from openai import AsyncOpenAI

from tinyagent import ConfigurationError, Message, ModelError, OpenAIModel, Usage
from tinyagent.core import (
    ModelConnectionError,
    ModelDelta,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    RequestFormat,
)
from tinyagent.testing import MockServer, Reply, error_reply, json_reply
from tinyagent.testing.apis import completion_json

REQUEST = ModelRequest((Message("user", "hi"),))
CALL = ModelResponse(None, (RawToolCall("1", "add", '{"a": 1}'),), Usage(1, 5, 7))
KEY = "sk-very/secret-key"


async def _stream(model: OpenAIModel) -> tuple[list[ModelDelta], ModelResponse]:
    items = [item async for item in model.stream(REQUEST)]
    last = items.pop()
    assert isinstance(last, ModelResponse)
    return [item for item in items if isinstance(item, ModelDelta)], last


async def test_the_request_goes_over_the_wire_and_the_answer_comes_back() -> None:
    tools = ({"type": "function", "function": {"name": "add", "parameters": {}}},)
    request = ModelRequest((Message("user", "hi"),), RequestFormat(tools), 0.5, 20)
    async with MockServer([CALL]) as server:
        response = await OpenAIModel("m", base_url=server.base_url, api_key="k").complete(request)
    assert (response.tool_calls, response.usage) == (CALL.tool_calls, CALL.usage)
    assert server.keys == ["k"]
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": list(tools),
            "temperature": 0.5,
            "max_tokens": 20,
        }
    ]


async def test_a_streamed_answer_comes_in_pieces_and_then_whole() -> None:
    async with MockServer([ModelResponse("It is blue.", usage=Usage(1, 3, 4))]) as server:
        deltas, response = await _stream(OpenAIModel("m", base_url=server.base_url))
    assert [delta.text for delta in deltas] == ["It", " is", " blue."]
    assert (response.content, response.usage) == ("It is blue.", Usage(1, 3, 4))
    assert server.requests[0]["stream"] is True


@pytest.mark.parametrize(("end", "whole"), [(b"data: [DONE]\n\n", True), (b"", False)])
async def test_done_is_an_end_where_the_server_gives_no_reason(end: bytes, *, whole: bool) -> None:
    chunk = json.dumps({"choices": [{"delta": {"content": "It is blue."}}]}).encode()
    reply = Reply(b"data: " + chunk + b"\n\n" + end, content_type="text/event-stream")
    async with MockServer([reply]) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=0)
        if whole:
            assert (await _stream(model))[1].content == "It is blue."
            return
        with pytest.raises(ModelConnectionError, match="ended before the answer was complete"):
            await _stream(model)


@pytest.mark.parametrize("marked", [True, False])
async def test_a_server_that_does_not_stream_is_read_all_the_same(*, marked: bool) -> None:
    body = completion_json(ModelResponse("It is blue."))
    if not marked:
        del body["object"]
    async with MockServer([json_reply(body)]) as server:
        deltas, response = await _stream(OpenAIModel("m", base_url=server.base_url))
    assert response.content == "It is blue."
    assert deltas == [ModelDelta("It is blue.")]


async def test_a_refusal_ends_without_another_try() -> None:
    async with MockServer([error_reply(400, "context too long")]) as server:
        with pytest.raises(ModelError, match="400 Bad Request: context too long"):
            await OpenAIModel("m", base_url=server.base_url).complete(REQUEST)
    assert len(server.requests) == 1


@pytest.mark.parametrize("retries", [0, 3])
async def test_the_number_of_retries_is_respected(retries: int) -> None:
    async with MockServer([error_reply(500, "down")]) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=retries)
        with pytest.raises(ModelError):
            await model.complete(REQUEST)
        with pytest.raises(ModelError):
            await _stream(model)
    assert len(server.requests) == 2 * (1 + retries)


def test_openais_own_server_needs_a_key() -> None:
    with pytest.raises(ConfigurationError, match="no API key: set OPENAI_API_KEY, or set OPENAI_B"):
        OpenAIModel("gpt-4.1")


def test_another_server_may_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    assert repr(OpenAIModel("llama")) == (
        "OpenAIModel('llama', 'http://localhost:11434/v1/chat/completions')"
    )


async def test_leaving_a_stream_early_lets_the_connection_go() -> None:
    before = asyncio.all_tasks()
    async with MockServer([ModelResponse("a b c")]) as server:
        stream = OpenAIModel("m", base_url=server.base_url).stream(REQUEST)
        assert await anext(stream) == ModelDelta("a")
        await stream.aclose()
    assert asyncio.all_tasks() == before


def _event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _echo(kind: str) -> Reply:
    error = {"error": {"message": f"the key {KEY} is wrong"}}
    stream = "text/event-stream"
    return {
        "refused": json_reply(error, status=401),
        "escaped": Reply(json.dumps(error).replace("/", "\\/").encode(), 401),
        "failed": Reply(f"no {KEY} here".encode(), 500),
        "good status": json_reply(error),
        "good status, as text": Reply(KEY.encode(), content_type=f"text/{KEY}"),
        "as a name": json_reply({KEY: 1}),
        "in mid-stream": Reply(_event({"choices": []}) + _event(error), content_type=stream),
        "not JSON in mid-stream": Reply(f"data: {KEY}\n\n".encode(), content_type=stream),
        "redirect": Reply(b"", 302, headers={"Location": f"http://127.0.0.1/{KEY}"}),
        "cut": json_reply(error, ending="cut"),
    }[kind]


KINDS = [
    "refused", "escaped", "failed", "good status", "good status, as text", "as a name",
    "in mid-stream", "not JSON in mid-stream", "redirect", "cut",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["complete", "stream"])
@pytest.mark.parametrize("through", ["own connection", "a caller's client"])
async def test_a_key_is_never_shown_though_the_server_echoes_it(
    caplog: pytest.LogCaptureFixture, kind: str, way: str, through: str
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        MockServer([_echo(kind)]) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=KEY) as client,
    ):
        model = (
            OpenAIModel("m", base_url=server.base_url, api_key=KEY)
            if through == "own connection"
            else OpenAIModel("m", client=client)
        )
        with pytest.raises(ModelError) as caught:
            await (model.complete(REQUEST) if way == "complete" else _stream(model))
    assert server.keys[0] == KEY
    own = ["tinyagent", "stamina", "aiohttp", "asyncio"]
    logged = [str(vars(record)) for record in caplog.records if record.name.split(".")[0] in own]
    error = caught.value
    for shown in [str(error), repr(error), str(vars(error)), repr(model), *logged]:
        assert KEY not in shown

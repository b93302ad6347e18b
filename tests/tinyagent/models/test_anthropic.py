from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from anthropic import AsyncAnthropic
from tests.support.messages_server import (
    Answer,
    MessagesServer,
    Raw,
    error_event,
    events,
    failure,
    message_json,
    sse,
)

from tinyagent import ConfigurationError, Message, Model, ModelError, ReactAgent, Usage
from tinyagent.core import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelDelta,
    ModelRateLimited,
    ModelRefused,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    ModelTimeout,
    RawToolCall,
)
from tinyagent.core.errors import ModelContextTooLong, ModelFormatRefused
from tinyagent.models.anthropic import AnthropicModel
from tinyagent.models.base import get_model

KEY = "sk-ant-very-secret"
NAME = "claude-sonnet-5"
REQUEST = ModelRequest((Message("user", "hi"),))
BLUE = ModelResponse("It is blue.", (), Usage(1, 5, 7, 2), "stop", NAME, "msg_1")


@pytest.fixture(autouse=True)
def _nothing_of_anthropic_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)


@asynccontextmanager
async def _serving(
    *script: Answer, retries: int = 2
) -> AsyncGenerator[tuple[MessagesServer, AnthropicModel]]:
    with pytest.MonkeyPatch.context() as patch:
        async with MessagesServer(script) as server:
            patch.setenv("ANTHROPIC_BASE_URL", server.url)
            yield server, AnthropicModel(NAME, api_key=KEY, retries=retries)


async def _stream(model: Model) -> tuple[list[ModelDelta], ModelResponse]:
    items = [item async for item in model.stream(REQUEST)]
    last = items.pop()
    assert isinstance(last, ModelResponse)
    return [item for item in items if isinstance(item, ModelDelta)], last


async def _ask(model: Model, way: str) -> ModelResponse:
    return await model.complete(REQUEST) if way == "complete" else (await _stream(model))[1]


async def test_the_request_goes_over_the_wire_and_the_answer_comes_back() -> None:
    async with _serving(BLUE) as (server, model):
        assert await model.complete(REQUEST) == BLUE
    assert server.keys == [KEY]
    assert server.requests == [
        {
            "model": NAME,
            "max_tokens": 16_384,
            "cache_control": {"type": "ephemeral"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        }
    ]


async def test_a_streamed_answer_comes_in_pieces_thoughts_apart_and_then_whole() -> None:
    async with _serving(sse(events(BLUE, thought="Sky?"))) as (server, model):
        deltas, response = await _stream(model)
    pieces = [ModelDelta("It"), ModelDelta(" is"), ModelDelta(" blue.")]
    assert deltas == [ModelDelta("Sky?", "reasoning"), *pieces]
    assert response.reasoning == "Sky?"
    assert replace(response, parts=()) == BLUE
    assert server.requests[0]["stream"] is True


async def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    async with _serving(Raw(json.dumps(message_json(BLUE)).encode())) as (_, model):
        assert await _stream(model) == ([ModelDelta("It is blue.")], BLUE)


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_an_agent_calls_tools_side_by_side(way: str) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    calls = (RawToolCall("t1", "add", '{"a":1,"b":2}'), RawToolCall("t2", "add", '{"a":3,"b":4}'))
    async with _serving(ModelResponse("Adding.", calls), ModelResponse("3 and 7")) as (
        server,
        model,
    ):
        agent = ReactAgent(model, [add], max_tokens=50, temperature=0.0)
        if way == "complete":
            assert str(await agent.run("Add")) == "3 and 7"
        else:
            assert [event async for event in agent.stream("Add")]
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "3"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "7"},
    ]
    assert server.requests[1]["messages"][-1] == {"role": "user", "content": results}
    assert server.requests[1]["messages"][-2]["content"][0] == {"type": "text", "text": "Adding."}
    assert [tool["name"] for tool in server.requests[0]["tools"]] == ["add"]
    assert server.requests[0]["max_tokens"] == 50


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (
            failure(401, "authentication_error", "invalid key"),
            ModelAuthenticationError,
            "check ANTHR",
        ),
        (
            failure(403, "permission_error", "no"),
            ModelAuthenticationError,
            "check ANTHROPIC_API_KEY",
        ),
        (
            failure(404, "not_found_error", NAME),
            ModelRefused,
            "model's name and ANTHROPIC_BASE_URL",
        ),
        (failure(429, "rate_limit_error", "slow"), ModelRateLimited, "429 Too Many Requests: slow"),
        (failure(500, "api_error", "oh"), ModelServerError, "500 Internal Server Error: oh"),
        (failure(529, "overloaded_error", "Overloaded"), ModelServerError, "529 .*: Overloaded"),
        (failure(504, "timeout_error", "late"), ModelTimeout, "504 Gateway Timeout: late"),
        (
            failure(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            ModelContextTooLong,
            "prompt is too long: 9 tokens > 8 maximum",
        ),
        (
            failure(400, "invalid_request_error", "this model does not support tools"),
            ModelFormatRefused,
            "does not support tools",
        ),
        (Raw(b"<html>", content_type="text/html"), ModelReplyError, r"ANTHROPIC_BASE_URL right\?$"),
        (Raw(b"[]"), ModelReplyError, "a list instead of an object"),
        (Raw(b'{"type": "message"', ending="cut"), ModelConnectionError, "v1/messages broke"),
        (Raw(json.dumps(error_event("api_error", "x")).encode()), ModelServerError, "answered 500"),
        (Raw(b"", 302, headers={"Location": "/v1/x"}), ModelRefused, "redirects are not followed"),
    ],
)
@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_each_failure_has_its_error(
    reply: Raw, kind: type[ModelError], message: str, way: str
) -> None:
    async with _serving(reply, retries=1) as (server, model):
        with pytest.raises(ModelError, match=message) as caught:
            await _ask(model, way)
    assert type(caught.value) is kind
    assert len(server.requests) == (2 if kind.retryable else 1)


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_a_failure_that_passes_is_tried_again_by_us_alone(way: str) -> None:
    busy = failure(529, "overloaded_error", "Overloaded")
    async with _serving(busy, busy, BLUE) as (server, model):
        assert await _ask(model, way) == BLUE
    assert len(server.requests) == 3


async def test_the_wait_that_the_server_requests_is_respected() -> None:
    async with _serving(failure(429, "rate_limit_error", "slow", Retry_After="77")) as (
        server,
        model,
    ):
        with pytest.raises(ModelRateLimited) as caught:
            await model.complete(REQUEST)
    assert caught.value.retry_after == 77
    assert len(server.requests) == 1  # longer than anyone waits


@pytest.mark.parametrize(
    "broken",
    [
        sse(events(BLUE)[:5]),
        sse(events(BLUE)[:5], "cut"),
        sse([*events(BLUE)[:5], error_event("overloaded_error", "Overloaded")]),
    ],
    ids=["ends early", "is cut", "reports an error"],
)
async def test_a_stream_that_breaks_starts_again(broken: Raw) -> None:
    async with _serving(broken, BLUE) as (_, model):
        deltas, response = await _stream(model)
    again = [ModelDelta("It"), ModelDelta(" is"), ModelDelta(" blue.")]
    assert deltas == [ModelDelta("It"), ModelDelta(" is"), ModelDelta("", "restart"), *again]
    assert response == BLUE


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    async with MessagesServer(
        [Raw(b"", content_type="text/event-stream", ending="hang")]
    ) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        model = AnthropicModel(NAME, api_key=KEY, timeout=0.05, retries=0)
        with pytest.raises(ModelTimeout, match=r"v1/messages did not answer: no data for 0\.05 s"):
            await _ask(model, way)


async def test_no_connection_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MessagesServer([BLUE]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/")
    model = AnthropicModel(NAME, api_key=KEY, retries=0)
    with pytest.raises(
        ModelConnectionError, match=f"to {server.url}/v1/messages: .*ANTHROPIC_BASE"
    ):
        await model.complete(REQUEST)


async def test_a_long_answer_in_one_piece_is_waited_for() -> None:
    async with (
        MessagesServer([BLUE]) as server,
        AsyncAnthropic(api_key=KEY, base_url=server.url) as client,
    ):
        model = AnthropicModel(NAME, max_tokens=100_000, client=client)
        assert await model.complete(REQUEST) == BLUE
    assert server.requests[0]["max_tokens"] == 100_000


async def test_a_clients_own_retries_are_off_and_closing_it_is_left_to_its_owner() -> None:
    async with (
        MessagesServer([failure(500, "api_error", "oh")]) as server,
        AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=5) as client,
    ):
        model = AnthropicModel(NAME, retries=1, client=client)
        with pytest.raises(ModelServerError):
            await model.complete(REQUEST)
        assert not client.is_closed()
    assert server.keys == [KEY] * 2


async def test_leaving_a_stream_early_lets_the_connection_go() -> None:
    async with _serving(sse(events(BLUE)[:6], "hang")) as (server, model):
        stream = model.stream(REQUEST)
        assert await anext(stream) == ModelDelta("It")
        assert not server.left.is_set()
        await stream.aclose()
        await server.left.wait()


def test_a_missing_key_names_the_variable() -> None:
    for key in (None, "", "  "):
        with pytest.raises(ConfigurationError, match="no API key: set ANTHROPIC_API_KEY"):
            AnthropicModel(NAME, api_key=key)


def test_a_name_is_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://me:pass@host:8443/anthropic/")
    model = get_model(f"anthropic:{NAME}")
    assert isinstance(model, AnthropicModel)
    assert model.name == NAME
    assert repr(model) == f"AnthropicModel('{NAME}', 'https://host:8443/anthropic/v1/messages')"


@pytest.mark.parametrize("make", [AnthropicModel, lambda name: get_model(f"anthropic:{name}")])
def test_an_empty_name_is_refused(
    make: Callable[[str], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigurationError, match="the model's name is empty; pass one such as"):
        make(" ")


@pytest.mark.parametrize("key", ["sk\nant", "sk-änt"])
def test_a_key_that_no_header_takes_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be sent in a header") as caught:
        AnthropicModel(NAME, api_key=key)
    assert key not in str(caught.value)


async def test_the_vendor_s_package_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    async with _serving(BLUE) as (_, model):
        assert await model.complete(REQUEST) == BLUE


def test_an_address_that_cannot_be_used_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "localhost:80")
    with pytest.raises(ConfigurationError, match="ANTHROPIC_BASE_URL or base_url="):
        AnthropicModel(NAME, api_key=KEY)


def _echoes() -> dict[str, Raw]:
    error = error_event("authentication_error", f"the key {KEY} is wrong")
    body = json.dumps(error).encode()
    return {
        "refused": Raw(body, 401),
        "failed": Raw(f"no {KEY} here".encode(), 500),
        "good status": Raw(body),
        "as text": Raw(KEY.encode(), content_type=f"text/{KEY}"),
        "in mid-stream": sse([*events(BLUE)[:5], error]),
        "redirect": Raw(b"", 302, headers={"Location": f"http://127.0.0.1/{KEY}"}),
    }


@pytest.mark.parametrize("kind", list(_echoes()))
@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_a_key_is_never_shown_though_the_server_echoes_it(
    caplog: pytest.LogCaptureFixture, kind: str, way: str
) -> None:
    caplog.set_level(logging.DEBUG)
    async with _serving(_echoes()[kind], retries=1) as (server, model):
        with pytest.raises(ModelError) as caught:
            await _ask(model, way)
    assert server.keys[0] == KEY
    ours = [str(vars(record)) for record in caplog.records if record.name == "tinyagent"]
    shown = [str(caught.value), repr(caught.value), repr(model), str(vars(caught.value)), *ours]
    assert not [text for text in shown if KEY in text]

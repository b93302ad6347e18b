from __future__ import annotations

import httpx2
import pytest
from openai import AsyncOpenAI

from tinyagent import Message, ModelError, OpenAIModel, Usage
from tinyagent.core import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelDelta,
    ModelRateLimited,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    ModelTimeout,
    RawToolCall,
    RequestFormat,
)
from tinyagent.testing import MockServer, Reply, error_reply, json_reply
from tinyagent.testing.apis import completion_json, completion_sse

REQUEST = ModelRequest(
    (Message("user", "hi"),),
    RequestFormat(({"type": "function", "function": {"name": "add", "parameters": {}}},)),
)
ANSWER = ModelResponse("a b c", (RawToolCall("1", "add", "{}"),), Usage(1, 5, 7), "tool_calls")
STREAM = "text/event-stream"
CUT_STREAM = Reply(completion_sse(ANSWER)[:300], content_type=STREAM, ending="cut")


async def _ask(reply: Reply | ModelResponse, way: str) -> tuple[str, ModelResponse]:
    """The text of the deltas, and the answer."""
    patience = 0.3 if isinstance(reply, Reply) and reply.ending == "hang" else 30
    async with (
        MockServer([reply]) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="k", timeout=patience) as client,
    ):
        model = OpenAIModel("m", client=client)
        assert repr(model) == f"OpenAIModel('m', '{server.base_url}/')"
        if way == "complete":
            return "", await model.complete(REQUEST)
        items = [item async for item in model.stream(REQUEST)]
    last = items.pop()
    assert isinstance(last, ModelResponse)
    return "".join(item.text for item in items if isinstance(item, ModelDelta)), last


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_a_callers_client_carries_the_request_and_the_answer(way: str) -> None:
    text, response = await _ask(ANSWER, way)
    assert (response.content, response.tool_calls) == (ANSWER.content, ANSWER.tool_calls)
    assert (response.usage, response.finish_reason) == (ANSWER.usage, "tool_calls")
    assert text == ("a b c" if way == "stream" else "")


async def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    text, response = await _ask(json_reply(completion_json(ANSWER)), "stream")
    assert (text, response.content) == ("a b c", "a b c")


@pytest.mark.parametrize("way", ["complete", "stream"])
@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (error_reply(401, "bad key"), ModelAuthenticationError, "401 Unauthorized: bad key"),
        (error_reply(429, "slow down"), ModelRateLimited, "429 Too Many Requests: slow down"),
        (error_reply(500, "down"), ModelServerError, "500 Internal Server Error: down"),
        (json_reply(None), ModelReplyError, "null instead of an object"),
        (json_reply([]), ModelReplyError, "a list instead of an object"),
        (
            json_reply({"error": {"message": "full"}}),
            ModelServerError,
            "the server answered 500 .*: full",
        ),
        (Reply(b"<html>", content_type="text/html"), ModelReplyError, "did not answer with JSON"),
        (json_reply({}, ending="cut"), ModelConnectionError, "failed: .*without sending complete"),
        (Reply(b"", ending="hang"), ModelTimeout, "did not answer within the client's timeout"),
    ],
)
async def test_each_failure_has_its_error(
    reply: Reply, kind: type[ModelError], message: str, way: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        await _ask(reply, way)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (CUT_STREAM, ModelConnectionError),
        (Reply(CUT_STREAM.body, content_type=STREAM, ending="hang"), ModelTimeout),
        (Reply(b"data: {\n\n", content_type=STREAM), ModelReplyError),
        (Reply(b"", content_type=STREAM), ModelConnectionError),
    ],
)
async def test_each_failure_in_mid_stream_has_its_error(
    reply: Reply, kind: type[ModelError]
) -> None:
    with pytest.raises(kind):
        await _ask(reply, "stream")


async def test_an_unreachable_server_is_reported() -> None:
    async with AsyncOpenAI(base_url="http://127.0.0.1:1/v1", api_key="k") as client:
        with pytest.raises(ModelConnectionError, match=r"127\.0\.0\.1:1/v1/ failed: All conn"):
            await OpenAIModel("m", client=client).complete(REQUEST)


async def test_retries_are_made_by_the_model_and_not_by_the_client_too() -> None:
    async with (
        MockServer([error_reply(500, "down")]) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=5) as client,
    ):
        with pytest.raises(ModelServerError):
            await OpenAIModel("m", client=client, retries=1).complete(REQUEST)
        assert len(server.requests) == 2
        assert client.max_retries == 5
        assert not client.is_closed()
    assert client.is_closed()


async def test_a_client_with_its_own_connection_is_used_unchanged() -> None:
    async with (
        MockServer([ANSWER]) as server,
        httpx2.AsyncClient(headers={"X-Own": "1"}) as http,
    ):
        client = AsyncOpenAI(base_url=server.base_url, api_key="k", http_client=http)
        response = await OpenAIModel("m", client=client).complete(REQUEST)
    assert response.content == "a b c"

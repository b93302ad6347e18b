from __future__ import annotations

import aiohttp
import pytest

from tinyagent import Message, OpenAIModel
from tinyagent.core import ModelRequest, ModelResponse
from tinyagent.testing import MockServer, Reply, error_reply, json_reply

REQUEST = ModelRequest((Message("user", "hi"),))


async def test_answers_come_in_their_order_and_the_last_is_repeated() -> None:
    async with MockServer(["one", ModelResponse("two")]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        said = [(await model.complete(REQUEST)).content for _ in range(3)]
    assert said == ["one", "two", "two"]


async def test_a_function_answers_by_the_body() -> None:
    async with MockServer(lambda body: body["messages"][-1]["content"].upper()) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        assert (await model.complete(REQUEST)).content == "HI"


async def test_requests_are_recorded() -> None:
    async with MockServer(["hi"]) as server:
        await OpenAIModel("mock", base_url=server.base_url, api_key="k").complete(REQUEST)
        await OpenAIModel("mock", base_url=server.base_url).complete(REQUEST)
    assert server.keys == ["k", ""]
    assert server.requests[0]["messages"] == [{"role": "user", "content": "hi"}]


async def test_a_reply_is_sent_to_the_byte() -> None:
    reply = Reply(b"\x00\xff", 418, "text/odd", {"X-Odd": "yes"})
    async with (
        MockServer([reply]) as server,
        aiohttp.ClientSession() as session,
        session.post(server.base_url) as response,
    ):
        assert response.status == 418
        assert response.headers["X-Odd"] == "yes"
        assert response.content_type == "text/odd"
        assert await response.read() == b"\x00\xff"


def test_replies_in_short() -> None:
    assert json_reply(None) == Reply(b"null")
    failed = error_reply(429, "slow", Retry_After="1")
    assert (failed.status, failed.headers) == (429, {"Retry-After": "1"})


def test_a_server_that_does_not_run_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="use `async with MockServer"):
        _ = MockServer([]).base_url


async def test_a_stopped_server_can_be_stopped_again() -> None:
    server = MockServer(["hi"])
    await server.stop()
    async with server:
        pass
    await server.stop()

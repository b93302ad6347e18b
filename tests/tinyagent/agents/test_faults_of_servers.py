"""What a server may do that it should not, over the wire: answered by a retry, or a typed error."""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import stamina

from tinyagent import (
    ConfigurationError,
    Message,
    ModelError,
    OpenAIModel,
    ReactAgent,
    RunResult,
    TextDelta,
)
from tinyagent.core import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimited,
    ModelRefused,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    ModelTimeout,
    RawToolCall,
)
from tinyagent.models import endpoint
from tinyagent.testing import MockServer, Reply, error_reply, json_reply
from tinyagent.testing.apis import completion_json, completion_sse

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
ANSWER = ModelResponse("It is blue.")
STREAM = "text/event-stream"
HTML = Reply(b"<html><body>Not Found</body></html>", 404, "text/html")


def _cut(stream: bool) -> Reply:  # noqa: FBT001 - as the request says it
    """A reply that breaks off after half of it."""
    if stream:
        return Reply(completion_sse(ANSWER)[:250], content_type=STREAM, ending="cut")
    return json_reply(completion_json(ANSWER), ending="cut")


def _agent(server: MockServer, **options: Any) -> ReactAgent[str]:
    return ReactAgent(OpenAIModel("m", base_url=server.base_url, **options))


def _failing(*replies: Reply | ModelResponse) -> MockServer:
    return MockServer(replies)


async def _drain(model: OpenAIModel) -> None:
    async for _ in model.stream(ModelRequest((Message("user", "go"),))):
        pass


async def test_a_refused_key_ends_the_run_at_once(ask: Ask) -> None:
    async with _failing(error_reply(401, "bad key")) as server:
        result = await ask(_agent(server, api_key="k"))
    assert (result.state, len(server.requests)) == ("error", 1)
    assert isinstance(result.error, ModelAuthenticationError)
    assert "answered 401 Unauthorized: bad key; check OPENAI_API_KEY" in str(result.error)


async def test_the_wait_that_a_busy_server_asks_for_is_kept(ask: Ask, waits: list[float]) -> None:
    async with _failing(error_reply(429, "slow down", Retry_After="0"), ANSWER) as server:
        with stamina.set_testing(testing=False):
            result = await ask(_agent(server))
    assert (result.output, len(server.requests), waits) == ("It is blue.", 2, [0.001])


async def test_a_wait_that_is_too_long_ends_the_run_at_once(ask: Ask, waits: list[float]) -> None:
    async with _failing(error_reply(429, "slow down", Retry_After="3600"), ANSWER) as server:
        with stamina.set_testing(testing=False):
            result = await ask(_agent(server))
    assert isinstance(result.error, ModelRateLimited)
    assert (result.error.retry_after, len(server.requests), waits) == (3600, 1, [])


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_a_server_that_fails_once_is_asked_again(ask: Ask, status: int) -> None:
    async with _failing(error_reply(status, "down"), ANSWER) as server:
        result = await ask(_agent(server))
    assert (result.output, result.steps_taken, len(server.requests)) == ("It is blue.", 1, 2)


async def test_a_server_that_keeps_failing_ends_the_run(ask: Ask) -> None:
    async with _failing(error_reply(500, "down")) as server:
        result = await ask(_agent(server))
    assert (result.state, len(server.requests)) == ("error", 3)
    assert isinstance(result.error, ModelServerError)
    assert "answered 500 Internal Server Error: down" in str(result.error)


async def test_a_connection_that_breaks_once_is_made_again(ask: Ask) -> None:
    replies = iter([True, False])
    async with MockServer(lambda b: _cut(bool(b.get("stream"))) if next(replies) else ANSWER) as s:
        result = await ask(_agent(s))
    assert (result.output, len(s.requests)) == ("It is blue.", 2)


async def test_a_connection_that_always_breaks_ends_the_run(ask: Ask) -> None:
    async with MockServer(lambda b: _cut(bool(b.get("stream")))) as server:
        result = await ask(_agent(server))
    assert len(server.requests) == 3
    assert isinstance(result.error, ModelConnectionError)
    assert "broke before the answer was complete (ClientPayloadError)" in str(result.error)


async def test_a_stream_that_starts_again_says_that_what_came_before_is_void() -> None:
    async with _failing(_cut(stream=True), ANSWER) as server:
        events = [event async for event in _agent(server).stream("go")]
    deltas = [(e.kind, e.text) for e in events if isinstance(e, TextDelta)]
    restart = deltas.index(("restart", ""))
    assert restart > 0
    assert "".join(text for _, text in deltas[restart:]) == "It is blue."


async def test_a_stream_that_ends_politely_but_early_is_a_broken_one() -> None:
    half = Reply(completion_sse(ANSWER)[:250] + b"\n\n", content_type=STREAM)
    whole_lines = Reply(completion_sse(ANSWER).partition(b"\n\n")[0] + b"\n\n", content_type=STREAM)
    for reply in (whole_lines, Reply(b"", content_type=STREAM)):
        async with _failing(reply) as server:
            with pytest.raises(ModelConnectionError, match="ended before the answer was complete"):
                await _drain(OpenAIModel("m", base_url=server.base_url))
    async with _failing(half) as server:
        with pytest.raises(ModelReplyError, match="did not answer with JSON"):
            await _drain(OpenAIModel("m", base_url=server.base_url))


async def test_a_server_that_says_nothing_is_given_up(ask: Ask) -> None:
    async with _failing(Reply(b"", ending="hang")) as server:
        result = await ask(_agent(server, timeout=0.2, retries=1))
        assert len(server.requests) == 2
    assert isinstance(result.error, ModelTimeout)
    assert "did not answer: no data for 0.2 s" in str(result.error)


async def test_a_server_that_falls_silent_in_mid_stream_is_given_up() -> None:
    reply = Reply(completion_sse(ANSWER)[:250], content_type=STREAM, ending="hang")
    async with _failing(reply) as server:
        model = OpenAIModel("m", base_url=server.base_url, timeout=0.2, retries=0)
        with pytest.raises(ModelTimeout, match=r"no data for 0\.2 s"):
            await _drain(model)


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (HTML, ModelRefused, "404 Not Found; check the model's name and OPENAI_BASE_URL"),
        (Reply(b"<html>Welcome", 200, "text/html"), ModelReplyError, "is OPENAI_BASE_URL right?"),
        (Reply(b"", 200, "text/plain"), ModelReplyError, "is OPENAI_BASE_URL right?"),
        (Reply(b"[" * 100_000), ModelReplyError, "did not answer with JSON"),
    ],
    ids=["HTML 404", "HTML 200", "nothing", "nested"],
)
async def test_a_wrong_address_is_reported_as_the_likely_cause(
    ask: Ask, reply: Reply, kind: type[ModelError], message: str
) -> None:
    async with _failing(reply) as server:
        result = await ask(_agent(server))
    assert type(result.error) is kind
    assert message in str(result.error)
    assert "<html>" not in str(result.error)


async def test_a_server_that_is_not_there_is_reported(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = await ask(ReactAgent(OpenAIModel("m", base_url=base_url)))
    assert isinstance(result.error, ModelConnectionError)
    assert str(result.error).startswith(f"no connection to {base_url}/chat/completions: ")
    assert str(result.error).endswith("is the server running, and is OPENAI_BASE_URL right?")


def test_an_address_without_a_scheme_is_refused_before_any_run() -> None:
    with pytest.raises(ConfigurationError, match="must look like https://host/v1"):
        ReactAgent(OpenAIModel("m", base_url="localhost:8080/v1"))


def test_no_key_is_reported_before_any_run() -> None:
    with pytest.raises(ConfigurationError, match="no API key: set OPENAI_API_KEY"):
        ReactAgent("openai:gpt-4.1")


async def test_a_redirect_is_not_followed(ask: Ask) -> None:
    async with MockServer(["stolen"]) as other:
        headers = {"Location": f"{other.base_url}/chat/completions"}
        async with _failing(Reply(b"", 307, headers=headers)) as server:
            result = await ask(_agent(server, api_key="k"))
    assert isinstance(result.error, ModelRefused)
    assert "redirects are not followed because they would carry the key" in str(result.error)
    assert (len(server.requests), other.requests) == (1, [])


async def test_a_reply_beyond_measure_is_not_read(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_REPLY_BYTES", 10_000)
    monkeypatch.setattr(endpoint, "MAX_STREAM_BYTES", 10_000)
    async with _failing(ModelResponse("x" * 20_000)) as server:
        result = await ask(_agent(server))
    assert isinstance(result.error, ModelReplyError)
    assert "over 10,000 bytes" in str(result.error)


async def test_a_server_that_dies_between_two_steps_ends_the_run(ask: Ask) -> None:
    server = MockServer([ModelResponse(None, (RawToolCall("1", "stop", "{}"),))])

    async def stop() -> str:
        """Stop the server."""
        await server.stop()
        return "stopped"

    async with server:
        result = await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [stop]))
    assert isinstance(result.error, ModelConnectionError)
    assert result.steps_taken == 2


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('<function=add>{"a": 1}</function>', "Your <tool_call> could not be read"),
        ("Tool use failed: JSON does not match the schema", "Your <tool_call> could not be read"),
        ('{"name": "add", "arguments": {"a": "one"}}', "a: "),
        ('{"name": "adds", "arguments": {"a": 1}}', "adds"),
        ("", "Your reply was empty"),
    ],
)
async def test_a_call_that_the_server_cannot_read_goes_back_to_the_model(
    ask: Ask, written: str, shown: str
) -> None:
    """As Groq reports it: by a status, or in a stream."""
    error = {"message": "Failed to call a function.", "code": "tool_use_failed", "status_code": 400}
    failed = {"error": {**error, "failed_generation": written}}
    event = f"event: error\ndata: {json.dumps(failed)}\n\n".encode()

    def script(body: dict[str, Any]) -> Reply | str:
        if len(body["messages"]) > 2:
            return "It is blue."
        return (
            Reply(event, content_type=STREAM)
            if body.get("stream")
            else json_reply(failed, status=400)
        )

    def add(a: int) -> int:
        """Add one."""
        return a + 1

    async with MockServer(script) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=0)
        result = await ask(ReactAgent(model, [add]))
    assert result.output == "It is blue."
    assert shown in str(server.requests[1]["messages"][2:])

"""`/v1`, asked by the official client of chat completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk
from tests.skillian.api.conftest import KEYS, Opened, Serve
from tests.skillian.api.models import HeldModel
from tests.support.serving import Serving
from tests.support.waits import soon

from tinyagent import ScriptedModel, Usage, scripted_call
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, ModelServerError

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"


class Written(ScriptedModel):
    """Answers as its script does, after writing these pieces."""

    def __init__(self, script: Any, *pieces: Sequence[ModelDelta]) -> None:
        super().__init__(script)
        self._pieces = list(pieces)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        for piece in self._pieces.pop(0):
            yield piece
        yield await self.complete(request)


Asking = Callable[..., openai.AsyncOpenAI]


@pytest.fixture
async def asking() -> AsyncGenerator[Asking]:
    """Official clients of a service; they are closed with the test."""
    async with AsyncExitStack() as opened:

        def make(served: Serving | Opened, key: str = "none") -> openai.AsyncOpenAI:
            made = openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=2)
            opened.push_async_callback(made.close)
            return made

        yield make


def user(text: str = QUESTION) -> list[Any]:
    return [{"role": "user", "content": text}]


async def streamed(asked: openai.AsyncOpenAI, **given: Any) -> list[ChatCompletionChunk]:
    stream = await asked.chat.completions.create(
        model="skillian", messages=user("Hello"), stream=True, **given
    )
    return [chunk async for chunk in stream]


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def test_the_one_model_is_listed(server: Serving, asking: Asking) -> None:
    asked = asking(server)
    [model] = [each async for each in asked.models.list()]
    assert model.id == "skillian"
    assert await asked.models.retrieve("skillian") == model
    with pytest.raises(openai.NotFoundError, match="ask for 'skillian'"):
        await asked.models.retrieve("gpt-4.1")


async def test_a_question_is_answered_from_the_tools(server: Serving, asking: Asking) -> None:
    completion = await asking(server).chat.completions.create(model="skillian", messages=user())
    [choice] = completion.choices
    assert choice.message.content is not None
    assert choice.message.content.startswith("7 of 12 groups match")
    assert choice.finish_reason == "stop"
    assert completion.model_extra is not None
    skillian = completion.model_extra["skillian"]
    assert [call["tool"] for call in skillian["tool_calls"]] == ["compare_sources"]
    assert skillian["unverified"] == []
    [scope] = skillian["scope"]
    assert scope[:3] == ["fi_reporting and bpc_reporting", "amount", "company: 1001"]


async def test_a_follow_up_finds_the_tool_results(server: Serving, asking: Asking) -> None:
    asked, said = asking(server), user()
    for question in ("why?", "show the rows behind company 1001 and period 2024004", ""):
        completion = await asked.chat.completions.create(model="skillian", messages=said)
        said += [
            {"role": "assistant", "content": completion.choices[0].message.content},
            *user(question),
        ]
    said.pop()
    assert "of the gross gap" in said[3]["content"]
    assert said[5]["content"].startswith("The rows behind")


async def test_a_stream_is_recalled_as_well(server: Serving, asking: Asking) -> None:
    asked, said = asking(server), user()
    stream = await asked.chat.completions.create(model="skillian", messages=said, stream=True)
    chunks = [chunk async for chunk in stream]
    last = chunks[-1].model_extra
    assert last is not None
    assert last["skillian"]["scope"][0][:2] == ["fi_reporting and bpc_reporting", "amount"]
    answer = text_of(chunks)
    said += [{"role": "assistant", "content": answer}, *user("why?")]
    completion = await asked.chat.completions.create(model="skillian", messages=said)
    assert "of the gross gap" in (completion.choices[0].message.content or "")


async def test_a_conversation_is_not_recalled_for_another_key(serve: Serve, asking: Asking) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        first, second = (asking(client, key) for key in KEYS)
        said = user()
        completion = await first.chat.completions.create(model="skillian", messages=said)
        said += [
            {"role": "assistant", "content": completion.choices[0].message.content},
            *user("why?"),
        ]
        completion = await second.chat.completions.create(model="skillian", messages=said)
        assert completion.model_extra is not None
        assert completion.model_extra["skillian"]["tool_calls"] == []


async def test_a_request_without_a_key_is_refused(serve: Serve, asking: Asking) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        with pytest.raises(openai.AuthenticationError, match="Send one of the API keys") as raised:
            await asking(client, "wrong").chat.completions.create(model="skillian", messages=user())
    assert (raised.value.type, raised.value.code) == ("authentication_error", "unauthorized")


async def test_errors_before_and_outside_of_a_route_are_read_by_the_client(
    serve: Serve, asking: Asking
) -> None:
    async with serve(max_body_bytes=2_000, requests_per_minute=7) as client:
        asked = asking(client).with_options(max_retries=0)
        with pytest.raises(openai.NotFoundError, match="nothing at this address") as nowhere:
            await asked.embeddings.create(model="skillian", input="x")
        with pytest.raises(openai.APIStatusError, match="more than 2000 bytes") as large:
            await asked.chat.completions.create(model="skillian", messages=user("x" * 3_000))
        deep: Any = {"a": json.loads("[" * 60 + "]" * 60)}
        with pytest.raises(openai.BadRequestError, match="levels deep"):
            await asked.chat.completions.create(
                model="skillian", messages=user("Hello"), extra_body=deep
            )
        with pytest.raises(openai.APIStatusError, match="does not support that method") as method:
            await asked.delete("/models", cast_to=object)
        with pytest.raises(openai.RateLimitError, match="requests a minute") as often:
            await asyncio.gather(*(asked.models.list() for _ in range(8)))
        problem = await (await client.get("/nowhere")).json()
    errors = [each.value for each in (nowhere, large, method, often)]
    assert [(each.status_code, each.code, each.type) for each in errors] == [
        (404, "not_found", "invalid_request_error"),
        (413, "body_too_large", "invalid_request_error"),
        (405, "method_not_allowed", "invalid_request_error"),
        (429, "too_many_requests", "rate_limit_error"),
    ]
    assert often.value.response.headers["Retry-After"]
    assert problem["status"] in {404, 429}  # other addresses keep their form


async def test_an_internal_error_is_read_by_the_client(
    serve: Serve, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as client:
        monkeypatch.setattr("skillian.api.protocols.openai._card", lambda: 1 / 0)
        with pytest.raises(openai.InternalServerError, match="in the log of skillian") as raised:
            await asking(client).with_options(max_retries=0).models.list()
    assert (raised.value.code, raised.value.type) == ("internal_error", "server_error")


async def test_pieces_of_a_message_and_instructions_are_read(serve: Serve, asking: Asking) -> None:
    model = ScriptedModel(["Hi."])
    async with serve(lambda _: model) as client:
        messages: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        ]
        await asking(client).chat.completions.create(model="skillian", messages=messages)
    said = [(message.role, message.content) for message in model.requests[0].messages]
    assert said[1:] == [("user", "Be brief."), ("user", "Hello")]


async def test_usage_covers_all_model_calls(serve: Serve, asking: Asking) -> None:
    usage = Usage(1, input_tokens=10, output_tokens=3, cached_tokens=2)
    call = ModelResponse(None, (scripted_call("list_sources"),), usage)
    model = ScriptedModel([call, ModelResponse("Four.", usage=usage)] * 2)
    async with serve(lambda _: model) as client:
        asked = asking(client)
        completion = await asked.chat.completions.create(model="skillian", messages=user())
        chunks = await streamed(asked, stream_options={"include_usage": True})
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 6)
    assert completion.usage.total_tokens == 26
    assert completion.usage.prompt_tokens_details is not None
    assert completion.usage.prompt_tokens_details.cached_tokens == 4
    assert chunks[-1].usage == completion.usage
    assert chunks[-1].choices == []
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)


async def test_a_stream_has_the_text_as_it_is_written(serve: Serve, asking: Asking) -> None:
    model = HeldModel("Wait")
    async with serve(lambda _: model) as client:
        stream = await asking(client).chat.completions.create(
            model="skillian", messages=user("Hello"), stream=True
        )
        chunks = []
        async for chunk in stream:
            chunks.append(chunk)
            if chunk.choices[0].delta.content == "Wait":
                model.let_go.set()  # nothing more would come before
    assert text_of(chunks) == "Wait"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, "stop"]
    assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (
            [[ModelDelta("Let me "), ModelDelta("see.")], [ModelDelta("Four.")]],
            "Let me see.\n\nFour.",
        ),
        ([[ModelDelta('{"name": "list_sources"}')], [ModelDelta("Four.")]], "Four."),
        ([[ModelDelta("Hm.", "reasoning")], []], "Four."),
        ([[], [ModelDelta("Fo"), ModelDelta("", "restart"), ModelDelta("Four.")]], "Fo\n\nFour."),
        ([[], [ModelDelta(" "), ModelDelta("Four.")]], " Four."),
    ],
)
async def test_text_before_tool_calls(
    asking: Asking, serve: Serve, pieces: list[list[ModelDelta]], text: str
) -> None:
    script = [scripted_call("list_sources"), "Four."]
    async with serve(lambda _: Written(script, *pieces)) as client:
        chunks = await streamed(asking(client))
    assert text_of(chunks) == text


async def test_a_failing_model_is_reported_and_not_asked_again(
    serve: Serve, asking: Asking
) -> None:
    asked: list[ModelRequest] = []

    def fail(request: ModelRequest) -> str:
        asked.append(request)
        raise ModelServerError("the model is down")

    async with serve(lambda _: ScriptedModel(fail)) as client:
        with pytest.raises(openai.InternalServerError, match="the model is down") as raised:
            await asking(client).chat.completions.create(model="skillian", messages=user())
        assert (raised.value.status_code, raised.value.code) == (502, "model_failed")
        assert len(asked) == 1
        with pytest.raises(openai.APIError, match="the model is down"):
            await streamed(asking(client))


async def test_an_unexpected_error_shows_no_details(serve: Serve, asking: Asking) -> None:
    def fail(_: ModelRequest) -> str:
        raise LookupError("secret inside")

    async with serve(lambda _: ScriptedModel(fail)) as client:
        with pytest.raises(openai.InternalServerError) as raised:
            await asking(client).chat.completions.create(model="skillian", messages=user())
    assert raised.value.code == "turn_failed"
    assert "secret" not in str(raised.value)


async def test_a_turn_without_an_end_is_marked(serve: Serve, asking: Asking) -> None:
    model = ScriptedModel(lambda _: scripted_call("list_sources"))
    async with serve(lambda _: model) as client:
        completion = await asking(client).chat.completions.create(
            model="skillian", messages=user("Hello")
        )
    assert completion.choices[0].finish_reason == "length"


async def test_lone_surrogates_of_a_model_do_no_harm(serve: Serve, asking: Asking) -> None:
    async with serve(lambda _: ScriptedModel(lambda _: "half \ud83d")) as client:
        completion = await asking(client).chat.completions.create(
            model="skillian", messages=user("Hello")
        )
        chunks = await streamed(asking(client))
    assert completion.choices[0].message.content == text_of(chunks) == "half ?"


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"messages": []}, "body.messages"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "messages"),
        ({"messages": user(" ")}, "messages"),
        ({"messages": user("x" * 20_001)}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, None),
        ({"n": 2}, "body.n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "body.tools"),
        ({"response_format": {"type": "json_object"}}, "body.response_format.type"),
    ],
)
async def test_an_impossible_request_is_refused(
    server: Serving, asking: Asking, given: dict[str, Any], param: str | None
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await asking(server).chat.completions.create(
            **{"model": "skillian", "messages": user(), **given}
        )
    assert raised.value.type == "invalid_request_error"
    assert param is None or raised.value.param == param


async def test_another_model_is_not_found(server: Serving, asking: Asking) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        await asking(server).chat.completions.create(model="gpt-4.1", messages=user())
    assert raised.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_disconnects_ends_the_turn(
    serve: Serve, asking: Asking, *, stream: bool
) -> None:
    model = HeldModel()
    async with serve(lambda _: model, max_turns=1) as client:
        asked = asking(client)
        said = user("Hello")
        body: dict[str, Any] = {"model": "skillian", "messages": said, "stream": stream}
        leaving = asyncio.create_task(_read(client, body))
        await soon(model.asked.is_set)
        with pytest.raises(openai.InternalServerError, match="is busy"):
            await asked.with_options(max_retries=0).chat.completions.create(**body)
        leaving.cancel()
        await soon(model.cancelled.is_set)
        model.let_go.set()
        completion = await asked.chat.completions.create(model="skillian", messages=said)
    assert completion.choices[0].message.content == "At last."


async def _read(client: Opened, body: dict[str, Any]) -> None:
    async with client.post("/v1/chat/completions", json=body) as answer:
        await answer.read()

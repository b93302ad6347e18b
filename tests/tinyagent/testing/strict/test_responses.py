"""Complete tool loops over Responses through OpenAI's own client, and what is refused."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from openai import APIError, APIStatusError, AsyncOpenAI
from tests.tinyagent.testing.strict.support import (
    ADD,
    ANSWER,
    PARAMETERS,
    THINKS_AND_ADDS,
    Json,
    data_uri,
    png,
)

from tinyagent.testing import Output, StrictServer

MODEL = "gpt-5.6-terra"
TOOL: Json = {"type": "function", "name": "add", "parameters": PARAMETERS, "strict": True}
QUESTION: Json = {"role": "user", "content": "What is 1 + 2?"}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
RESULT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "3"}


def client_of(server: StrictServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)


async def ask(client: AsyncOpenAI, *, stream: bool = False, **options: Any) -> Any:
    asked: Json = {"model": MODEL, "tools": [TOOL], "store": False, **options}
    if not stream:
        return await client.responses.create(**asked)
    async with client.responses.stream(**asked) as events:
        numbers = [event.sequence_number async for event in events]
        assert numbers == sorted(numbers)
        return await events.get_final_response()


def answered(response: Any) -> list[Json]:
    """The items of a turn and the results of its calls."""
    dumped = {"exclude_none": True, "exclude": {"parsed_arguments"}}
    items = [item.model_dump(**dumped) for item in response.output]
    for item in items:
        for part in item.get("content", []):
            part.pop("parsed", None)
    calls = [item for item in items if item["type"] == "function_call"]
    results = [{**RESULT, "call_id": call["call_id"]} for call in calls]
    return [*items, *results]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [MODEL, "gpt-4.1", "o4-mini"])
async def test_a_tool_loop_is_accepted(model: str, *, stream: bool) -> None:
    both = Output("Now both.", "I need both.", [ADD, ADD])
    more: Json = {} if model == "gpt-4.1" else {"include": ["reasoning.encrypted_content"]}
    more |= {} if model == "gpt-4.1" else {"reasoning": {"summary": "auto"}}
    async with (
        StrictServer("openai", [THINKS_AND_ADDS, both, ANSWER]) as server,
        client_of(server) as client,
    ):
        items = [QUESTION]
        said: Any = None
        for _ in range(3):
            said = await ask(client, stream=stream, model=model, input=items, **more)
            items += answered(said)
        assert said.output_text == "It is 3."
        assert said.usage.input_tokens_details.cached_tokens > 0
        assert server.refusals == []
        assert server.losses == []
        kinds = [item["type"] for item in items[1:]]
        thinks = ["reasoning"] * (model != "gpt-4.1")
        loop = ["function_call", "function_call_output"]
        both_kinds = ["message", *loop[:1] * 2, *loop[1:] * 2]
        assert kinds == [*thinks, *loop, *thinks, *both_kinds, *thinks, "message"]
        if thinks:
            assert said.output[0].summary[0].text == "That was easy."


async def test_a_stored_response_can_be_continued() -> None:
    async with (
        StrictServer("openai", [THINKS_AND_ADDS, ANSWER]) as server,
        client_of(server) as client,
    ):
        first = await ask(client, store=True, input=[QUESTION])
        results = [item for item in answered(first) if item["type"] == "function_call_output"]
        response = await ask(client, previous_response_id=first.id, input=results)
        assert response.output_text == "It is 3."
        bare = {"type": "reasoning", "id": first.output[0].id, "summary": []}
        stored = [QUESTION, bare, *answered(first)[1:]]
        assert (await ask(client, input=stored)).output_text == "It is 3."
        assert server.refusals == []
        with pytest.raises(APIStatusError, match="Previous response with id 'resp_0' not found"):
            await ask(client, previous_response_id="resp_0", input="hi")


async def _after_a_call(edit: Any) -> tuple[list[str], list[str]]:
    """What is refused and lost when the items of a turn come back edited."""
    async with (
        StrictServer("openai", [THINKS_AND_ADDS, ANSWER]) as server,
        client_of(server) as client,
    ):
        items = [QUESTION, *answered(await ask(client, input=[QUESTION]))]
        edited = copy.deepcopy(items)
        edit(edited)
        with suppress(APIStatusError):
            await ask(client, input=edited)
        return server.refusals, server.losses


def _no_reasoning(items: list[Json]) -> None:
    del items[1]


def _no_reasoning_and_no_id(items: list[Json]) -> None:
    del items[1]
    del items[1]["id"]


def _no_encrypted(items: list[Json]) -> None:
    del items[1]["encrypted_content"]


def _changed(items: list[Json]) -> None:
    items[1]["encrypted_content"] = "AAAA"


def _no_follower(items: list[Json]) -> None:
    del items[2:]


def _result_between(items: list[Json]) -> None:
    items.insert(2, QUESTION)


def _call_id_as_id(items: list[Json]) -> None:
    items[2]["id"] = items[2]["call_id"]


def _no_result(items: list[Json]) -> None:
    del items[3]


@pytest.mark.parametrize(
    ("edit", "wording"),
    [
        (_no_reasoning, "was provided without its required 'reasoning' item: 'rs_"),
        (_no_encrypted, "Items are not persisted when `store` is set to false"),
        (_changed, "could not be verified"),
        (_no_follower, "of type 'reasoning' was provided without its required following item"),
        (_result_between, "was provided without its required following item"),
        (_call_id_as_id, "Expected an ID that begins with 'fc'"),
        (_no_result, "No tool output found for function call call_"),
    ],
)
async def test_items_must_come_back_as_they_were(edit: Any, wording: str) -> None:
    refusals, _ = await _after_a_call(edit)
    assert len(refusals) == 1
    assert wording in refusals[0]


async def test_a_turn_without_its_reasoning_and_ids_is_a_loss() -> None:
    refusals, losses = await _after_a_call(_no_reasoning_and_no_id)
    assert refusals == []
    assert "the reasoning before call_" in losses[0]


async def test_a_phase_that_does_not_come_back_is_a_loss() -> None:
    async with StrictServer("openai", [ANSWER]) as server, client_of(server) as client:
        items = [QUESTION, *answered(await ask(client, input=[QUESTION])), QUESTION]
        await ask(client, input=items)
        assert items[2]["phase"] == "final_answer"
        assert server.losses == []
        del items[2]["phase"]
        await ask(client, input=items)
        assert "the phase did not come back" in server.losses[0]


def _user(*parts: Json) -> Json:
    return {"input": [{"role": "user", "content": list(parts)}]}


def _image(url: Any) -> Json:
    return {"type": "input_image", "detail": "auto", "image_url": url}


NESTED = {"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}
OPEN = {**PARAMETERS, "additionalProperties": True}
FORMAT = {"type": "json_schema", "name": "sum", "strict": True}
INCLUDE = ["reasoning.encrypted_content"]

REFUSED: list[tuple[str, Json, str]] = [
    ("an unknown key", {"extra_body": {"messages": []}}, "Unknown parameter: 'messages'"),
    ("no input", {"input": None}, "Missing required parameter: 'input'"),
    ("a nested tool", {"tools": [NESTED]}, "Missing required parameter: 'tools[0].name'"),
    ("no strict", {"tools": [{**TOOL, "strict": None, "name": "a b"}]}, "does not match pattern"),
    ("an open tool", {"tools": [{**TOOL, "parameters": OPEN}]}, "'additionalProperties'"),
    ("a root", {"text": {"format": {**FORMAT, "schema": {"anyOf": []}}}}, 'got \'type: "None"'),
    ("an open schema", {"text": {"format": {**FORMAT, "schema": OPEN}}}, "response_format 'sum'"),
    ("text", _user({"type": "text", "text": "hi"}), "Invalid value: 'text'"),
    ("an object", _user(_image({"url": "https://x"})), "expected an image URL"),
    ("half a picture", _user(_image(data_uri(png()[:30]))), "Could not process image"),
    ("an orphan", {"input": [QUESTION, RESULT]}, "No tool call found for function call output"),
    ("an object as arguments", {"input": [{**CALL, "arguments": {}}, RESULT]}, "expected a string"),
    ("a message's key", {"input": [{**QUESTION, "name": "x"}]}, "'input[0].name'"),
    ("a type", {"input": [{"type": "tool_use"}]}, "Invalid value: 'tool_use'"),
    ("heat", {"temperature": 0}, "'temperature' does not support 0"),
    ("top_p", {"top_p": 0.5}, "'top_p' is not supported"),
    ("a limit", {"max_output_tokens": 5}, "Expected a value >= 16"),
    ("an effort", {"reasoning": {"effort": "minimal"}}, "does not support 'minimal'"),
    ("encrypted", {"model": "gpt-4.1", "include": INCLUDE}, "Encrypted content is not supported"),
    ("reasoning", {"model": "gpt-4.1", "reasoning": {"effort": "low"}}, "reasoning"),
]

ACCEPTED: list[tuple[str, Json]] = [
    ("a text", {"input": "hi"}),
    ("a history without ids", {"input": [QUESTION, CALL, RESULT]}),
    ("an assistant's text", {"input": [QUESTION, {"role": "assistant", "content": "3"}, QUESTION]}),
    ("heat", {"model": "gpt-4.1", "temperature": 0}),
    ("heat without reasoning", {"reasoning": {"effort": "none"}, "temperature": 0}),
    ("a loose tool", {"tools": [{**TOOL, "strict": False, "parameters": OPEN}]}),
    ("a schema", {"text": {"format": {**FORMAT, "schema": PARAMETERS}}}),
    ("a picture", _user(_image(data_uri(png())))),
    ("an address", _user(_image("https://example.com/a.png"))),
]


@pytest.mark.parametrize(
    ("options", "wording"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_it_refuses(options: Json, wording: str) -> None:
    async with StrictServer("openai", ["never"]) as server, client_of(server) as client:
        with pytest.raises(APIStatusError) as caught:
            await ask(client, **{"input": [QUESTION], **options})
    assert wording in str(caught.value)
    assert caught.value.status_code == 400
    assert len(server.refusals) == 1


@pytest.mark.parametrize("options", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
async def test_it_accepts(options: Json) -> None:
    async with StrictServer("openai", ["yes"]) as server, client_of(server) as client:
        response = await ask(client, **{"input": [QUESTION], **options})
    assert response.output_text == "yes"
    assert server.refusals == []


async def test_a_picture_in_a_tool_result_arrives_whole() -> None:
    picture = png(5, 7)
    result = {**RESULT, "output": [_image(data_uri(picture))]}
    async with StrictServer("openai", ["nice"]) as server, client_of(server) as client:
        await ask(client, input=[QUESTION, CALL, result])
        assert [attachment.data for attachment in server.attachments] == [picture]


async def test_failures_refusals_and_cut_replies_in_a_stream() -> None:
    script = [
        Output("It is", error="The server had an error"),
        Output(refusal="I cannot help with that."),
        Output("It is", cut=True),
    ]
    async with StrictServer("openai", script) as server, client_of(server) as client:
        stream = await client.responses.create(model=MODEL, input="hi", stream=True)
        failed = [event async for event in stream][-1]
        refused = await ask(client, stream=True, input="hi")
        stream = await client.responses.create(model=MODEL, input="hi", stream=True)
        cut = [event async for event in stream][-1]
        with pytest.raises(APIError):
            await ask(client, store="maybe", input=5)
    assert failed.type == "response.failed"
    assert failed.response.error is not None
    assert failed.response.error.message == "The server had an error"
    assert refused.output[0].content[0].refusal == "I cannot help with that."
    assert cut.type == "response.incomplete"
    assert cut.response.incomplete_details is not None
    assert cut.response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("stream", [False, True])
async def test_reasoning_between_calls_comes_back_in_its_order(*, stream: bool) -> None:
    two = Output(reasoning="One.", calls=[ADD], then=Output(reasoning="Two.", calls=[ADD]))
    async with StrictServer("openai", [two, ANSWER]) as server, client_of(server) as client:
        response = await ask(client, stream=stream, input=[QUESTION])
        items = answered(response)
        assert [item["type"] for item in items[:4]] == ["reasoning", "function_call"] * 2
        await ask(client, stream=stream, input=[QUESTION, *items])
        assert (server.refusals, server.losses) == ([], [])
        without_second = [QUESTION, *items[:2], *items[3:]]
        with pytest.raises(APIStatusError, match="without its required"):
            await ask(client, input=without_second)


async def test_the_same_text_twice_is_two_turns() -> None:
    again = Output("Wait.", reasoning="Not yet.")
    async with (
        StrictServer("openai", [again, again, ANSWER]) as server,
        client_of(server) as client,
    ):
        items = [QUESTION]
        for _ in range(3):
            items += [*answered(await ask(client, input=items)), QUESTION]
        for item in items:
            item.pop("id", None) if item.get("role") == "assistant" else None
        await ask(client, input=items)
        assert (server.refusals, server.losses) == ([], [])

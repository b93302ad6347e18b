"""Complete tool loops through Google's own client, and what the server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from tests.tinyagent.testing.strict.support import (
    ADD,
    ANSWER,
    PARAMETERS,
    THINKS_AND_ADDS,
    Json,
    base64_of,
    png,
    post,
)

from tinyagent.testing import Output, StrictServer, describe

MODEL = "gemini-3-flash"
# What the client itself does:
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
PATH = f"/v1beta/models/{MODEL}:generateContent"
DUMMY = "skip_thought_signature_validator"
QUESTION: Json = {"role": "user", "parts": [{"text": "What is 1 + 2?"}]}
CALL: Json = {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": DUMMY}
RESULT: Json = {"functionResponse": {"name": "add", "response": {"output": 3}}}


@asynccontextmanager
async def client_of(server: StrictServer) -> AsyncIterator[genai.client.AsyncClient]:
    options = types.HttpOptions(base_url=server.url)
    client = genai.Client(api_key="k", http_options=options)
    try:
        yield client.aio
    finally:
        await client.aio.aclose()
        client.close()


def config(**more: Any) -> types.GenerateContentConfig:
    function = types.FunctionDeclaration(name="add", parameters_json_schema=PARAMETERS)
    tools: Any = [types.Tool(function_declarations=[function])]
    off = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(tools=tools, automatic_function_calling=off, **more)


async def ask(client: Any, contents: Any, *, stream: bool, **more: Any) -> Any:
    """The parts of one turn of the model, and its usage."""
    options: Any = {"model": MODEL, "contents": contents, "config": config(**more)}
    if not stream:
        response = await client.models.generate_content(**options)
        return response.candidates[0].content.parts, response.usage_metadata
    parts: list[types.Part] = []
    usage = None
    async for chunk in await client.models.generate_content_stream(**options):
        parts += chunk.candidates[0].content.parts
        usage = chunk.usage_metadata
    return parts, usage


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_loop_is_accepted(*, stream: bool) -> None:
    both = Output("Now both.", "I need both.", [ADD, ADD])
    async with (
        StrictServer("gemini", [THINKS_AND_ADDS, both, ANSWER]) as server,
        client_of(server) as client,
    ):
        contents: list[Any] = [types.UserContent("What is 1 + 2?")]
        parts: list[Any] = []
        shown = types.ThinkingConfig(include_thoughts=True)
        for step in range(3):
            parts, usage = await ask(client, contents, stream=stream, thinking_config=shown)
            assert usage.thoughts_token_count > 0
            assert bool(usage.cached_content_token_count) == (step > 0)
            contents.append(types.ModelContent(parts))
            calls = [part.function_call for part in parts if part.function_call]
            results = [
                types.Part.from_function_response(name=call.name, response={"output": 3})
                for call in calls
            ]
            if results:
                contents.append(types.UserContent(results))
        assert "".join(p.text for p in parts if p.text and not p.thought) == "It is 3."
        assert "".join(p.text for p in parts if p.thought) == "That was easy."
        assert any(part.thought_signature for part in parts)
        assert server.refusals == []


async def test_a_call_needs_its_signature_in_the_current_turn_only() -> None:
    async with (
        StrictServer("gemini", [THINKS_AND_ADDS, ANSWER]) as server,
        client_of(server) as client,
    ):
        parts, _ = await ask(client, "What is 1 + 2?", stream=False)
        bare = {"functionCall": parts[0].function_call.model_dump(exclude_none=True)}
        result = {"role": "user", "parts": [RESULT]}
        history = [QUESTION, {"role": "model", "parts": [bare]}, result]
        with pytest.raises(errors.ClientError, match="missing a thought_signature"):
            await ask(client, history, stream=False)
        await ask(client, [*history, QUESTION], stream=False)
        signature = parts[0].thought_signature
        other = {"functionCall": {"name": "add", "args": {}}, "thoughtSignature": signature}
        history[1] = {"role": "model", "parts": [other]}
        with pytest.raises(errors.ClientError, match="Corrupted thought signature"):
            await ask(client, history, stream=False)


async def test_a_refusal_is_an_error_of_the_client() -> None:
    async with StrictServer("gemini", ["never"]) as server, client_of(server) as client:
        for stream in (False, True):
            with pytest.raises(errors.ClientError) as caught:
                await ask(client, [{"role": "user", "parts": [RESULT]}], stream=stream)
            assert caught.value.code == 400
            assert caught.value.status == "INVALID_ARGUMENT"
        assert len(server.refusals) == 2


def _contents(*contents: Json) -> Json:
    return {"contents": list(contents)}


def _model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def _user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def _tool(**function: Any) -> Json:
    return {"contents": [QUESTION], "tools": [{"functionDeclarations": [function]}]}


def _config(**settings: Any) -> Json:
    return {"contents": [QUESTION], "generationConfig": settings}


def _image(data: str, mime: str = "image/png") -> Json:
    return {"inlineData": {"mimeType": mime, "data": data}}


CONST = {"type": "object", "properties": {"a": {"const": 1}}}
JSON = "application/json"
LINKED = {"type": "object", "properties": {"n": {"$ref": "#"}}}
BOTH = {"thinkingLevel": "LOW", "thinkingBudget": 5}

REFUSED: list[tuple[str, Json, str]] = [
    ("an unknown key", {"contents": [QUESTION], "messages": []}, 'Unknown name "messages"'),
    ("no contents", {"contents": []}, "contents is not specified"),
    ("a role", _contents({"role": "assistant", "parts": [{"text": "x"}]}), "valid role"),
    ("no parts", _contents(_user()), "must not be empty"),
    ("an empty part", _contents(_user({})), "must have one initialized field"),
    ("a part with two", _contents(_user({"text": "x", **RESULT})), "one initialized field"),
    ("a part's key", _contents(_user({"text": "x", "type": "text"})), 'Unknown name "type"'),
    ("an orphan", _contents(QUESTION, _user(RESULT)), "function response turn comes immediately"),
    ("a missing result", _contents(QUESTION, _model(CALL), QUESTION), "number of function"),
    ("a result too few", _contents(QUESTION, _model(CALL, CALL), _user(RESULT)), "number of"),
    ("a mixed turn", _contents(QUESTION, _model(CALL), _user(RESULT, {"text": "x"})), "number of"),
    ("a call first", _contents(_model(CALL), _user(RESULT)), "function call turn comes"),
    ("a call twice", _contents(QUESTION, _model({"text": "x"}), _model(CALL)), "call turn"),
    ("calls at the end", _contents(QUESTION, _model(CALL)), "number of function"),
    ("a tool name", _tool(name="1 add"), "Invalid function name"),
    ("a tool's root", _tool(name="add", parametersJsonSchema={"type": "string"}), "type object"),
    ("a keyword", _tool(name="add", parametersJsonSchema=CONST), "'const' is not permitted"),
    ("a schema alone", _config(responseJsonSchema=PARAMETERS), "response_mime_type"),
    ("a schema", _config(responseMimeType=JSON, responseJsonSchema=CONST), "'const'"),
    ("level and budget", _config(thinkingConfig=BOTH), "one of"),
    ("a level", _config(thinkingConfig={"thinkingLevel": "HUGE"}), "thinking_level"),
    ("base64", _contents(_user(_image("no base64!"))), "TYPE_BYTES"),
    ("half a picture", _contents(_user(_image(base64_of(png()[:30])))), "Unable to process input"),
    ("no media type", _contents(_user(_image(base64_of(png()), ""))), "no mime_type"),
]

ACCEPTED: list[tuple[str, Json]] = [
    ("a loop with a dummy signature", _contents(QUESTION, _model(CALL), _user(RESULT))),
    ("snake case", {"contents": [QUESTION], "generation_config": {"temperature": 0}}),
    ("a tool name with a dot", _tool(name="add.it")),
    ("a tool", _tool(name="add", parametersJsonSchema=PARAMETERS)),
    ("a schema", _config(responseMimeType=JSON, responseJsonSchema=LINKED)),
    ("a picture", _contents(_user(_image(base64_of(png()))))),
    ("a level", _config(thinkingConfig={"thinkingLevel": "LOW"})),
]


@pytest.mark.parametrize(("body", "wording"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
async def test_it_refuses(body: Json, wording: str) -> None:
    async with StrictServer("gemini", ["never"]) as server:
        status, reply = await post(server, PATH, body, headers={"x-goog-api-key": "k"})
    assert status == 400
    assert wording in reply["error"]["message"]
    assert reply["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("body", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
async def test_it_accepts(body: Json) -> None:
    async with StrictServer("gemini", ["yes"]) as server:
        status, reply = await post(server, PATH, body, headers={"x-goog-api-key": "k"})
    assert status == 200, reply
    assert reply["candidates"][0]["content"]["parts"][0]["text"] == "yes"


@pytest.mark.parametrize(
    ("model", "settings", "status"),
    [
        ("gemini-2.5-flash", {"thinkingLevel": "LOW"}, 400),
        ("gemini-2.5-flash", {"thinkingBudget": 0}, 200),
        ("gemini-2.5-pro", {"thinkingBudget": 0}, 400),
        ("gemini-3-pro", {"thinkingLevel": "MINIMAL"}, 400),
        ("gemini-3-flash", {"thinkingLevel": "MINIMAL"}, 200),
    ],
)
async def test_thinking_is_set_as_the_model_takes_it(
    model: str, settings: Json, status: int
) -> None:
    async with StrictServer("gemini", ["yes"]) as server:
        path = f"/v1beta/models/{model}:generateContent?key=k"
        body = {"contents": [QUESTION], "generationConfig": {"thinkingConfig": settings}}
        assert (await post(server, path, body, headers={}))[0] == status


@pytest.mark.parametrize(("model", "status"), [("gemini-2.5-flash", 400), (MODEL, 200)])
async def test_a_picture_in_a_result_is_for_newer_models(model: str, status: int) -> None:
    picture = png(5, 7)
    parts = [_image(base64_of(picture))]
    result = {"functionResponse": {**RESULT["functionResponse"], "parts": parts}}
    async with StrictServer("gemini", describe) as server:
        body = _contents(QUESTION, _model(CALL), _user(result))
        path = f"/v1beta/models/{model}:generateContent"
        got, reply = await post(server, path, body, headers={"x-goog-api-key": "k"})
        assert got == status
        if status == 200:
            assert server.attachments[0].data == picture
            text = reply["candidates"][0]["content"]["parts"][0]["text"]
            assert text.startswith(f"image/png 5x7, {len(picture)} bytes, sha256 ")


async def test_signatures_are_optional_for_older_models() -> None:
    bare = {"functionCall": CALL["functionCall"]}
    async with StrictServer("gemini", ["yes"]) as server:
        path = "/v1beta/models/gemini-2.5-flash:generateContent"
        body = _contents(QUESTION, _model(bare), _user(RESULT))
        assert (await post(server, path, body, headers={"x-goog-api-key": "k"}))[0] == 200

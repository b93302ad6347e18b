"""Keys, ids and parts of another form than documented, sent as they are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tinyagent.testing.strict import test_anthropic as claude
from tests.tinyagent.testing.strict import test_chat_rules as chat
from tests.tinyagent.testing.strict import test_gemini as gemini
from tests.tinyagent.testing.strict import test_responses as responses
from tests.tinyagent.testing.strict.support import PARAMETERS, Json, post, tool

from tinyagent.testing import Output, StrictServer

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
MESSAGES: Json = {"model": claude.MODEL, "max_tokens": 2000, "messages": [claude.QUESTION]}
CHAT: Json = {"model": "gpt-4.1", "messages": [chat.USER]}
ITEMS: Json = {"model": responses.MODEL, "input": [responses.QUESTION], "store": False}
CONTENTS: Json = {"contents": [gemini.QUESTION]}
OLD = "claude-haiku-4-5"


def _result(**more: Any) -> Json:
    return claude._results({**claude.RESULT, **more})


def _calling(*calls: Json) -> Json:
    turn = {"role": "assistant", "content": list(calls)}
    return {"messages": [claude.QUESTION, turn, claude.QUESTION]}


def _called(**function: Any) -> Json:
    calls = [{"id": "c", "type": "function", "function": function}]
    return chat._messages(chat.USER, {"role": "assistant", "tool_calls": calls})


def _responding(**response: Any) -> Json:
    part = {"functionResponse": response}
    return gemini._contents(gemini.QUESTION, gemini._model(gemini.CALL), gemini._user(part))


def _mark(**control: Any) -> Json:
    return claude._user({**claude.TEXT, "cache_control": control})


BOTH: Json = {"name": "add", "parameters": {"type": "OBJECT"}, "parametersJsonSchema": PARAMETERS}
SUB = {"type": "function", "function": {"name": "sub"}}
LOOSE = {key: value for key, value in responses.TOOL.items() if key != "strict"}
NAMELESS = {"type": "json_schema", "json_schema": {"schema": PARAMETERS}}
OFF = {"type": "disabled"}
ODD: Json = {"type": "image", "source": {"type": "path"}}
TRAILING: Json = {"role": "assistant", "content": "It is "}
MESSAGES_REFUSED: list[tuple[Json, str]] = [
    ({"tools": [claude.TOOL] * 2}, "Tool names must be unique"),
    ({"tools": [claude.TOOL], "tool_choice": {"type": "required"}}, "Input tag must be one of"),
    ({"tools": [{"name": "add"}]}, "tools.0.custom.input_schema: Field required"),
    (claude._user({"type": "text"}), "Input should be a valid string"),
    (claude._user(ODD), "Input tag 'path' is not expected"),
    (claude._user(claude.CALL), "Input tag 'tool_use' is not expected"),
    (_mark(type="forever"), "'ephemeral'"),
    (_mark(type="ephemeral", ttl="2h"), "Input should be '5m' or '1h'"),
    ({"messages": [{**claude.QUESTION, "name": "x"}]}, "messages.0.name: Extra inputs"),
    (_calling({**claude.CALL, "id": "a b"}), "tool_use.id: String should match pattern"),
    (_calling({**claude.CALL, "input": "{}"}), "Input should be a valid dictionary"),
    (_calling(claude.CALL, claude.CALL), "`tool_use` ids must be unique"),
    (_result(tool_use_id=""), "tool_use_id: String should match pattern"),
    (_result(content=[]), "content must not be empty"),
    (_result(content=[{"type": "thinking"}]), "Input tag 'thinking' is not expected"),
    (claude._results(claude.RESULT, claude.RESULT), "must have a single result"),
    ({"model": OLD, "messages": [claude.QUESTION, TRAILING]}, "cannot end with trailing"),
    ({"thinking": {"type": "enabled"}}, "budget_tokens: Field required"),
    ({"thinking": {"type": "enabled", "budget_tokens": "x"}}, "budget_tokens: Input should be a"),
    ({"max_tokens": "x"}, "max_tokens: Input should be a valid integer"),
    (
        {"model": "claude-opus-5", "thinking": OFF, "output_config": {"effort": "max"}},
        "effort 'max' is not supported",
    ),
]
CHAT_REFUSED: list[tuple[Json, str]] = [
    ({"tools": [{"type": "function"}]}, "Missing required parameter: 'tools[0].function.name'"),
    ({"tools": [tool()], "tool_choice": SUB}, "Tool choice 'sub' not found"),
    ({"response_format": NAMELESS}, "'response_format.json_schema.name'"),
    (chat._messages({**chat.ASSISTANT, "tool_calls": []}), "empty array"),
    (_called(name="add", arguments={}), "expected a string"),
    (_called(arguments="{}"), "Missing required parameter"),
]
ITEMS_REFUSED: list[tuple[Json, str]] = [
    ({"model": ""}, "Missing required parameter: 'model'"),
    ({"model": "gpt-4.1", "reasoning": {"summary": "auto"}}, "'reasoning' is not supported"),
    ({"max_output_tokens": "x"}, "'max_output_tokens': expected an integer"),
    ({"tools": [LOOSE]}, "Missing required parameter: 'tools[0].strict'"),
    ({"input": [{"role": "tool", "content": "3"}]}, "Invalid value: 'tool'"),
    ({"input": [{"type": "function_call", "call_id": "c"}]}, "'input[0].name'"),
    ({"input": [{"type": "item_reference", "id": "rs_1"}]}, "Items are not persisted"),
]
CONTENTS_REFUSED: list[tuple[Json, str]] = [
    ({"toolConfig": {"functionCallingConfig": {"mode": "MAYBE"}}}, "function_calling_config.mode"),
    (gemini._tool(**BOTH), "mutually exclusive"),
    ({"contents": [{**gemini.QUESTION, "content": "x"}]}, 'Unknown name "content"'),
    (gemini._contents(gemini._model({"functionCall": {"name": ""}})), "Name cannot be empty"),
    (_responding(response={}), "Name cannot be empty"),
    (_responding(name="add", response="3"), "function_response.response"),
    (_responding(name="sub", response={}), "does not match a function call"),
    (_responding(name="add", id="other", response={}), "does not match a function call"),
]
ROWS = [
    *(("anthropic", "/v1/messages", {**MESSAGES, **body}, text) for body, text in MESSAGES_REFUSED),
    *(("openai", "/v1/chat/completions", {**CHAT, **body}, text) for body, text in CHAT_REFUSED),
    *(("openai", "/v1/responses", {**ITEMS, **body}, text) for body, text in ITEMS_REFUSED),
    *(("gemini", gemini.PATH, {**CONTENTS, **body}, text) for body, text in CONTENTS_REFUSED),
]


@pytest.mark.parametrize(("provider", "path", "body", "wording"), ROWS, ids=[r[3] for r in ROWS])
async def test_it_refuses(provider: str, path: str, body: Json, wording: str) -> None:
    async with StrictServer(provider, ["never"]) as server:
        status, reply = await post(server, path, body, headers=HEADERS)
    assert status == (404 if "persisted" in wording else 400), reply
    assert wording in reply["error"]["message"]


@pytest.mark.parametrize(
    ("provider", "path", "body"),
    [
        ("anthropic", "/v1/messages", MESSAGES),
        ("openai", "/v1/chat/completions", CHAT),
        ("openai", "/v1/responses", ITEMS),
        ("gemini", gemini.PATH, CONTENTS),
    ],
)
async def test_a_failure_of_the_provider_is_its_own_status(
    provider: str, path: str, body: Json
) -> None:
    async with StrictServer(provider, [Output(error="is down"), "up"]) as server:
        status, reply = await post(server, path, body, headers=HEADERS)
        assert status >= 500
        assert reply["error"]["message"] == "is down"
        assert (await post(server, path, body, headers=HEADERS))[0] == 200
        assert server.refusals == []


async def test_another_model_does_not_see_the_thoughts() -> None:
    thinks = Output("Hm.", reasoning="I think.")
    async with StrictServer("anthropic", [thinks]) as server:
        body = {**MESSAGES, "thinking": {"type": "adaptive"}}
        _, reply = await post(server, "/v1/messages", body, headers=HEADERS)
        turn = {"role": "assistant", "content": reply["content"]}
        again = {**body, "messages": [claude.QUESTION, turn, claude.QUESTION]}
        other = {**again, "model": "claude-opus-4-8"}
        assert (await post(server, "/v1/messages", other, headers=HEADERS))[0] == 200
        assert "are not shown to claude-opus-4-8" in server.losses[0]
    async with StrictServer("openai", [thinks]) as server:
        _, reply = await post(server, "/v1/responses", ITEMS)
        again = {**ITEMS, "input": [*ITEMS["input"], *reply["output"], *ITEMS["input"]]}
        assert (await post(server, "/v1/responses", {**again, "model": "o4-mini"}))[0] == 200
        assert "is removed for o4-mini" in server.losses[0]


async def test_gemini_refuses_arguments_that_are_not_json() -> None:
    async with StrictServer("gemini", ["never"]) as server:
        body = {**_called(name="add", arguments="{"), "model": "gemini-3-flash"}
        body["messages"] += [chat._result("c")]
        _, reply = await post(server, "/v1beta/openai/chat/completions", body)
    assert reply[0]["error"]["message"] == "Function call arguments are not valid JSON."

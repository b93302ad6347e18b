"""Chat completions: each rule both ways, sent as it is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tinyagent.testing.strict.support import (
    ADD,
    ANSWER,
    PARAMETERS,
    THINKS_AND_ADDS,
    Json,
    data_uri,
    png,
    post,
    tool,
)

from tinyagent.testing import Output, StrictServer, describe
from tinyagent.testing.strict.chat.rules import CHAT

MODELS = {"openai": "gpt-4.1", "gemini": "gemini-3-flash"}
USER: Json = {"role": "user", "content": "hi"}
ASSISTANT: Json = {"role": "assistant", "content": "hello"}


def _call(name: str = "call_1", **more: Any) -> Json:
    function = {"name": "add", "arguments": '{"a": 1}'}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls, **more}


def _result(name: str = "call_1", content: Any = "3") -> Json:
    return {"role": "tool", "tool_call_id": name, "content": content}


def _messages(*messages: Json) -> Json:
    return {"messages": list(messages)}


def _image(url: Any, role: str = "user", **more: Any) -> Json:
    part = {"type": "image_url", "image_url": url}
    return _messages({"role": role, "content": [part], **more})


async def said_to(provider: str, body: Json, script: Any = ("yes",)) -> tuple[int, Any]:
    whole: Json = {"model": MODELS.get(provider, "some-model"), "messages": [USER], **body}
    async with StrictServer(provider, script) as server:
        path = f"{CHAT[provider].base}/chat/completions"
        return await post(server, path, whole)


SIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
FOREIGN = _call()
FOREIGN["tool_calls"] = [{**FOREIGN["tool_calls"][0], **SIGNED}]
PNG = {"url": data_uri(png())}
HALF = {"url": data_uri(png()[:30])}
OPEN = {**PARAMETERS, "additionalProperties": True}
THINKING_OFF = {"thinking": {"type": "disabled"}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "sum", "schema": OPEN, "strict": True}}
ROOT = {"type": "json_schema", "json_schema": {"name": "sum", "schema": {"anyOf": []}}}
FORMAT_OK = {"type": "json_schema", "json_schema": {"name": "sum", "schema": OPEN}}
OBJECT = {"type": "json_object"}
JSON_ASKED = _messages({"role": "user", "content": "in JSON"})
LAST = _result()
PAIR = (_call(), LAST)
NINE = (_call("abc123DEF"), _result("abc123DEF"))
RC = "reasoning_content"
TEXT: Json = {"type": "text", "text": "3"}
FORCED: Json = {"tools": [tool()], "tool_choice": "required"}

REFUSED: list[tuple[str, str, Json, str]] = [
    ("openai", "an unknown key", {"top_k": 5}, "Unknown parameter: 'top_k'."),
    ("openai", "a message's key", _messages(USER, {**ASSISTANT, RC: ""}, USER), f"[1].{RC}'."),
    ("openai", "no messages", {"messages": []}, "Missing required parameter: 'messages'."),
    ("openai", "text as messages", {"messages": "hi"}, "expected an array of objects"),
    ("openai", "a role", _messages({"role": "human", "content": "hi"}), "Invalid value: 'human'"),
    ("openai", "no content", _messages({"role": "user", "content": None}), "got null"),
    ("openai", "an empty turn", _messages(USER, {"role": "assistant"}, USER), "got null"),
    ("openai", "no stream", {"stream_options": {"include_usage": True}}, "'stream' is enabled"),
    ("openai", "no tools", {"tools": []}, "empty array"),
    ("openai", "many tools", {"tools": [tool(f"t{n}") for n in range(129)]}, "maximum length 128"),
    ("openai", "a choice alone", {"tool_choice": "none"}, "only allowed when 'tools'"),
    ("openai", "parallel alone", {"parallel_tool_calls": False}, "only allowed when 'tools'"),
    ("openai", "a tool name", {"tools": [tool("add.it")]}, "does not match pattern"),
    ("openai", "a long name", {"tools": [tool("x" * 65)]}, "does not match pattern"),
    ("openai", "a root", {"tools": [tool(parameters={"anyOf": []})]}, "got 'type: \"None\"'"),
    ("openai", "a loose tool", {"tools": [tool(parameters=OPEN, strict=True)]}, "In context=()"),
    ("openai", "a choice", {"tools": [tool()], "tool_choice": "any"}, "Supported values"),
    ("openai", "a loose schema", {"response_format": SCHEMA}, "Invalid schema for response_format"),
    ("openai", "a schema's root", {"response_format": ROOT}, "got 'type: \"None\"'"),
    ("openai", "no word JSON", {"response_format": OBJECT}, "must contain the word 'json'"),
    ("openai", "an orphan", _messages(USER, LAST), "must be a response to a preceeding message"),
    ("openai", "another id", _messages(USER, _call(), _result("x")), "'x' not found"),
    ("openai", "no result", _messages(USER, _call(), USER), "did not have response messages: call"),
    ("openai", "calls at the end", _messages(USER, _call()), "must be followed by tool messages"),
    ("openai", "a picture as text", _image("https://x/y.png"), "expected an object"),
    ("openai", "half a picture", _image(HALF), "Could not process image"),
    ("openai", "no data URI", _image({"url": "data:hello"}), "Expected a base64-encoded data URL"),
    ("openai", "a wrong type", _image({"url": data_uri(png(), "image/gif")}), "image/png image"),
    ("openai", "a picture's role", _image(PNG, "system"), "only allowed for messages with role"),
    ("openai", "a part", _messages({"role": "user", "content": [{"type": "image"}]}), "'image'"),
    (
        "openai",
        "a picture in a result",
        _messages(USER, _call(), _result(content=[{"type": "image_url", "image_url": PNG}])),
        "this message with role 'tool' contains an image URL",
    ),
    ("deepseek", "no thoughts", {**_messages(USER, *PAIR)}, "must be passed back to the API."),
    (
        "deepseek",
        "a text turn without thoughts",
        {"tools": [tool()], **_messages(USER, ASSISTANT)},
        "must be passed back to the API.",
    ),
    ("deepseek", "a schema", {"response_format": FORMAT_OK}, "response_format type is unavailable"),
    ("kimi", "no thoughts", _messages(USER, *PAIR), "assistant tool call message at index 1"),
    ("kimi", "empty thoughts", _messages(USER, _call(**{RC: ""}), LAST), "at index 1"),
    ("kimi", "force", FORCED, "incompatible with thinking"),
    ("kimi", "keep", {"thinking": {"type": "enabled", "keep": "all"}}, "thinking.keep"),
    ("gemini", "no signature", _messages(USER, *PAIR), "`default_api:add` , position 2."),
    ("gemini", "no result", _messages(USER, FOREIGN, USER), "number of function response parts"),
    ("gemini", "an orphan", _messages(USER, LAST), "function response turn comes immediately"),
    ("mistral", "a key", {"stream_options": {}, "stream": True}, "Extra inputs are not permitted"),
    ("mistral", "a limit", {"max_completion_tokens": 5}, "Extra inputs are not permitted"),
    ("mistral", "a name", _messages({**USER, "name": "x"}), "Extra inputs are not permitted"),
    ("mistral", "thoughts", _messages(USER, {**ASSISTANT, RC: "x"}, USER), "Extra inputs"),
    ("mistral", "no tools", {"tools": []}, "empty array"),
    ("mistral", "an id", _messages(USER, *PAIR), "Tool call id was call_1 but must be"),
    ("mistral", "user after tool", _messages(USER, *NINE, USER), "'user' after role 'tool'"),
    ("mistral", "an assistant last", _messages(USER, ASSISTANT), "got assistant"),
    ("mistral", "no result", _messages(USER, NINE[0], USER), "Not the same number of function"),
    (
        "mistral",
        "an empty turn",
        _messages(USER, {"role": "assistant", "content": ""}, USER),
        "must have either content or tool_calls",
    ),
    ("ollama", "an address", _image({"url": "https://example.com/a.png"}), "invalid image input"),
    ("groq", "a large picture", _image({"url": data_uri(png() + b"\0" * (5 << 20))}), "exceeds 4"),
]

ACCEPTED: list[tuple[str, str, Json]] = [
    ("openai", "a loop", _messages(USER, _call(content=None), LAST, ASSISTANT, USER)),
    ("openai", "a picture", _image(PNG)),
    ("openai", "a picture by its address", _image({"url": "https://example.com/a.png"})),
    ("openai", "sampling", {"temperature": 0, "top_p": 0.5, "max_tokens": 5}),
    ("openai", "a strict tool", {"tools": [tool(strict=True)], "tool_choice": "required"}),
    ("openai", "a loose tool", {"tools": [tool(parameters=OPEN)]}),
    ("openai", "a loose schema", {"response_format": FORMAT_OK}),
    ("openai", "the word JSON", {**JSON_ASKED, "response_format": OBJECT}),
    ("openai", "a result in parts", _messages(USER, _call(), _result(content=[TEXT]))),
    ("deepseek", "empty thoughts", _messages(USER, _call(**{RC: ""}), LAST)),
    ("deepseek", "an old text turn", {"tools": [tool()], **_messages(USER, ASSISTANT, USER)}),
    ("deepseek", "no thinking", {**THINKING_OFF, **_messages(USER, *PAIR)}),
    ("deepseek", "an unknown key", {"top_k": 5}),
    ("deepseek", "an object", {**JSON_ASKED, "response_format": OBJECT}),
    ("kimi", "foreign thoughts", _messages(USER, _call(**{RC: "I add."}), LAST)),
    ("kimi", "no thinking", {**THINKING_OFF, **_messages(USER, *PAIR)}),
    ("kimi", "force without thinking", {**THINKING_OFF, **FORCED}),
    ("gemini", "a dummy signature", _messages(USER, FOREIGN, LAST)),
    ("gemini", "an old turn without signature", _messages(USER, *PAIR, ASSISTANT, USER)),
    ("mistral", "a loop", _messages(USER, *NINE, ASSISTANT, USER)),
    ("mistral", "a picture", _image(data_uri(png()))),
    ("mistral", "a prefix", _messages(USER, {**ASSISTANT, "prefix": True})),
    ("ollama", "calls without ids", _messages(USER, _call(None), {"role": "tool", "content": "3"})),  # type: ignore[arg-type]
    ("ollama", "a picture", _image(data_uri(png()))),
    ("vllm", "an unknown key", {"chat_template_kwargs": {"enable_thinking": True}}),
]


@pytest.mark.parametrize(
    ("provider", "body", "wording"),
    [(row[0], row[2], row[3]) for row in REFUSED],
    ids=[f"{row[0]}: {row[1]}" for row in REFUSED],
)
async def test_it_refuses(provider: str, body: Json, wording: str) -> None:
    status, reply = await said_to(provider, body)
    forbidden = provider == "mistral" and wording.startswith(("Extra", "empty"))
    assert status == (422 if forbidden else 400), reply
    assert wording in str(reply).replace("\\'", "'")


@pytest.mark.parametrize(
    ("provider", "body"),
    [(row[0], row[2]) for row in ACCEPTED],
    ids=[f"{row[0]}: {row[1]}" for row in ACCEPTED],
)
async def test_it_accepts(provider: str, body: Json) -> None:
    status, reply = await said_to(provider, body)
    assert status == 200, reply
    assert reply["choices"][0]["message"]["content"] == "yes"


TOOLS = {"tools": [tool()]}
NO_TOOLS = "Function tools with reasoning_effort are not supported for"
HEAT = {"temperature": 0}


@pytest.mark.parametrize(
    ("model", "body", "wording"),
    [
        ("gpt-5.6-terra", TOOLS, NO_TOOLS),
        ("gpt-5.6-terra", {**TOOLS, "reasoning_effort": "none"}, ""),
        ("gpt-5.5", TOOLS, NO_TOOLS),
        ("gpt-5.4", {**TOOLS, "reasoning_effort": "low"}, NO_TOOLS),
        ("gpt-5.4", TOOLS, ""),
        ("gpt-5", TOOLS, ""),
        ("gpt-5", HEAT, "'temperature' does not support 0 with this model"),
        ("gpt-5", {"temperature": 1}, ""),
        ("gpt-5.6-sol", {"top_p": 0.5}, "'top_p' is not supported"),
        ("gpt-5.6-sol", {**HEAT, "reasoning_effort": "none"}, ""),
        ("gpt-5.2", HEAT, ""),
        ("gpt-5.2", {**HEAT, "reasoning_effort": "low"}, "'temperature' does not support"),
        ("o3", {"max_tokens": 5}, "Use 'max_completion_tokens' instead."),
        ("o3", {"max_completion_tokens": 5}, ""),
        ("gpt-5.6-sol", {"reasoning_effort": "minimal"}, "does not support 'minimal'"),
        ("gpt-5", {"reasoning_effort": "minimal"}, ""),
        ("gpt-4.1", {"reasoning_effort": "low"}, "'reasoning_effort' is not supported"),
    ],
)
async def test_models_of_openai_that_reason(model: str, body: Json, wording: str) -> None:
    status, reply = await said_to("openai", {"model": model, **body})
    assert status == (400 if wording else 200)
    assert wording in str(reply.get("error"))


@pytest.mark.parametrize(
    ("provider", "form"),
    [
        ("openai", {"error": {"type": "invalid_request_error", "code": None}}),
        ("gemini", [{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}]),
        ("mistral", {"object": "error", "code": "3230", "type": "invalid_request_message_order"}),
        ("openrouter", {"error": {"code": 400}, "user_id": "user_mock"}),
    ],
)
async def test_errors_have_the_form_of_the_provider(provider: str, form: Any) -> None:
    _, reply = await said_to(provider, _messages(USER, _result("abc123DEF")))
    found, wanted = (reply[0], form[0]) if isinstance(form, list) else (reply, form)
    for key, value in wanted.items():
        kept = {k: found[key][k] for k in value} if isinstance(value, dict) else found[key]
        assert kept == value


async def test_mistral_lists_unknown_keys() -> None:
    _, reply = await said_to("mistral", _messages({**USER, "name": "x"}))
    assert reply["message"]["detail"][0]["loc"] == ["body", "messages", 0, "user", "name"]


async def _second_step(provider: str, model: str, edit: Any) -> tuple[list[str], list[str]]:
    """What is refused and lost when a turn of the server comes back edited."""
    async with StrictServer(provider, [THINKS_AND_ADDS, "done"]) as server:
        path = f"{CHAT[provider].base}/chat/completions"
        asked: Json = {"model": model, "messages": [USER], "tools": [tool()]}
        _, reply = await post(server, path, asked)
        message = reply["choices"][0]["message"]
        edit(message)
        result = _result(message["tool_calls"][0]["id"])
        await post(server, path, {**asked, "messages": [USER, message, result]})
        return server.refusals, server.losses


def _drop(*names: str) -> Any:
    def edit(message: Json) -> None:
        for name in names:
            del message[name]

    return edit


def _alter_details(message: Json) -> None:
    message["reasoning_details"][0]["text"] = "Something else."


def _alter_signature(message: Json) -> None:
    message["tool_calls"][0]["extra_content"]["google"]["thought_signature"] = "AAAA"


def _alter_arguments(message: Json) -> None:
    message["tool_calls"][0]["function"]["arguments"] = "{}"


@pytest.mark.parametrize(
    ("provider", "model", "edit", "wording"),
    [
        ("deepseek", "deepseek-v4", _drop("reasoning_content"), "must be passed back"),
        ("gemini", "gemini-3-pro", _alter_signature, "Corrupted thought signature"),
        ("gemini", "gemini-3-pro", _alter_arguments, "Corrupted thought signature"),
        ("openrouter", "google/gemini-3-pro", _drop("reasoning_details"), "returned error"),
        ("openrouter", "deepseek/deepseek-v4", _drop("reasoning_details"), "returned error"),
        ("openrouter", "anthropic/claude-opus-5", _alter_details, "returned error"),
    ],
)
async def test_thoughts_must_come_back(provider: str, model: str, edit: Any, wording: str) -> None:
    refusals, _ = await _second_step(provider, model, edit)
    assert len(refusals) == 1
    assert wording in refusals[0]


def _split_details(message: Json) -> None:
    (detail,) = message["reasoning_details"]
    first, rest = {**detail, "text": detail["text"][:5]}, {**detail, "text": detail["text"][5:]}
    del first["signature"]
    message["reasoning_details"] = [first, rest]


async def test_details_may_come_back_in_the_pieces_of_a_stream() -> None:
    assert await _second_step("openrouter", "anthropic/claude-opus-5", _split_details) == ([], [])


@pytest.mark.parametrize(
    ("provider", "model", "edit"),
    [
        ("openrouter", "anthropic/claude-opus-5", _drop("reasoning_details", "reasoning")),
        ("vllm", "qwen", _drop("reasoning")),
        ("ollama", "qwen", _drop("reasoning")),
        ("minimax", "m2", _drop("content")),
    ],
)
async def test_some_only_lose_them(provider: str, model: str, edit: Any) -> None:
    refusals, losses = await _second_step(provider, model, edit)
    assert refusals == []
    assert len(losses) == 1
    _, losses = await _second_step(provider, model, lambda message: message)
    assert losses == []


async def test_a_picture_arrives_whole() -> None:
    picture = png(5, 7)
    status, reply = await said_to("openai", _image({"url": data_uri(picture)}), describe)
    assert status == 200
    text = reply["choices"][0]["message"]["content"]
    assert text.startswith(f"image/png 5x7, {len(picture)} bytes, sha256 ")


async def test_a_refusal_of_the_model_and_a_cut_reply() -> None:
    _, reply = await said_to("openai", {}, [Output(refusal="No.")])
    assert reply["choices"][0]["message"]["refusal"] == "No."
    _, reply = await said_to("openai", {}, [Output("It", cut=True)])
    assert reply["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(("key", "status"), [("reasoning", 200), ("reasoning_content", 400)])
async def test_groq_refuses_reasoning_under_another_name(key: str, status: int) -> None:
    said = {"role": "assistant", "content": "Yes.", key: "I think so."}
    question = {"role": "user", "content": "Well?"}
    body = {"model": "openai/gpt-oss-120b", "messages": [question, said, question]}
    async with StrictServer("groq", [ANSWER]) as server:
        assert (await post(server, "/openai/v1/chat/completions", body))[0] == status


async def test_sections_are_joined_if_messages_have_no_order() -> None:
    two = Output(reasoning="One.", calls=[ADD], then=Output("Well.", "Two.", calls=[ADD]))
    async with StrictServer("deepseek", [two]) as server:
        body = {"model": "deepseek-v4", "messages": [{"role": "user", "content": "1 + 2?"}]}
        _, reply = await post(server, "/chat/completions", body)
    message = reply["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("One.Two.", "Well.")
    assert len(message["tool_calls"]) == 2

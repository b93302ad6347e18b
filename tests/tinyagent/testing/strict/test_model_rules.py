"""What providers demand of single models: each demand by a refused request and an accepted one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tinyagent.testing.strict.support import PARAMETERS, Json, data_uri, png, post, tool

from tinyagent.testing import StrictServer
from tinyagent.testing.strict.chat.rules import CHAT

USER: Json = {"role": "user", "content": "hi"}
JSON = {"messages": [{"role": "user", "content": "in JSON"}]}
THINKS = {"thinking": {"type": "enabled"}}
THINKS_NOT = {"thinking": {"type": "disabled"}}
BUDGET = {"google": {"thinking_config": {"thinking_budget": 2048}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "sum", "schema": PARAMETERS}}
DUMMY = {"google": {"thought_signature": "skip_thought_signature_validator"}}
CALL: Json = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "add", "arguments": "{}"},
            "extra_content": DUMMY,
        }
    ],
}
IMAGE = {"type": "image_url", "image_url": {"url": data_uri(png())}}


def effort(value: str) -> Json:
    return {"reasoning_effort": value}


def heat(value: float, **more: Any) -> Json:
    return {"temperature": value, **more}


def choice(value: Any, **more: Any) -> Json:
    return {"tools": [tool()], "tool_choice": value, **more}


def takes(schema: Json, **more: Any) -> Json:
    """A tool with a parameter of this schema."""
    properties = {"a": {"type": "object"}, "b": schema}
    parameters = {"type": "object", "properties": properties, "required": ["b"], **more}
    return {"tools": [tool(parameters=parameters)]}


def answers(schema: Json) -> Json:
    described = {"name": "sum", "schema": {"type": "object", "properties": {"b": schema}}}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def result(content: Any) -> Json:
    answer = {"role": "tool", "tool_call_id": "call_1", "content": content}
    return {"messages": [USER, CALL, answer]}


NAME = {"type": "string"}
OPEN_REF = {"$ref": "#/$defs/n"}
DEFS = {"$defs": {"n": {"type": "object"}}}
REF = takes(OPEN_REF, **DEFS)
DOCUMENTED = takes({**OPEN_REF, "description": "A name."}, **DEFS)
CYCLE = {"$defs": {"n": {"type": "object", "properties": {"n": OPEN_REF}}}}
TIGHT_CYCLE = {"$defs": {"n": {**CYCLE["$defs"]["n"], "required": ["n"]}}}
INVALID = "is not a valid moonshot flavored json schema, details: <At path"

# The provider and the model, a request that is refused, its twin, and words of the refusal.
PAIRS: list[tuple[str, str, Json, Json, str]] = [
    ("openai", "o3", effort("minimal"), effort("low"), "does not support"),
    ("openai", "o4-mini", effort("none"), effort("high"), "does not support"),
    ("openai", "gpt-5", effort("none"), effort("minimal"), "does not support"),
    ("openai", "gpt-5-pro", effort("low"), effort("high"), "does not support"),
    ("openai", "gpt-5-codex", effort("minimal"), effort("low"), "does not support"),
    ("openai", "gpt-5.2-pro", effort("none"), effort("medium"), "does not support"),
    ("openai", "gpt-5.1", effort("xhigh"), effort("none"), "does not support"),
    ("openai", "gpt-5.1-codex", effort("none"), effort("low"), "does not support"),
    ("openai", "gpt-5.2-chat-latest", effort("none"), effort("medium"), "does not support"),
    ("openai", "gpt-4o", effort("low"), {}, "is not supported with this model"),
    ("openai", "gpt-5-chat-latest", effort("low"), heat(0), "is not supported with this model"),
    ("openai", "gpt-5-mini", heat(0, **effort("minimal")), heat(1), "'temperature'"),
    ("kimi", "kimi-k2.5", heat(0), heat(1), "only 1 is allowed for this model"),
    ("kimi", "kimi-k2.5", heat(1, **THINKS_NOT), heat(0.6, **THINKS_NOT), "only 0.6 is allowed"),
    ("kimi", "kimi-k3", heat(0.6), {}, "only 1 is allowed for this model"),
    ("kimi", "kimi-k2.7-code", THINKS_NOT, THINKS, "only type=enabled is allowed"),
    ("kimi", "kimi-k3", THINKS_NOT, effort("low"), "only type=enabled is allowed"),
    ("kimi", "kimi-k3", effort("none"), effort("max"), "Supported values are"),
    ("kimi", "kimi-k2.6", effort("none"), THINKS_NOT, "Supported values are"),
    (
        "kimi",
        "kimi-k2.6",
        takes({"type": "string", "anyOf": [NAME]}),
        takes({"anyOf": [NAME, {"type": "null"}], "default": None}),
        f"tools.function.parameters {INVALID} 'properties.b': when using anyOf, type should be",
    ),
    ("kimi", "kimi-k2.6", DOCUMENTED, REF, "$ref cannot have keywords {'description'}"),
    (
        "kimi",
        "kimi-k2.6",
        answers({"type": "array", "items": [NAME]}),
        answers({"type": "array", "items": NAME}),
        f"response_format.json_schema {INVALID} 'properties.b': items must be an object>",
    ),
    ("minimax", "MiniMax-M2", heat(0), heat(0.01), "temperature must be in (0, 1]"),
    ("minimax", "MiniMax-M2", heat(1.1), heat(1), "temperature must be in (0, 1]"),
    (
        "minimax",
        "MiniMax-M2",
        {"response_format": SCHEMA},
        {"response_format": {"type": "json_object"}, **JSON},
        "response_format",
    ),
    (
        "dashscope",
        "qwen-plus",
        {"response_format": SCHEMA},
        {"response_format": {"type": "json_object"}, **JSON},
        "response_format",
    ),
    ("gemini", "gemini-3-flash", effort("none"), effort("minimal"), "Invalid value: 'none'"),
    ("gemini", "gemini-2.5-pro", effort("none"), effort("low"), "Invalid value: 'none'"),
    ("gemini", "gemini-2.5-flash", effort("max"), effort("none"), "Invalid value: 'max'"),
    (
        "gemini",
        "gemini-2.5-flash",
        {"extra_body": BUDGET, **effort("low")},
        {"extra_body": BUDGET},
        "Only one of",
    ),
    ("gemini", "gemini-3-flash", result([IMAGE]), result("3"), "role 'tool' contains an image"),
    (
        "gemini",
        "gemini-3-flash",
        takes({**NAME, "default": "x"}),
        takes({"type": "array", "prefixItems": [NAME], "minItems": 1, "maxItems": 1}),
        "'default' is not permitted",
    ),
    ("gemini", "gemini-3-flash", DOCUMENTED, REF, "$ref cannot have keywords"),
    (
        "gemini",
        "gemini-3-flash",
        takes(OPEN_REF, **TIGHT_CYCLE),
        takes(OPEN_REF, **CYCLE),
        "recursive schemas are not supported in required properties",
    ),
    (
        "gemini",
        "gemini-3-flash",
        answers({"const": "x"}),
        answers({"type": "string", "enum": ["x"]}),
        "'const' is not permitted",
    ),
    ("mistral", "magistral-medium-latest", effort("low"), effort("high"), "'none', 'high'"),
    ("mistral", "mistral-medium-3.5", effort("medium"), effort("none"), "'none', 'high'"),
    (
        "deepseek",
        "deepseek-v4",
        choice("required"),
        choice("auto"),
        "Thinking mode does not support this tool_choice",
    ),
    (
        "deepseek",
        "deepseek-v4",
        choice({"type": "function", "function": {"name": "add"}}),
        choice("required", **THINKS_NOT),
        "Thinking mode does not support this tool_choice",
    ),
    ("xai", "grok-4", effort("low"), {}, "is not supported with this model"),
    ("xai", "grok-4-0709", effort("none"), heat(0), "is not supported with this model"),
    ("xai", "grok-3-mini", effort("medium"), effort("low"), "'low', 'high'"),
    ("xai", "grok-4.3", effort("minimal"), effort("none"), "'none', 'low'"),
    ("groq", "openai/gpt-oss-120b", effort("none"), effort("low"), "'low', 'medium', 'high'"),
    ("groq", "qwen/qwen3-32b", effort("low"), effort("default"), "'none', 'default'"),
    ("groq", "llama-3.3-70b-versatile", effort("low"), {}, "is not supported with this model"),
    ("ollama", "qwen3:8b", effort("minimal"), effort("none"), "Supported values are"),
]


@pytest.mark.parametrize(("provider", "model", "refused", "accepted", "wording"), PAIRS)
async def test_it_refuses_one_and_accepts_its_twin(
    provider: str, model: str, refused: Json, accepted: Json, wording: str
) -> None:
    path = f"{CHAT[provider].base}/chat/completions"
    async with StrictServer(provider, ["yes"]) as server:
        status, reply = await post(server, path, {"model": model, "messages": [USER], **refused})
        assert status == (422 if provider == "mistral" else 400), reply
        assert wording in server.refusals[0]
        status, reply = await post(server, path, {"model": model, "messages": [USER], **accepted})
        assert status == 200, reply


def seen(**more: Any) -> Json:
    part = {"type": "input_image", "image_url": data_uri(png()), **more}
    return {"input": [{"role": "user", "content": [part]}]}


@pytest.mark.parametrize(
    ("refused", "accepted", "wording"),
    [
        ({"tools": []}, {}, "Invalid 'tools': empty array"),
        (seen(), seen(detail="auto"), "parameter: 'input[0].content[0].detail'"),
        (seen(detail="full"), seen(detail="original"), "Invalid value: 'full'"),
    ],
)
async def test_responses_refuse_one_and_accept_its_twin(
    refused: Json, accepted: Json, wording: str
) -> None:
    async with StrictServer("openai", ["yes"]) as server:
        body = {"model": "gpt-5.5", "input": "hi", "store": False}
        status, _ = await post(server, "/v1/responses", {**body, **refused})
        assert status == 400
        assert wording in server.refusals[0]
        status, reply = await post(server, "/v1/responses", {**body, **accepted})
        assert status == 200, reply

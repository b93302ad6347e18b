"""A request with anything anywhere is answered or refused: the servers never fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.tinyagent.testing.strict import test_anthropic, test_chat_rules, test_gemini
from tests.tinyagent.testing.strict.support import PARAMETERS, THINKS_AND_ADDS, Json, tool

from tinyagent.testing import StrictServer
from tinyagent.testing.http import Request

VALUES: list[Any] = [None, 0, "x", [], {}, [1], [[]], [{}], {"a": 1}]
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
MARK: Json = {"cache_control": {"type": "ephemeral"}}
TOOLS = {"tools": [tool(strict=True)], "tool_choice": "auto"}
CHAT: Json = {
    **TOOLS,
    "messages": test_chat_rules.ACCEPTED[0][2]["messages"],
}
SCHEMA: Json = {"response_format": test_chat_rules.FORMAT_OK}
MISTRAL: Json = {**TOOLS, "messages": [test_chat_rules.USER, *test_chat_rules.NINE]}
ITEMS: list[Json] = [
    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "add", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text"}]},
]
RESPONSES: Json = {
    "model": "gpt-5.6",
    "input": ITEMS,
    "tools": [{"type": "function", "name": "add", "parameters": PARAMETERS, "strict": True}],
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"format": {"type": "json_schema", "name": "x", "schema": PARAMETERS}},
    "include": ["reasoning.encrypted_content"],
}
MESSAGES: Json = {
    "model": test_anthropic.BOUND,
    "max_tokens": 100,
    "messages": test_anthropic.HISTORY,
    "tools": [{**test_anthropic.TOOL, **MARK}],
    "system": [{"type": "text", "text": "Add.", **MARK}],
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": PARAMETERS}},
    "tool_choice": {"type": "tool", "name": "add"},
}
CONTENTS: Json = {
    **test_gemini.ACCEPTED[0][1],
    **test_gemini._tool(name="add", parametersJsonSchema=PARAMETERS),
    "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}},
}
COMPLETIONS = "/v1/chat/completions"
BODIES: list[tuple[str, str, Json]] = [
    ("openai", COMPLETIONS, {"model": "gpt-4.1", **CHAT, **SCHEMA}),
    ("deepseek", COMPLETIONS, {"model": "m", "thinking": {"type": "disabled"}, **CHAT}),
    ("kimi", COMPLETIONS, {"model": "m", "thinking": {"type": "disabled"}, **CHAT}),
    ("gemini", "/v1beta/openai/chat/completions", {"model": "gemini-2.5-pro", **CHAT}),
    ("mistral", COMPLETIONS, {"model": "m", **MISTRAL}),
    ("openrouter", "/api/v1/chat/completions", {"model": "m", **CHAT}),
    ("openai", "/v1/responses", RESPONSES),
    ("anthropic", "/v1/messages", MESSAGES),
    ("gemini", "/v1beta/models/gemini-3-flash:generateContent", CONTENTS),
]


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            yield from _places(child, (*place, key))


def _changed(body: Json, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    whole: Any = copy.deepcopy(body)
    inner = whole
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("provider", "path", "body"), BODIES, ids=[f"{row[0]} {row[1]}" for row in BODIES]
)
def test_a_value_of_any_type_in_any_place_is_answered(provider: str, path: str, body: Json) -> None:

    def status(sent: Any) -> int:
        server = StrictServer(provider, [THINKS_AND_ADDS])
        request = Request("POST", path, {"alt": "sse"}, HEADERS, json.dumps(sent).encode())
        return server._reply(request).status

    assert status(body) == 200
    for place in _places(body):
        for number, value in enumerate(VALUES):
            changed = _changed(body, place, value)
            if isinstance(changed, dict) and number % 2:
                changed["stream"] = True
            assert status(changed) in (200, 400, 404, 422), (place, value)

"""Every request of the matrix is one of the vendors' own types."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from google.genai import types
from provider_cells import CASES, KINDS, ROUTES, Cell, play
from provider_matrix import KILLED
from pydantic_core import ValidationError
from tests.tinyagent.providers.vendors import Package, validator

PACKAGES: dict[str, Package] = {
    "chat": "openai",
    "responses": "openai responses",
    "messages": "anthropic",
}
# What providers of chat completions have in addition to OpenAI's own keys, all of it for reasoning.
OF_MESSAGES = {
    "gemini": {"extra_content"},
    "deepseek": {"reasoning_content"},
    "kimi": {"reasoning_content"},
    "dashscope": {"reasoning_content"},
    "groq": {"reasoning"},
    "openrouter": {"reasoning_details"},
    "vllm": {"reasoning"},
    "ollama": {"reasoning"},
}
USER = {"role": "user", "content": [{"type": "text", "text": "x"}]}


async def requests_of(route: str) -> list[dict[str, Any]]:
    """All requests that a route's cells make."""
    made: list[dict[str, Any]] = []
    for kind in KINDS:
        for streamed in (False, True):
            for case in CASES:
                cell = Cell(route, kind, streamed, case)
                if case != KILLED and not cell.impossible:
                    made += (await play(cell))[1]
    return made


def without_extensions(provider: str, body: dict[str, Any]) -> dict[str, Any]:
    """The request without what only this provider has."""
    body = deepcopy(body)
    for message in body["messages"]:
        for key in OF_MESSAGES.get(provider, ()):
            for owner in (message, *message.get("tool_calls", ())):
                owner.pop(key, None)
        if provider == "mistral" and isinstance(message["content"], list):
            kept = [part for part in message["content"] if part["type"] != "thinking"]
            message["content"] = kept or ""
    return body


@pytest.mark.parametrize("route", ROUTES)
async def test_requests_are_of_the_vendors_type(route: str) -> None:
    way = ROUTES[route]
    requests = await requests_of(route)
    assert len(requests) > 100
    if way.api == "chat":
        requests = [without_extensions(way.provider, body) for body in requests]
    validator(PACKAGES[way.api]).validate_python(requests)


@pytest.mark.parametrize(
    ("package", "request_", "key"),
    [
        ("openai", {"messages": [USER]}, "messages"),
        ("openai responses", {"input": [{"type": "message", **USER, "content": "x"}]}, "input"),
        ("anthropic", {"max_tokens": 9, "messages": [USER]}, "messages"),
    ],
)
def test_an_unknown_key_is_found_at_any_depth(
    package: Package, request_: dict[str, Any], key: str
) -> None:
    check = validator(package)
    body = {"model": "m", **request_}
    check.validate_python([body])
    with pytest.raises(ValidationError):
        check.validate_python([{**body, "strange": 1}])
    inner = deepcopy(body)
    inner[key][0]["strange"] = 1
    with pytest.raises(ValidationError):
        check.validate_python([inner])
    if isinstance(body[key][0]["content"], list):
        innermost = deepcopy(body)
        innermost[key][0]["content"][0]["strange"] = 1
        with pytest.raises(ValidationError):
            check.validate_python([innermost])


def schemas_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in body.get("tools", ()):
        yield tool["function"]["parameters"]
    wanted = body.get("response_format", {})
    if "json_schema" in wanted:
        yield wanted["json_schema"]["schema"]


async def test_schemas_for_gemini_are_of_googles_type() -> None:
    schemas = [schema for body in await requests_of("Gemini") for schema in schemas_of(body)]
    assert len(schemas) > 50
    for schema in schemas:
        types.JSONSchema.model_validate(schema)
    with pytest.raises(ValidationError):
        types.JSONSchema.model_validate({"type": "object", "strange": 1})

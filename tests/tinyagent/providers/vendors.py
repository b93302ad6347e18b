"""The request types of the vendors' own packages as validators; no other key may be there.

Two things of the types are for Python programs, and are not JSON: any iterable stands for a list,
which Pydantic would only check as it is gone through, and objects of replies may be sent back as
they are. Here there are lists, and no such objects.
"""

from __future__ import annotations

from functools import cache
from types import GenericAlias
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator

Package = Literal["openai", "openai responses", "anthropic"]


@cache
def validator(package: Package) -> SchemaValidator:
    """What checks a list of requests."""
    config = ConfigDict(extra="forbid")
    requests: Any = GenericAlias(list, (_params(package),))
    schema: Any = TypeAdapter(requests, config=config).core_schema
    objects = {entry["ref"] for entry in schema.get("definitions", ()) if entry["type"] == "model"}
    return SchemaValidator(_as_json(schema, objects), {"extra_fields_behavior": "forbid"})


def _params(package: Package) -> Any:
    if package == "openai":
        from openai.types.chat.completion_create_params import CompletionCreateParams

        return CompletionCreateParams
    if package == "openai responses":
        from openai.types.responses.response_create_params import ResponseCreateParams

        return ResponseCreateParams
    from anthropic.types.message_create_params import MessageCreateParams

    return MessageCreateParams


def _as_json(schema: Any, objects: set[str]) -> Any:
    """A core schema with lists for iterables, and without objects where there is another choice."""
    if isinstance(schema, list | tuple):
        return type(schema)(_as_json(each, objects) for each in schema)
    if not isinstance(schema, dict):
        return schema
    changed = {key: _as_json(value, objects) for key, value in schema.items()}
    if changed.get("type") == "generator":
        changed["type"] = "list"
    if changed.get("type") == "union":
        left = [choice for choice in changed["choices"] if not _is_object(choice, objects)]
        changed["choices"] = left or changed["choices"]
    return changed


def _is_object(choice: Any, objects: set[str]) -> bool:
    schema = choice[0] if isinstance(choice, tuple) else choice
    if schema["type"] == "union":
        return all(_is_object(each, objects) for each in schema["choices"])
    return schema["type"] == "model" or schema.get("schema_ref") in objects

"""Schemas for Gemini and Kimi, checked by what these refuse and by a validator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from pydantic import BaseModel, Field, JsonValue, TypeAdapter
from tests.tinyagent.models.test_schemas import schemas, values

from tinyagent import Message, Tool
from tinyagent.core import ModelRequest, RequestFormat
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.chat_request import encode_request
from tinyagent.models.wire.plain_schema import plain_schema

# What both accept: Gemini's list of keywords without references, tuples and choices but `anyOf`.
TAKEN = {"type", "description", "enum", "items", "minItems", "maxItems", "minimum", "maximum"}
TAKEN |= {"anyOf", "properties", "additionalProperties", "required"}


def _nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    extra = schema.get("additionalProperties")
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    parts += [schema["items"]] if "items" in schema else []
    for part in [*parts, *([extra] if isinstance(extra, dict) else [])]:
        yield from _nodes(part)


def _faults(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object" or "anyOf" in schema:
        yield "the root is not an object"
    for node in _nodes(schema):
        if node.keys() - TAKEN:
            yield f"unknown: {node.keys() - TAKEN}"
        if ("type" in node) == ("anyOf" in node):
            yield f"a type next to anyOf, or neither: {node}"
        if isinstance(node.get("type"), list):
            yield "several types"
        if node.get("type") == "array" and not isinstance(node.get("items"), dict):
            yield "items"


class Member(BaseModel):
    """A documented model."""

    name: str = Field(pattern=r"^\w+$")
    born: int | None = None
    role: Literal["owner", "guest"] = "guest"


class Tree(BaseModel):
    value: tuple[int, str]
    children: list[Tree] = []
    tags: dict[str, int] = {}


CASES: dict[str, tuple[Any, list[Any]]] = {
    "described": (Member, [{"name": "a", "role": "owner"}, {"name": "a", "born": 5}]),
    "recursive": (Tree, [{"value": [1, "a"], "children": [{"value": [2, "b"]}]}]),
    "any JSON": (JsonValue, [1, None, "a", [1, "a"], {"a": 1}]),
    "a union": (Member | tuple[float, float], [{"name": "a"}, [1.5, 2]]),
}


@pytest.mark.parametrize("case", CASES)
def test_types_of_parameters_are_said_plainly(case: str) -> None:
    kind, fitting = CASES[case]
    schema = TypeAdapter(kind).json_schema()
    definitions = schema.pop("$defs", {})
    described = {**schema, "description": "What to take."}
    root = {"type": "object", "properties": {"it": described}, "$defs": definitions}
    plain = plain_schema(root)
    assert list(_faults(plain)) == []
    assert plain["properties"]["it"]["description"] == "What to take."
    for value in fitting:
        jsonschema.validate({"it": value}, plain)


def test_a_description_next_to_a_reference_stays_with_what_it_refers_to() -> None:
    reference = {"$ref": "#/$defs/M", "description": "Whom to ask."}
    root = {"properties": {"who": reference}, "$defs": {"M": Member.model_json_schema()}}
    who = plain_schema(root)["properties"]["who"]
    assert who["description"] == "Whom to ask."
    assert who["properties"]["name"] == {"type": "string", "description": r"(pattern: ^\w+$)"}
    assert who["properties"]["role"]["enum"] == ["owner", "guest"]


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        ),
        (
            {"type": "array", "items": [{"type": "integer"}, {"type": "integer"}], "maxItems": 2},
            {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        ),
        (
            {"type": "string", "anyOf": [{"enum": ["a"]}, {"type": "null"}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        (
            {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 9},
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        ),
        ({"const": 5}, {"type": "integer", "enum": [5]}),
        (
            {"allOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["a"]}]},
            {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]},
        ),
    ],
)
def test_each_keyword_has_a_plain_form(schema: dict[str, Any], plain: dict[str, Any]) -> None:
    assert plain_schema({"properties": {"a": schema}})["properties"]["a"] == plain


def test_choices_at_the_root_become_optional_properties() -> None:
    by_name = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
    by_id = {"properties": {"id": {"type": "integer"}}, "required": ["id"]}
    plain = plain_schema({"type": "object", "anyOf": [by_name, by_id]})
    assert plain["properties"].keys() == {"name", "id"}
    assert "required" not in plain
    assert list(_faults(plain)) == []


@given(schema=schemas, value=values)
def test_what_a_schema_admits_its_plain_form_admits_too(schema: dict[str, Any], value: Any) -> None:
    root = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    plain = plain_schema(root)
    assert list(_faults(plain)) == []
    has_lists_in_lists = "[[" in str(value).replace(" ", "") or ",[" in str(value).replace(" ", "")
    if jsonschema.Draft202012Validator(root).is_valid({"it": value}) and not has_lists_in_lists:
        jsonschema.validate({"it": value}, plain)


def _doubling(depth: int) -> dict[str, Any]:
    both = {
        f"d{at}": {"properties": {name: {"$ref": f"#/$defs/d{at + 1}"} for name in "ab"}}
        for at in range(depth)
    }
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": both}


def _nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner = {"type": "array", "items": inner}
    return {"properties": {"a": inner}}


HOSTILE: dict[str, dict[str, Any]] = {
    "doubling": _doubling(60),
    "deep": _nested(5_000),
    "a reference to itself": {"$ref": "#"},
    "references in a circle": {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "a reference to nothing": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    "a number for a reference": {"properties": {"a": {"$ref": 5}}},
    "other shapes": {
        "properties": {"a": {"type": [{}], "enum": [[]], "required": [{}]}, "b": 5, "c": True},
        "required": [{}],
    },
    "not an object": {"type": "string", "properties": []},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_schema_of_any_shape_and_size_is_read(case: str) -> None:
    plain = plain_schema(HOSTILE[case])
    assert list(_faults(plain)) == []
    assert len(str(plain)) < 1_000_000


@pytest.mark.parametrize(("name", "model"), [("gemini", "gemini-3-pro"), ("kimi", "kimi-k2.6")])
def test_tools_are_sent_so(name: str, model: str) -> None:
    def plant(tree: Tree, owner: Member) -> str:
        """Plant a tree."""
        return f"{tree}{owner}"

    tool = Tool.from_function(plant)
    function = {"name": "plant", "description": "Plant.", "parameters": tool.json_schema}
    request = ModelRequest(
        (Message("user", "go"),), RequestFormat(({"type": "function", "function": function},))
    )
    provider = PROVIDERS[name].for_model(model)
    (sent,) = encode_request(model, request, stream=False, provider=provider)["tools"]
    assert list(_faults(sent["function"]["parameters"])) == []
    assert (sent["type"], sent["function"]["name"]) == ("function", "plant")

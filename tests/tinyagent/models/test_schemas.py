"""Schemas in the subsets of providers, checked by validators written from what these document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from tinyagent import Message, Tool
from tinyagent.adapters import OpenAIStructuredAdapter
from tinyagent.adapters.structured import action_schema
from tinyagent.core import ModelRequest, ModelResponse, RequestFormat
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.chat_request import encode_request
from tinyagent.models.wire.messages_request import encode_request as encode_messages
from tinyagent.models.wire.responses_request import encode_request as encode_responses
from tinyagent.models.wire.schemas import anthropic_schema, openai_schema

Rewrite = Callable[[Mapping[str, Any]], dict[str, Any] | None]
NAMED = {"properties", "$defs"}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
OPENAI_TAKES = {
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "enum",
    "const",
    "$ref",
    "$defs",
}
OPENAI_TAKES |= {"$defs", "title", "description", "additionalProperties", "pattern", "format"}
OPENAI_TAKES |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
OPENAI_TAKES |= {"minItems", "maxItems"}
ANTHROPIC_REFUSES = {"minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems"}
ANTHROPIC_REFUSES |= {"exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "oneOf", "pattern"}
LIMITS = ANTHROPIC_REFUSES - {"oneOf"} | {"format", "minItems", "default", "title", "examples"}


def _nodes(schema: object) -> Iterator[Mapping[str, Any]]:
    """All schemas within a schema, itself first."""
    if isinstance(schema, list):
        for item in schema:
            yield from _nodes(item)
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key, value in schema.items():
        if key in NAMED:
            for inner in value.values():
                yield from _nodes(inner)
        elif key in {"items", "anyOf", "oneOf", "allOf", "additionalProperties"}:
            yield from _nodes(value)


def _is_object(node: Mapping[str, Any]) -> bool:
    return node.get("type") == "object" or "object" in (node.get("type") or ())


def _openai_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object" or "anyOf" in schema:
        yield "the root is not an object"
    for node in _nodes(schema):
        if set(node) - OPENAI_TAKES:
            yield f"unknown: {set(node) - OPENAI_TAKES}"
        if "$ref" in node and len(node) > 1:
            yield "keys beside $ref"
        if not {"type", "anyOf", "$ref"} & node.keys():
            yield "no type"
        if node.get("format", "date") not in FORMATS:
            yield f"format {node['format']}"
        if _is_object(node) and (
            node.get("additionalProperties") is not False
            or set(node["required"]) != set(node["properties"])
        ):
            yield "an object that is not strict"
        if node.get("type") == "array" and not node.get("items"):
            yield "items without a type"


def _anthropic_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "the root is not an object"
    for node in _nodes(schema):
        if node.keys() & ANTHROPIC_REFUSES:
            yield f"refused: {node.keys() & ANTHROPIC_REFUSES}"
        if _is_object(node) and node.get("additionalProperties") is not False:
            yield "additionalProperties must be false"
        if node.get("minItems", 0) > 1:
            yield "minItems"
        if node.get("format", "date") not in FORMATS | {"uri"}:
            yield "format"


SUBSETS: dict[str, tuple[Rewrite, Callable[[Mapping[str, Any]], Iterator[str]]]] = {
    "openai": (openai_schema, _openai_faults),
    "anthropic": (anthropic_schema, _anthropic_faults),
}


class Point(BaseModel):
    x: float = Field(ge=0, lt=10)
    label: str = Field(default="a", min_length=1, max_length=3, pattern=r"^\w+$")


class Path(BaseModel):
    kind: Literal["open", "closed"]
    points: list[Point] = Field(min_length=2)
    first: Point | None = None
    note: str | None = None


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def _draw(path: Path, times: int = 2) -> str:
    """Draw a path."""
    return f"{path}{times}"


def _count(words: dict[str, int]) -> int:
    """Count words."""
    return len(words)


DRAW, COUNT = Tool.from_function(_draw), Tool.from_function(_count)


@pytest.mark.parametrize("name", SUBSETS)
def test_an_action_fits_each_subset(name: str) -> None:
    rewrite, faults = SUBSETS[name]
    schema = action_schema([DRAW], TypeAdapter(Path).json_schema())
    assert list(faults(schema))
    rewritten = rewrite(schema)
    assert rewritten is not None
    assert not list(faults(rewritten))
    point = {"x": 1.0, "label": "a"}
    path = {"kind": "open", "points": [point, point], "first": None, "note": None}
    action = {"scratchpad": "", "tool": "_draw", "arguments": {"path": path, "times": 2}}
    jsonschema.validate({"action": action}, rewritten)
    jsonschema.validate(action, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"action": {**action, "tool": "other"}}, rewritten)


def test_an_object_with_arbitrary_keys_has_no_strict_form() -> None:
    schema = action_schema([COUNT], None)
    assert openai_schema(schema) is None
    assert anthropic_schema(schema) is None


def test_only_openai_supports_recursive_schemas() -> None:
    schema = TypeAdapter(Tree).json_schema()
    wrapped = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}}
    wrapped |= {"required": ["tree"], "$defs": schema["$defs"]}
    rewritten = openai_schema(wrapped)
    assert rewritten is not None
    assert not list(_openai_faults(rewritten))
    assert anthropic_schema(wrapped) is None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"not": {"type": "string"}}}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "patternProperties": {"a": {"type": "string"}}},
        {"allOf": [{"type": "object"}, {"type": "object"}]},
    ],
)
def test_a_schema_outside_the_subset_is_none(schema: dict[str, Any]) -> None:
    assert openai_schema(schema) is None
    assert anthropic_schema(schema) is None


def test_a_default_is_described_if_all_properties_are_required() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 5}}}
    rewritten = openai_schema(schema)
    assert rewritten is not None
    assert rewritten["required"] == ["n"]
    assert rewritten["properties"]["n"]["description"] == "(default: 5)"


leaves: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string", "minLength": 1, "default": "x"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "binary"},
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 9},
        {"type": "number", "title": "N"},
        {"type": ["string", "null"]},
        {"const": "a"},
        {"enum": ["a", "b", None]},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {},
    ]
)


def _grown(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from("abc")
    objects = st.builds(
        lambda properties, required: {
            "type": "object",
            "properties": properties,
            "required": sorted(required & set(properties)),
        },
        st.dictionaries(names, inner, max_size=3),
        st.sets(names),
    )
    arrays = st.builds(lambda items: {"type": "array", "items": items, "minItems": 2}, inner)
    unions = st.builds(
        lambda options, key: {key: options},
        st.lists(inner, min_size=1, max_size=2),
        st.sampled_from(["anyOf", "oneOf"]),
    )
    return objects | arrays | unions


schemas = st.recursive(leaves, _grown, max_leaves=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.sampled_from(["", "a", "x", "2026-01-02"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("name", SUBSETS)
@given(schema=schemas)
def test_any_rewritten_schema_fits_its_subset(name: str, schema: dict[str, Any]) -> None:
    rewrite, faults = SUBSETS[name]
    rewritten = rewrite(schema)
    assume(rewritten is not None)
    assert not list(faults(rewritten or {}))
    assert rewrite(rewritten or {}) is not None


def _without_limits(schema: Any) -> Any:
    """The schema without what a subset may leave out; of several options one or more may hold."""
    if isinstance(schema, list):
        return [_without_limits(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in LIMITS}
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")
    return {
        key: {name: _without_limits(part) for name, part in value.items()}
        if key in NAMED
        else value
        if key in {"enum", "const", "required", "type"}
        else _without_limits(value)
        for key, value in kept.items()
    }


@pytest.mark.parametrize("name", SUBSETS)
@given(schema=schemas, value=values)
def test_what_a_rewritten_schema_admits_the_original_admits_too(
    name: str, schema: dict[str, Any], value: Any
) -> None:
    rewritten = SUBSETS[name][0](schema)
    assume(rewritten is not None)
    asked = value if schema.get("type") == "object" else {"action": value}
    if jsonschema.Draft202012Validator(rewritten or {}).is_valid(asked):
        jsonschema.validate(value, _without_limits(schema))


def _structured(*tools: Tool) -> ModelRequest:
    form = OpenAIStructuredAdapter().format_request(tools)
    return ModelRequest(
        (Message("user", "go"),), RequestFormat(response_format=form.response_format)
    )


def test_each_provider_gets_the_form_that_it_accepts() -> None:
    request = _structured(DRAW)

    def sent(name: str, model: str, request: ModelRequest = request) -> Any:
        provider = PROVIDERS[name].for_model(model)
        return encode_request(model, request, stream=False, provider=provider)["response_format"]

    strict = sent("openai", "gpt-4.1")["json_schema"]
    assert (strict["strict"], list(_openai_faults(strict["schema"]))) == (True, [])
    for name, model in (("gemini", "gemini-3-pro"), ("kimi", "kimi-k2.6")):
        plain = sent(name, model)["json_schema"]["schema"]
        assert (plain["type"], list(plain["properties"]), "$defs" in plain) == (
            "object",
            ["action"],
            False,
        )
    assert sent("deepseek", "deepseek-v4") == {"type": "json_object"}
    assert sent("vllm", "m") == request.format.response_format
    loose = sent("openai", "gpt-4.1", _structured(COUNT))["json_schema"]
    assert (loose["strict"], loose["schema"]["type"]) == (False, "object")


def test_responses_and_anthropic_get_the_form_that_they_accept() -> None:
    provider = PROVIDERS["openai"].for_model("gpt-5.5")
    body = encode_responses("gpt-5.5", _structured(DRAW), stream=False, provider=provider)
    form = body["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "action", True)
    assert not list(_openai_faults(form["schema"]))
    encode = partial(
        encode_messages,
        "claude-sonnet-5",
        max_tokens=9,
        stream=False,
        provider=PROVIDERS["anthropic"].for_model("claude-sonnet-5"),
    )
    claude = encode(_structured(DRAW))
    assert not list(_anthropic_faults(claude["output_config"]["format"]["schema"]))
    assert "output_config" not in encode(_structured(COUNT))


def test_an_action_in_a_separate_object_is_read() -> None:
    action = {"scratchpad": "", "tool": "_count", "arguments": {"words": {}}}
    reply = ModelResponse(json.dumps({"action": action}))
    (call,) = OpenAIStructuredAdapter().extract_tool_calls(reply, [COUNT])
    assert (call.name, call.arguments) == ("_count", {"words": {}})


@pytest.mark.parametrize("name", SUBSETS)
@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {}, "required": [{}]},
        {"type": [{}]},
        {"type": "array", "items": "many"},
        {"enum": [[]]},
        {"$ref": 5},
    ],
)
def test_a_schema_of_any_shape_is_read(name: str, part: dict[str, Any]) -> None:
    rewritten = SUBSETS[name][0]({"type": "object", "properties": {"a": part}})
    assert rewritten is None


def test_definitions_that_are_used_many_times_are_looked_at_once() -> None:
    definitions: dict[str, Any] = {"d40": {"type": "string"}}
    for at in range(40):
        both = {name: {"$ref": f"#/$defs/d{at + 1}"} for name in "ab"}
        definitions[f"d{at}"] = {"type": "object", "properties": both}
    root = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    assert anthropic_schema(root) is not None

"""The subsets of JSON Schema, each keyword both ways."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tinyagent.testing.strict.support import PARAMETERS, Json

from tinyagent.testing.strict.schemas import ANTHROPIC, GEMINI, OPENAI, Subset, fault, root_fault

SUBSETS = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI}


def _with(schema: Json, **more: Any) -> Json:
    """An object that has one property."""
    return {
        "type": "object",
        "properties": {"a": schema},
        "required": ["a"],
        "additionalProperties": False,
        **more,
    }


TREE = {"$defs": {"n": _with({"$ref": "#/$defs/n"})}}
LOOSE_TREE = {"$defs": {"n": _with({"$ref": "#/$defs/n"}, required=[])}}
LEAF = {"$defs": {"n": {"type": "string"}}}
DESCRIBED = {"$ref": "#/$defs/n", "description": "x"}
# A schema, and who takes it.
SCHEMAS: list[tuple[str, Json, set[str]]] = [
    ("plain", PARAMETERS, {"openai", "anthropic", "gemini"}),
    ("an enum", _with({"enum": ["a"]}), {"openai", "anthropic", "gemini"}),
    ("a const", _with({"const": 1}), {"openai", "anthropic"}),
    ("a pattern", _with({"type": "string", "pattern": "^a$"}), {"openai", "anthropic"}),
    ("look-around", _with({"type": "string", "pattern": "(?=a)"}), set()),
    ("minimum", _with({"type": "integer", "minimum": 1}), {"openai", "gemini"}),
    ("exclusive", _with({"type": "integer", "exclusiveMinimum": 1}), {"openai"}),
    ("minLength", _with({"type": "string", "minLength": 1}), set()),
    ("uniqueItems", _with({"type": "array", "items": {}, "uniqueItems": True}), set()),
    ("default", _with({"type": "string", "default": "x"}), {"anthropic"}),
    ("anyOf", _with({"anyOf": [{"type": "null"}]}), {"openai", "anthropic", "gemini"}),
    ("allOf", _with({"allOf": [{"type": "null"}]}), {"anthropic"}),
    ("oneOf", _with({"oneOf": [{"type": "null"}]}), {"gemini"}),
    ("a tuple", _with({"type": "array", "prefixItems": [{}]}), {"gemini"}),
    ("untyped items", _with({"type": "array"}), {"anthropic", "gemini"}),
    ("one item", _with({"type": "array", "items": PARAMETERS, "minItems": 1}), {*SUBSETS}),
    (
        "two items",
        _with({"type": "array", "items": PARAMETERS, "minItems": 2}),
        {"openai", "gemini"},
    ),
    ("a date", _with({"type": "string", "format": "date"}), {"openai", "anthropic", "gemini"}),
    ("a uri", _with({"type": "string", "format": "uri"}), {"anthropic", "gemini"}),
    ("another format", _with({"type": "string", "format": "phone"}), {"gemini"}),
    ("a reference", _with({"$ref": "#/$defs/n"}, **LEAF), {"openai", "anthropic", "gemini"}),
    ("a described reference", _with(DESCRIBED, **LEAF), {"anthropic"}),
    ("recursion", _with({"$ref": "#/$defs/n"}, **TREE), {"openai"}),
    ("recursion to the root", _with({"$ref": "#"}), {"openai"}),
    ("optional recursion", _with({"$ref": "#/$defs/n"}, **LOOSE_TREE), {"gemini"}),
    ("optional recursion to the root", _with({"$ref": "#"}, required=[]), {"gemini"}),
    ("an open object", _with({"type": "object"}), {"gemini"}),
    ("a free object", _with({}, additionalProperties={"type": "string"}), {"gemini"}),
    ("an optional property", _with({"type": "null"}, required=[]), {"anthropic", "gemini"}),
    ("a property too much", _with({}, required=["a", "b"]), {"anthropic", "gemini"}),
    ("within anyOf", {"anyOf": [_with({"type": "object"})]}, {"gemini"}),
]


@pytest.mark.parametrize(
    ("schema", "takers"), [row[1:] for row in SCHEMAS], ids=[row[0] for row in SCHEMAS]
)
@pytest.mark.parametrize("name", SUBSETS)
def test_each_subset_accepts_what_is_documented(name: str, schema: Json, takers: set[str]) -> None:
    found = fault(schema, SUBSETS[name])
    assert (found is None) == (name in takers), found


@pytest.mark.parametrize("subset", [OPENAI, ANTHROPIC])
def test_an_error_names_its_location(subset: Subset) -> None:
    found = fault(_with({"type": "string", "minLength": 1}), subset)
    assert found == (("properties", "a"), "'minLength' is not permitted.")


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema = {**PARAMETERS, "properties": {"minLength": {"type": "integer"}}}
    assert fault({**schema, "required": ["minLength"]}, OPENAI) is None


@pytest.mark.parametrize("schema", [{"anyOf": []}, {}, None, {"type": "array"}, "object"])
def test_the_root_is_an_object(schema: Any) -> None:
    assert "schema must be a JSON Schema of 'type: \"object\"'" in str(root_fault(schema))
    assert root_fault(PARAMETERS) is None

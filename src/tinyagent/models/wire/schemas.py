"""JSON Schema in the subsets that providers support.

One function for each subset rewrites a schema into it, or returns None if that would change what
the schema admits. Whatever a rewritten schema admits, the original admits too, except for limits
such as `minLength` that the subset does not have; the reader of the answer checks these.
`plain_schema` widens what it cannot express instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinyagent.core.untrusted import as_array, as_object
from tinyagent.models.provider import SchemaSubset
from tinyagent.models.wire.plain_schema import plain_schema

WRAPPED = "action"
"""The only property of the object around a schema whose root is not an object."""

_NOTES = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
_LIMITS = {
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
}
_CHOICES = {"anyOf", "oneOf", "type", "enum", "const", "properties", "items"}
_OTHERS = {"required", "$ref", "additionalProperties", "allOf", "$defs", "$schema"}
_READ = _CHOICES | _OTHERS | _NOTES | _LIMITS
_ALL_TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_LOOK_AROUND = re.compile(r"\(\?[=!<]")
_MAX_DEPTH = 40


class _NotInSubset(Exception):
    """The subset cannot express a schema."""


@dataclass(frozen=True, slots=True)
class _Subset:
    """What a provider supports in addition to the shape of a value."""

    limits: frozenset[str]
    formats: frozenset[str]
    all_required: bool = False
    recursive: bool = False


_OPENAI = _Subset(
    frozenset({"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
    | {"multipleOf", "minItems", "maxItems"},
    frozenset(_FORMATS),
    all_required=True,
    recursive=True,
)
_ANTHROPIC = _Subset(frozenset({"format", "minItems"}), frozenset(_FORMATS | {"uri"}))


def openai_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema as OpenAI's strict mode takes it; None if that is impossible.

    All properties are required there, so a default becomes part of the description.
    """
    return _rewritten(schema, _OPENAI)


def anthropic_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema as Anthropic's `output_config` takes it; None if that is impossible."""
    return _rewritten(schema, _ANTHROPIC)


def object_at_root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema, or an object with it as the one property `action`: providers want an object."""
    if schema.get("type") == "object":
        return schema
    definitions = {key: schema[key] for key in ("$defs",) if key in schema}
    inner = {key: value for key, value in schema.items() if key not in definitions}
    return {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
        "additionalProperties": False,
        **definitions,
    }


def fitting_format(response_format: Mapping[str, Any], subset: SchemaSubset) -> Mapping[str, Any]:
    """A `response_format` of chat completions as the provider supports it.

    A schema outside OpenAI's subset is sent without `strict`; a provider without schemas is asked
    for JSON of any form: the prompt describes the form in any case.
    """
    if response_format.get("type") != "json_schema" or subset == "any":
        return response_format
    if subset in {"json_object", "anthropic"}:
        return {"type": "json_object"}
    described = response_format["json_schema"]
    schema = described["schema"]
    if subset == "plain":
        fitting = {**described, "schema": plain_schema(object_at_root(schema)), "strict": True}
        return {**response_format, "json_schema": fitting}
    rewritten = openai_schema(schema)
    strict = rewritten is not None
    fitting = {**described, "schema": rewritten or object_at_root(schema), "strict": strict}
    return {**response_format, "json_schema": fitting}


def _rewritten(schema: Mapping[str, Any], subset: _Subset) -> dict[str, Any] | None:
    root = object_at_root(schema)
    definitions = as_object(root.get("$defs")) or {}
    try:
        if not subset.recursive:
            _check_no_cycle(root, definitions, (), set())
        out = _node(root, subset, 0)
        if definitions:
            out["$defs"] = {name: _node(part, subset, 0) for name, part in definitions.items()}
    except (_NotInSubset, TypeError):  # a tool's server may send a schema of any shape
        return None
    return out


def _node(value: object, subset: _Subset, depth: int) -> dict[str, Any]:
    node = as_object(value)
    if node is None or depth > _MAX_DEPTH or set(node) - _READ:
        raise _NotInSubset
    if "$ref" in node:
        return _reference(node)
    node = _merged(node)
    out: dict[str, Any] = {key: node[key] for key in ("title", "description") if key in node}
    options = as_array(node.get("anyOf", node.get("oneOf")))
    if options is not None:
        if len(node.keys() & _CHOICES) > 1:
            raise _NotInSubset
        return out | {"anyOf": [_node(option, subset, depth + 1) for option in options]}
    kinds = _kinds(node)
    out["type"] = node.get("type", kinds[0] if len(kinds) == 1 else kinds)
    if "enum" in node:
        out["enum"] = node["enum"]
    if "const" in node:
        out["const"] = node["const"]
    if "object" in kinds:
        out |= _object(node, subset, depth)
    if "array" in kinds:
        out["items"] = _node(node.get("items"), subset, depth + 1)
    return out | _limits(node, subset)


def _kinds(node: Mapping[str, Any]) -> list[str]:
    """The types that a node admits: its `type`, or the types of its fixed values."""
    declared = node.get("type")
    if declared is not None:
        kinds = [str(kind) for kind in as_array(declared) or [declared]]
        if set(kinds) - _ALL_TYPES:
            raise _NotInSubset
        return kinds
    values: list[object] = as_array(node.get("enum")) or []
    if "const" in node:
        values = [node["const"]]
    names = {_TYPES.get(value.__class__, "") for value in values}
    if not names or "" in names:
        raise _NotInSubset  # it admits anything, or objects and arrays
    return sorted(names)


def _reference(node: Mapping[str, Any]) -> dict[str, Any]:
    """A reference without its siblings: notes may be dropped, anything else may not."""
    if set(node) - _NOTES - {"$ref"} or not str(node["$ref"]).startswith("#/$defs/"):
        raise _NotInSubset
    return {"$ref": node["$ref"]}


def _merged(node: dict[str, Any]) -> dict[str, Any]:
    """The node merged with the only entry of its `allOf`."""
    if "allOf" not in node:
        return node
    parts = as_array(node["allOf"]) or []
    rest = {key: value for key, value in node.items() if key != "allOf"}
    inner = as_object(parts[0]) if len(parts) == 1 else None
    if inner is None or "$ref" in inner or (inner.keys() & rest.keys()) - _NOTES:
        raise _NotInSubset
    return inner | rest


def _object(node: Mapping[str, Any], subset: _Subset, depth: int) -> dict[str, Any]:
    properties = as_object(node.get("properties"))
    extra = node.get("additionalProperties")
    if properties is None or not (extra is None or extra is False):
        raise _NotInSubset  # its properties are not all named
    out: dict[str, Any] = {
        name: _property(part, subset, depth + 1) for name, part in properties.items()
    }
    required = as_array(node.get("required")) or []
    if set(required) - out.keys():
        raise _NotInSubset
    return {
        "properties": out,
        "required": list(out) if subset.all_required else required,
        "additionalProperties": False,
    }


def _property(value: object, subset: _Subset, depth: int) -> dict[str, Any]:
    """A property; if all are required, its default is described in words."""
    node = as_object(value) or {}
    out = _node(value, subset, depth)
    default = node.get("default")
    if subset.all_required and default is not None and "$ref" not in out:
        described = f"{node.get('description') or ''} (default: {default!r})"
        out["description"] = described.strip()
    return out


def _limits(node: Mapping[str, Any], subset: _Subset) -> dict[str, Any]:
    out = {key: node[key] for key in subset.limits & node.keys()}
    if out.get("format", "date") not in subset.formats:
        del out["format"]
    if _LOOK_AROUND.search(str(out.get("pattern", ""))):
        del out["pattern"]
    if subset is _ANTHROPIC and out.get("minItems", 0) > 1:
        del out["minItems"]
    return out


def _check_no_cycle(
    value: object, definitions: Mapping[str, Any], above: tuple[str, ...], done: set[str]
) -> None:
    """Check that no definition refers to itself; `done` are those already checked."""
    node = as_object(value)
    name = str((node or {}).get("$ref", "")).removeprefix("#/$defs/")
    if name in above:
        raise _NotInSubset
    if name in definitions and name not in done:
        _check_no_cycle(definitions[name], definitions, (*above, name), done)
        done.add(name)
    for child in as_array(value) or [] if node is None else node.values():
        if child is not definitions:
            _check_no_cycle(child, definitions, above, done)

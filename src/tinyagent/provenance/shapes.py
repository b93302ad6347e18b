"""Declared shapes: the fields of results by their types, those of arguments by JSON Schema."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Union, cast, get_args, get_origin

from tinyagent.core.provenance import Place
from tinyagent.core.untrusted import as_array, as_object

_MAX_DEPTH = 20
_OPEN_TYPES = (Any, None, object, str)
"""Types of results that may hold fields that nobody declared; a text may be JSON."""


def plain_type(kind: Any) -> Any:
    """The type without `Annotated` and without None."""
    if get_origin(kind) is typing.Annotated:
        return plain_type(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        others = [each for each in get_args(kind) if each is not type(None)]
        return plain_type(others[0]) if len(others) == 1 else None
    return kind


def fields_of(kind: Any) -> Mapping[str, Any]:
    """The types of the declared fields of an object; empty if it has none."""
    model = getattr(kind, "model_fields", None)
    if isinstance(model, Mapping):
        return {name: each.annotation for name, each in cast("Mapping[str, Any]", model).items()}
    is_table = hasattr(kind, "__required_keys__")  # also a TypedDict of typing_extensions
    has_hints = dataclasses.is_dataclass(kind) or is_table
    return typing.get_type_hints(kind) if has_hints else {}


def all_fields(kind: Any, depth: int = 0) -> frozenset[str] | None:
    """The names of all fields anywhere in a result of this type; None if others are possible."""
    kind = plain_type(kind)
    if kind in _OPEN_TYPES or depth > _MAX_DEPTH:
        return None
    fields = fields_of(kind)
    inner = list(fields.values()) or [each for each in get_args(kind) if each is not Ellipsis]
    if not fields and (get_origin(kind) in (dict, Mapping) or kind in (dict, list)):
        return None
    found = set(fields)
    for each in inner:
        # A text in an object is a value, not a table.
        below = frozenset[str]() if plain_type(each) is str else all_fields(each, depth + 1)
        if below is None:
            return None
        found |= below
    return frozenset(found)


def is_declared(schema: Mapping[str, Any], place: Place) -> bool | None:
    """Whether the JSON Schema of arguments has this place; None if it allows any name there.

    Args:
        schema: Of all arguments, with its `$defs`.
        place: A value or an object's key in them.
    """
    at: list[Mapping[str, Any]] = [schema]
    for step in place:
        reached: list[Mapping[str, Any]] = []
        for each in at:
            below = _step(schema, each, step)
            if below is None:
                return None
            reached += below
        at = reached
    return bool(at)


def resolved(root: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without `$ref`, and without the null that it may be instead."""
    found = [
        each
        for each in _alternatives(root, schema)
        if each.get("type", "null") != "null" or each.keys() & {"enum", "const", "properties"}
    ]
    return found[0] if found else {}


def _step(
    root: Mapping[str, Any], schema: Mapping[str, Any], step: str
) -> list[Mapping[str, Any]] | None:
    """The schemas one step below; None if any name is allowed there."""
    found: list[Mapping[str, Any]] = []
    for each in _alternatives(root, schema):
        if step == "[]":
            items = each.get("items")
            if items is True or (each.get("type") == "array" and items is None):
                return None
            found += [entry] if (entry := as_object(items)) is not None else []
            continue
        properties = as_object(each.get("properties")) or {}
        if step[1:] in properties:
            found += [as_object(properties[step[1:]]) or {}]
        elif each is not root and each.get("type") == "object":
            more = each.get("additionalProperties", not properties)
            if more:
                return None
    return found


def _alternatives(
    root: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0
) -> Iterator[Mapping[str, Any]]:
    """The schema, or those that it refers to or chooses from."""
    if depth > _MAX_DEPTH:
        return
    name = schema.get("$ref")
    if isinstance(name, str):
        target: Any = root
        for part in name.removeprefix("#/").split("/"):
            target = (as_object(target) or {}).get(part)
        yield from _alternatives(root, as_object(target) or {}, depth + 1)
        return
    yield schema
    for word in ("anyOf", "oneOf", "allOf"):
        for each in as_array(schema.get(word)) or ():
            yield from _alternatives(root, as_object(each) or {}, depth + 1)

"""A server's description of a tool: bounded, and used for a cheap check of the arguments.

A server's schema is not trusted. A full validation can be made to take forever (with regular
expressions, or references that multiply), so only its outline is used: which arguments exist, and
the plain type or the choices of each. The server validates the rest anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from jsonschema import Draft202012Validator, SchemaError

from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.untrusted import as_array, as_object
from tinyagent.tools.parameters import tidy_schema

MAX_SCHEMA_CHARS = 20_000
MAX_DESCRIPTION_CHARS = 2_000
_SHOWN = 200


def visible(text: str, max_chars: int) -> str:
    """The text without invisible characters, in at most `max_chars`."""
    cleaned = _visible(text).strip()
    return cleaned if len(cleaned) <= max_chars else f"{cleaned[: max_chars - 1]}…"


def bounded_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema for the model, or None if it is too long."""
    if len(json.dumps(schema, ensure_ascii=False)) > MAX_SCHEMA_CHARS:
        return None
    visible_schema: dict[str, Any] = {"properties": {}} | _all_visible(schema)
    return tidy_schema(visible_schema)


def _visible(text: str) -> str:
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def _all_visible(value: Any) -> Any:
    entries, items = as_object(value), as_array(value)
    if entries is not None:
        return {_visible(key): _all_visible(entry) for key, entry in entries.items()}
    if items is not None:
        return [_all_visible(item) for item in items]
    return _visible(value) if isinstance(value, str) else value


class _Validator(Protocol):
    """The part of the library's validators that is used."""

    def is_valid(self, instance: Any) -> bool: ...


class _Argument(NamedTuple):
    """The check of one argument, and its description."""

    validator: _Validator
    expected: str


def argument_check(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A check of arguments by the outline of `schema`, which raises `ToolArgumentsError`."""
    properties = as_object(schema.get("properties")) or {}
    checked = {name: _argument(entry) for name, entry in properties.items()}
    required = [name for name in as_array(schema.get("required")) or [] if isinstance(name, str)]
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema

    def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
        faults = [f"{name}: required, but missing" for name in required if name not in arguments]
        for name, value in arguments.items():
            argument = checked.get(name)
            if argument is not None and not argument.validator.is_valid(value):
                faults.append(f"{name}: expected {argument.expected}, got {_shown(value)}")
            elif closed and name not in properties:
                faults.append(f"{name}: there is no such argument")
        if faults:
            raise ToolArgumentsError("\n".join(faults))
        return dict(arguments)

    return validate


def _argument(entry: object) -> _Argument | None:
    """The outline of one argument; None if the schema gives no plain type, or an invalid one."""
    declared = as_object(entry) or {}
    outline: dict[str, Any] = {
        key: declared[key] for key in ("type", "enum", "const") if key in declared
    }
    try:
        Draft202012Validator.check_schema(outline)
    except SchemaError:
        return None
    if not outline:
        return None
    return _Argument(Draft202012Validator(outline), _expected(outline))


def _expected(outline: Mapping[str, Any]) -> str:
    if "const" in outline:
        return _shown(outline["const"])
    if "enum" in outline:
        return f"one of {_shown(outline['enum'])}"
    kinds = as_array(outline["type"]) or [outline["type"]]
    return " or ".join(map(str, kinds))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"

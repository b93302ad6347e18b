"""JSON schemas as short as a model can read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

_OMITTED = {"title", "default", "additionalProperties", "$defs"} | {
    f"{end}{what}" for end in ("min", "max") for what in ("imum", "Items", "Length", "Properties")
}


def compact(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of Pydantic without titles, defaults, bounds, references, and "or null".

    The arguments are validated by the model of the tool, not by this schema.
    """
    known: Mapping[str, Any] = schema.get("$defs", {})
    own = {name: value for name, value in schema.items() if name != "description"}
    short: dict[str, Any] = _short(own, known)
    return short


def _short(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_short(each, known) for each in cast("Sequence[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    schema = cast("Mapping[str, Any]", value)
    if isinstance(name := schema.get("$ref"), str):
        rest = {key: each for key, each in schema.items() if key != "$ref"}
        return _short({**known[name.rpartition("/")[2]], **rest}, known)
    if "anyOf" in schema:
        chosen = [each for each in schema["anyOf"] if each != {"type": "null"}]
        rest = {key: each for key, each in schema.items() if key != "anyOf"}
        if len(chosen) == 1:
            return _short({**chosen[0], **rest}, known)
        schema = {**rest, "anyOf": chosen}
    short = {key: _short(each, known) for key, each in schema.items() if key not in _OMITTED}
    if isinstance(properties := schema.get("properties"), Mapping):
        named = cast("Mapping[str, Any]", properties)
        short["properties"] = {name: _short(each, known) for name, each in named.items()}
    return short

"""Which JSON schemas a provider accepts: a table of keywords for each, one walk for all.

OpenAI's limits on size and depth are not checked: their current values are not documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tinyagent.testing.strict.session import Json, as_dict, as_list, words

Path = tuple[str, ...]
_NOTES = "title description $defs definitions $schema $id $anchor"
_CORE = f"{_NOTES} $ref type enum anyOf items properties required additionalProperties format"
_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid")


@dataclass(frozen=True)
class Subset:
    """The part of JSON Schema that a provider accepts.

    Attributes:
        keywords: the keywords that it knows.
        formats: the formats that it knows; None means any.
        closed: each object says `additionalProperties: false`.
        all_required: each property is required.
        recursive: a schema may contain itself.
        bare_ref: `$ref` has no siblings; `"$"` allows keys that begin with `$`.
        min_items: the only values of `minItems`; None means any.
    """

    keywords: frozenset[str]
    formats: frozenset[str] | None = None
    closed: bool = False
    all_required: bool = False
    recursive: bool = True
    bare_ref: str | None = None
    min_items: tuple[int, ...] | None = None


OPENAI = Subset(
    words(
        f"{_CORE} const pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
        "minItems maxItems"
    ),
    _FORMATS,
    closed=True,
    all_required=True,
    bare_ref="",
)
ANTHROPIC = Subset(
    words(f"{_CORE} const allOf default pattern minItems"),
    _FORMATS | {"uri"},
    closed=True,
    recursive=False,
    min_items=(0, 1),
)
GEMINI = Subset(
    words(
        "$id $defs $ref $anchor type format title description enum items prefixItems minItems "
        "maxItems minimum maximum anyOf oneOf properties additionalProperties required "
        "propertyOrdering"
    ),
    bare_ref="$",
)


def fault(schema: Any, subset: Subset) -> tuple[Path, str] | None:
    """Where and why a schema is outside the subset; None if it is inside."""
    root = as_dict(schema)
    for path, node in _nodes(root, ()):
        problem = _keyword_fault(node, subset) or _object_fault(node, subset)
        if problem is None and not subset.recursive and _recurs(node, root, path):
            problem = "recursive schemas are not supported"
        if problem is not None:
            return path, problem
    return None


def root_fault(schema: Any) -> str | None:
    """Why a schema cannot describe a function's parameters."""
    kind = as_dict(schema).get("type")
    if kind == "object":
        return None
    kind_name = "None" if kind is None else kind
    return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind_name}\"'."


def _nodes(node: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    """A schema and all schemas in it."""
    yield path, node
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for name, child in as_dict(node.get(key)).items():
            yield from _nodes(as_dict(child), (*path, key, name))
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        for index, child in enumerate(as_list(node.get(key))):
            yield from _nodes(as_dict(child), (*path, key, str(index)))
    for key in ("items", "not", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _nodes(as_dict(node[key]), (*path, key))


def _keyword_fault(node: Json, subset: Subset) -> str | None:
    for key in node:
        if key not in subset.keywords:
            return f"'{key}' is not permitted."
    if "$ref" in node and subset.bare_ref is not None:
        siblings = [key for key in node if not key.startswith(subset.bare_ref or "$ref")]
        if siblings:
            return f"$ref cannot have keywords {set(siblings)}."
    form = node.get("format")
    if form is not None and subset.formats is not None and form not in subset.formats:
        return f"'{form}' is not a valid format."
    if re.search(r"\(\?<?[=!]", str(node.get("pattern", ""))):
        return "look-around is not supported in 'pattern'."
    if subset.min_items is not None and node.get("minItems", 0) not in subset.min_items:
        return f"'minItems' must be one of {subset.min_items}."
    return None


def _object_fault(node: Json, subset: Subset) -> str | None:
    if node.get("type") == "array" and subset.all_required and not as_dict(node.get("items")):
        return "array schema missing items."
    is_object = node.get("type") == "object" or "properties" in node
    if not is_object:
        return None
    if subset.closed and node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    if subset.all_required:
        properties, required = (
            as_dict(node.get("properties")),
            list(map(str, as_list(node.get("required")))),
        )
        missing = [name for name in properties if name not in required]
        extra = [name for name in required if name not in properties]
        if missing or extra:
            wrong = f"Missing '{missing[0]}'." if missing else f"Extra required key '{extra[0]}'."
            return (
                "'required' is required to be supplied and to be an array including every key "
                f"in properties. {wrong}"
            )
    return None


def _recurs(node: Json, root: Json, path: Path) -> bool:
    """Whether a `$ref` leads back to itself."""
    ref = node.get("$ref")
    return isinstance(ref, str) and (_points_up(ref, path) or _reaches(ref, ref, root, set()))


def _points_up(ref: str, path: Path) -> bool:
    target = tuple(ref.split("/")[1:])
    return path[: len(target)] == target


def _reaches(start: str, ref: str, root: Json, visited: set[str]) -> bool:
    visited.add(ref)
    target = root
    for step in ref.split("/")[1:]:
        target = as_dict(target.get(step))
    inner = {child["$ref"] for _, child in _nodes(target, ()) if isinstance(child.get("$ref"), str)}
    return start in inner or any(_reaches(start, r, root, visited) for r in inner - visited)

"""Which JSON schemas a provider accepts: a table of keywords for each, one walk for all.

OpenAI's limits on size and depth are not checked: their current values are not documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tinyagent.testing.strict.session import Json, as_dict, as_list, words

Path = tuple[str, ...]
_NOTES = "title description $defs definitions $schema $id $anchor"
_CORE = f"{_NOTES} $ref type enum anyOf items properties required additionalProperties format"
_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid")


@dataclass(frozen=True)
class Subset:
    """The part of JSON Schema that a provider accepts.

    Attributes:
        keywords: The keywords that it knows; None means any.
        formats: The formats that it knows; None means any.
        closed: Each object says `additionalProperties: false`.
        all_required: Each property is required.
        recursive: Whether a schema may contain itself, or only in properties that are not required.
        bare_ref: `$ref` has no siblings; `"$"` allows keys that begin with `$`.
        min_items: The only values of `minItems`; None means any.
        any_of_alone: `type` is in the schemas of `anyOf`, not next to it.
        one_item: `items` is one schema, not a list of them.
    """

    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    closed: bool = False
    all_required: bool = False
    recursive: bool | Literal["optional"] = True
    bare_ref: str | None = None
    min_items: tuple[int, ...] | None = None
    any_of_alone: bool = False
    one_item: bool = False


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
    recursive="optional",
    bare_ref="$",
)
KIMI = Subset(bare_ref="", any_of_alone=True, one_item=True)


def fault(schema: Any, subset: Subset) -> tuple[Path, str] | None:
    """Where and why a schema is outside the subset; None if it is inside."""
    root = as_dict(schema)
    nodes = list(_nodes(root, ()))
    for path, node, _ in nodes:
        problem = next(_keyword_faults(node, subset), None) or _object_fault(node, subset)
        if problem is not None:
            return path, problem
    if subset.recursive is not True:
        cycles = _Cycles(root, free=subset.recursive == "optional")
        for path, node, free in nodes:
            if cycles.hold(node, path, free=free):
                return path, cycles.problem
    return None


def root_fault(schema: Any) -> str | None:
    """Why a schema cannot describe a function's parameters."""
    kind = as_dict(schema).get("type")
    if kind == "object":
        return None
    kind_name = "None" if kind is None else kind
    return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind_name}\"'."


def _nodes(node: Json, path: Path, *, free: bool = False) -> Iterator[tuple[Path, Json, bool]]:
    """A schema and all schemas in it, each with whether it is in a property that is not required.

    That is as seen from the root or from the definition that holds the schema.
    """
    yield path, node, free
    required = as_list(node.get("required"))
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for name, child in as_dict(node.get(key)).items():
            optional = key == "properties" and (free or name not in required)
            yield from _nodes(as_dict(child), (*path, key, name), free=optional)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        for index, child in enumerate(as_list(node.get(key))):
            yield from _nodes(as_dict(child), (*path, key, str(index)), free=free)
    for key in ("items", "not", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _nodes(as_dict(node[key]), (*path, key), free=free)


def _keyword_faults(node: Json, subset: Subset) -> Iterator[str]:
    if subset.keywords is not None:
        yield from (f"'{key}' is not permitted." for key in node if key not in subset.keywords)
        if re.search(r"\(\?<?[=!]", str(node.get("pattern", ""))):
            yield "look-around is not supported in 'pattern'."
    if subset.any_of_alone and {"type", "anyOf"} <= node.keys():
        yield "when using anyOf, type should be defined in anyOf items instead of the parent schema"
    if subset.one_item and isinstance(node.get("items"), list):
        yield "items must be an object"
    if "$ref" in node and subset.bare_ref is not None:
        siblings = [key for key in node if not key.startswith(subset.bare_ref or "$ref")]
        if siblings:
            yield f"$ref cannot have keywords {set(siblings)}."
    form = node.get("format")
    if form is not None and subset.formats is not None and form not in subset.formats:
        yield f"'{form}' is not a valid format."
    if subset.min_items is not None and node.get("minItems", 0) not in subset.min_items:
        yield f"'minItems' must be one of {subset.min_items}."


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


@dataclass(frozen=True)
class _Cycles:
    """The references of a schema that lead back to themselves.

    Attributes:
        root: The whole schema.
        free: Such a reference may be in a property that is not required.
    """

    root: Json
    free: bool

    @property
    def problem(self) -> str:
        """Why a cycle is refused."""
        where = " in required properties" if self.free else ""
        return f"recursive schemas are not supported{where}"

    def hold(self, node: Json, path: Path, *, free: bool) -> bool:
        """Whether the reference of a node is part of a cycle that is refused."""
        ref = node.get("$ref")
        if not isinstance(ref, str) or (free and self.free):
            return False
        target = tuple(ref.split("/")[1:])
        return path[: len(target)] == target or self._reaches(ref, ref, set())

    def _reaches(self, start: str, ref: str, visited: set[str]) -> bool:
        visited.add(ref)
        target = self.root
        for step in ref.split("/")[1:]:
            target = as_dict(target.get(step))
        inner = {
            child["$ref"]
            for _, child, free in _nodes(target, ())
            if isinstance(child.get("$ref"), str) and not (free and self.free)
        }
        return start in inner or any(self._reaches(start, r, visited) for r in inner - visited)

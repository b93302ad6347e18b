"""The plain part of JSON Schema: all that Gemini and Kimi know of it.

Sources: Gemini API reference, "Schema"; Moonshot AI, "Moonshot Flavored JSON Schema".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyagent.core.untrusted import as_array, as_object

_MAX_NODES = 5_000
_MAX_DEPTH = 40
_RANGE = ("minimum", "maximum")
_LIMITS = {"array": ("minItems", "maxItems"), "integer": _RANGE, "number": _RANGE}
_IN_WORDS = ("format", "pattern", "default")
_NO_LISTS = [{"type": kind} for kind in ("string", "number", "boolean", "null", "object")]
_ANYTHING: Mapping[str, Any] = {
    "anyOf": [*_NO_LISTS, {"type": "array", "items": {"anyOf": _NO_LISTS}}]
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (),
    "object": (),
}

Json = dict[str, Any]


def plain_schema(schema: Mapping[str, Any]) -> Json:
    """A schema of an object without references, recursion, tuples, and types next to `anyOf`.

    What cannot be said without them is widened, and the reader of the answer checks the rest. Where
    anything is allowed, lists in lists are not. A schema may come from outside and have any shape.
    """
    return _Plain(schema).root()


class _Plain:
    """Rewrites one schema; what is too deep or too much in it becomes an object of any kind."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self._left = _MAX_NODES
        self._depth = 0

    def root(self) -> Json:
        """The schema as an object: choices at the root become optional properties."""
        node, refs = self._resolved(self._schema, ())
        for option in _options(node):
            inner, _ = self._resolved(as_object(option) or {}, refs)
            node["properties"] = _properties(inner) | _properties(node)
        return {"type": "object", **self._described(node), **self._object(node, refs)}

    def _node(self, value: object, refs: tuple[str, ...]) -> Json:
        self._left -= 1
        if self._left < 0 or self._depth >= _MAX_DEPTH:
            return {"type": "object"}
        self._depth += 1
        out = self._rewritten(value, refs)
        self._depth -= 1
        return out

    def _rewritten(self, value: object, refs: tuple[str, ...]) -> Json:
        node, refs = self._resolved(as_object(value) or {}, refs)
        out = self._described(node)
        options = _options(node)
        if options:
            base = {key: part for key, part in node.items() if key not in {"anyOf", "oneOf"}}
            return out | {"anyOf": [self._node(_both(base, each), refs) for each in options]}
        kinds = _kinds(node)
        if len(kinds) == 1:
            return out | self._typed(node, kinds[0], refs)
        if kinds:
            return out | {"anyOf": [self._typed(node, kind, refs) for kind in kinds]}
        return out | dict(_ANYTHING)

    def _typed(self, node: Mapping[str, Any], kind: str, refs: tuple[str, ...]) -> Json:
        out: Json = {"type": kind}
        values = _values(node)
        fitting = [each for each in values if _is(each, kind)]
        if fitting and kind != "null":
            out["enum"] = fitting
        if kind == "object":
            out |= self._object(node, refs)
        elif kind == "array":
            out["items"] = self._items(node, refs)
        return out | {
            key: node[key] for key in _LIMITS.get(kind, ()) if _is(node.get(key), "number")
        }

    def _object(self, node: Mapping[str, Any], refs: tuple[str, ...]) -> Json:
        properties = _properties(node)
        out: Json = {}
        if properties:
            out["properties"] = {name: self._node(part, refs) for name, part in properties.items()}
            names = as_array(node.get("required")) or []
            required = [name for name in properties if name in names]
            if required:
                out["required"] = required
        extra = node.get("additionalProperties")
        if extra is False and properties:
            out["additionalProperties"] = False
        elif as_object(extra):
            out["additionalProperties"] = self._node(extra, refs)
        return out

    def _items(self, node: Mapping[str, Any], refs: tuple[str, ...]) -> Json:
        """The schema of all items: for a tuple, of each of its places."""
        places = as_array(node.get("prefixItems")) or as_array(node.get("items"))
        if not places:
            return self._node(node.get("items"), refs)
        items: list[Json] = []
        for place in places:
            item = self._node(place, refs)
            if item not in items:
                items.append(item)
        return items[0] if len(items) == 1 else {"anyOf": items}

    def _described(self, node: Mapping[str, Any]) -> Json:
        words = [str(node["description"])] if node.get("description") else []
        more = [f"{key}: {node[key]}" for key in _IN_WORDS if node.get(key) is not None]
        words += [f"({', '.join(more)})"] if more else []
        return {"description": " ".join(words)} if words else {}

    def _resolved(self, node: Json, refs: tuple[str, ...]) -> tuple[Json, tuple[str, ...]]:
        """The node with what it refers to, and all references that led to it."""
        while "$ref" in node or "allOf" in node:
            self._left -= 1
            if self._left < 0:
                return {"type": "object"}, refs
            ref = node.get("$ref")
            rest = {key: part for key, part in node.items() if key not in {"$ref", "allOf"}}
            for part in as_array(node.get("allOf")) or ():
                rest = _both(rest, part)
            if ref is not None:
                target = self._target(str(ref))
                if str(ref) in refs:  # it contains itself: there only its type is known
                    target = {key: target[key] for key in ("type",) if key in target}
                refs = (*refs, str(ref))
                rest = _both(target, rest)
            node = rest
        return dict(node), refs

    def _target(self, ref: str) -> Json:
        found: Json = self._schema
        for step in ref.removeprefix("#").split("/")[1:]:
            found = as_object(found.get(step.replace("~1", "/").replace("~0", "~"))) or {}
        return found if ref.startswith("#/") else {}


def _both(base: Json, value: object) -> Json:
    """A node for what satisfies both: properties together, otherwise what `value` says."""
    other = as_object(value) or {}
    out = base | other
    if "properties" in base and "properties" in other:
        out["properties"] = _properties(base) | _properties(other)
    if "required" in base and "required" in other:
        out["required"] = [
            *(as_array(base["required"]) or ()),
            *(as_array(other["required"]) or ()),
        ]
    return out


def _options(node: Mapping[str, Any]) -> list[Any]:
    return as_array(node.get("anyOf")) or as_array(node.get("oneOf")) or []


def _properties(node: Mapping[str, Any]) -> Json:
    return as_object(node.get("properties")) or {}


def _values(node: Mapping[str, Any]) -> list[Any]:
    return [node["const"]] if "const" in node else as_array(node.get("enum")) or []


def _kinds(node: Mapping[str, Any]) -> list[str]:
    """The types that a node admits; none if it admits anything."""
    declared = node.get("type")
    kinds = [str(kind) for kind in as_array(declared) or [declared] if str(kind) in _TYPES]
    if kinds:
        return kinds
    if "properties" in node or "additionalProperties" in node:
        return ["object"]
    if "items" in node or "prefixItems" in node:
        return ["array"]
    return _kinds_of(_values(node))


def _kinds_of(values: list[Any]) -> list[str]:
    kinds = ("string", "integer", "number", "boolean", "null")
    firsts = {next((kind for kind in kinds if _is(value, kind)), "") for value in values}
    return [kind for kind in kinds if kind in firsts]


def _is(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))

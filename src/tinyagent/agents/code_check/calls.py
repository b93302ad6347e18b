"""Calls of tools in a block: what is certainly wrong with their arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.untrusted import as_array, as_object
from tinyagent.tools.checking import read_arguments
from tinyagent.tools.tool import Tool, bind_arguments

_UNKNOWN: Any = object()
_TEXTS = ("", "[]", "{}", "text")
_LISTS_OR_OBJECTS = frozenset({"array", "object", "null"})


class _SomeText:
    """The value of an f-string."""


def call_faults(call: ast.Call, tool: Tool, constants: Mapping[str, Any]) -> list[str]:
    """What is wrong with a call, whatever the values of its variables are.

    Only constants, lists and objects of constants, and f-strings (which are some text) are looked
    at; of a call with `*` or `**` only what is passed by name.

    Args:
        call: Of the tool.
        tool: That is called.
        constants: Variables that only ever hold one constant.
    """
    nodes: dict[str, ast.expr] = {each.arg: each.value for each in call.keywords if each.arg}
    is_open = len(nodes) < len(call.keywords)  # by `**`; twice the same name does not parse
    if any(isinstance(each, ast.Starred) for each in call.args):
        is_open = True
    else:
        try:
            nodes = bind_arguments(tool, call.args, nodes)
        except ToolArgumentsError as error:
            return [str(error)]
    values = {name: _value_of(node, constants) for name, node in nodes.items()}
    texts = {name for name, value in values.items() if isinstance(value, _SomeText)}
    known = {name: value for name, value in values.items() if _is_known(value)}
    properties: Mapping[str, Any] = tool.json_schema.get("properties", {})
    strange = {name: None for name in nodes if name not in properties}
    missing = () if is_open else [name for name in properties if name not in nodes]
    certain = {*known, *strange, *missing}
    lines = _complaints(tool, {**known, **strange})
    faults = [line for line in lines if _subject(line) in certain]
    faults += [
        f"{name}: a text is not accepted"
        for name in sorted(texts & properties.keys())
        if _refuses_texts(tool, name, properties[name])
    ]
    return faults


def _complaints(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    try:
        read_arguments(tool, arguments)
    except ToolArgumentsError as error:
        return str(error).splitlines() if error.__cause__ is None else []
    return []


def _subject(line: str) -> str:
    """The argument that a line of a `ToolArgumentsError` is about."""
    return line.partition(":")[0].partition(".")[0]


def _refuses_texts(tool: Tool, name: str, schema: Mapping[str, Any]) -> bool:
    """Whether an argument is a list or an object, for which no text can stand."""
    options = as_array(schema.get("anyOf")) or [schema]
    kinds = [(as_object(option) or {}).get("type") for option in options]
    return all(isinstance(kind, str) and kind in _LISTS_OR_OBJECTS for kind in kinds) and all(
        any(_subject(line) == name for line in _complaints(tool, {name: text})) for text in _TEXTS
    )


def _value_of(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """The value of a literal or a constant variable; `_UNKNOWN` for anything else."""
    if isinstance(node, ast.Constant | ast.Name):
        value = node.value if isinstance(node, ast.Constant) else constants.get(node.id, _UNKNOWN)
        return value if isinstance(value, (str, int, float, type(None))) else _UNKNOWN
    if isinstance(node, ast.JoinedStr):
        return _SomeText()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value_of(node.operand, constants)
        return -value if isinstance(value, int | float) else _UNKNOWN
    if isinstance(node, ast.List):
        items = [_value_of(each, constants) for each in node.elts]
        return items if all(map(_is_known, items)) else _UNKNOWN
    if isinstance(node, ast.Dict):
        keys = [_UNKNOWN if each is None else _value_of(each, constants) for each in node.keys]
        items = [_value_of(each, constants) for each in node.values]
        if all(isinstance(key, str) for key in keys) and all(map(_is_known, items)):
            return dict(zip(keys, items, strict=True))
    return _UNKNOWN


def _is_known(value: Any) -> bool:
    return value is not _UNKNOWN and not isinstance(value, _SomeText)

"""A tool as code sees it: its signature and docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from tinyagent.core.untrusted import as_array

if TYPE_CHECKING:
    from tinyagent.tools.tool import Tool

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def python_signature(tool: Tool) -> str:
    """The line `name(parameters) -> result` by which code calls it."""
    parameters = _parameters(tool.json_schema, tool.json_schema.get("$defs", {}))
    return f"{tool.name}({', '.join(parameters)}){_result(tool)}"


def python_stub(tool: Tool) -> str:
    """The tool as a function without a body: its signature and what it does."""
    doc = tool.doc.replace('"""', "'''")
    lines = "\n".join(f"    {line}".rstrip() for line in _described(tool, doc).splitlines())
    return f'def {python_signature(tool)}:\n    """{lines.strip()}"""'


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    return properties


def _parameters(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    required = schema.get("required", ())
    declarations: list[str] = []
    for name, part in _properties(schema).items():
        text = f"{name}: {_type(part, definitions)}"
        if name not in required:
            text += f" = {part.get('default')!r}"
        declarations.append(text)
    return declarations


def _named(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a `$ref` names, or the schema itself."""
    reference = str(schema.get("$ref", ""))
    target: Mapping[str, Any] = definitions.get(reference.rpartition("/")[2], schema)
    return target if reference else schema


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The Python type of a JSON Schema, simplified to one line."""
    schema = _named(schema, definitions)
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(option, definitions) for option in schema[key]))
    kind = schema.get("type", "")
    several = as_array(kind)
    if several is not None:
        return " | ".join(_TYPES.get(str(name), "Any") for name in several)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list[{_type(schema['items'], definitions)}]"
    return _TYPES.get(str(kind), "Any")


def _result(tool: Tool) -> str:
    """The return type; empty for tools of a server, which return text."""
    returns = inspect.signature(tool.fn).return_annotation
    if returns is inspect.Signature.empty:
        return ""
    if isinstance(returns, type) and not get_args(returns):
        return f" -> {returns.__name__}"
    return f" -> {str(returns).replace('typing.', '')}"


def _described(tool: Tool, doc: str) -> str:
    """The docstring, with a description of each parameter."""
    definitions = tool.json_schema.get("$defs", {})
    lines = [
        f"    {name}: {text}"
        for name, schema in _properties(tool.json_schema).items()
        if (text := "; ".join(_remarks(schema, definitions)))
    ]
    return doc if not lines else "\n".join([doc, "", "Args:", *lines])


def _remarks(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    """The description of a parameter, and the fields of the objects that it holds."""
    if schema.get("description"):
        yield str(schema["description"])
    parts = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
    for part in parts:
        fields = _parameters(_named(part, definitions), definitions) if "$ref" in part else []
        if fields:
            yield f"a dict with {', '.join(fields)}"

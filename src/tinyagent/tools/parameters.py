"""From a function's signature and docstring to a Pydantic model of its arguments.

Pydantic makes the JSON Schema, converts the arguments that the model sends and finds errors.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tinyagent.core.errors import ToolDefinitionError
from tinyagent.core.untrusted import as_array, as_object, short_repr
from tinyagent.tools.deps import context_of, deps_of

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SHOWN = 200
_MAX_FAULTS = 20


def read_docstring(fn: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split the docstring of `fn` into its text and the descriptions of its parameters.

    Google, NumPy and reST style are recognized. The text is everything before the sections,
    followed by what is returned; it is empty if there is no docstring.
    """
    doc = inspect.getdoc(fn) or ""
    if "\n" not in doc:
        return doc.strip(), {}
    import griffe  # noqa: PLC0415 - 0.1 s of CPU that a one-line docstring does not need

    text: list[str] = []
    parameters: dict[str, str] = {}
    silent = {style: {"warnings": False} for style in ("google", "numpy", "sphinx")}
    sections = griffe.parse_auto(
        griffe.Docstring(doc), default="google", per_style_options=cast("Any", silent)
    )
    for section in sections:
        if isinstance(section, griffe.DocstringSectionText):
            text.append(section.value.strip())
        elif isinstance(section, griffe.DocstringSectionParameters):
            parameters.update({p.name: p.description.strip() for p in section.value})
        elif isinstance(section, griffe.DocstringSectionReturns) and text:
            text.append(f"Returns: {' '.join(item.description for item in section.value)}")
    return "\n\n".join(text), parameters


class Parameters(NamedTuple):
    """The parameters of a function.

    Attributes:
        model: Reads the arguments; each field has the parameter's name as its alias.
        names: The parameter of each field.
        json_schema: JSON Schema of the arguments.
        context_name: The parameter that receives the run's `RunContext`, if any.
        deps_type: The type of the `deps` that it must have; None if there need not be any.
        returns: The type of the result.
    """

    model: type[BaseModel]
    names: Mapping[str, str]
    json_schema: dict[str, Any]
    context_name: str | None
    deps_type: Any = None
    returns: Any = None


def read_parameters(
    fn: Callable[..., Any], name: str, descriptions: Mapping[str, str]
) -> Parameters:
    """The parameters of `fn`, as a model may send them.

    Raises:
        ToolDefinitionError: A parameter has no type hint, a hint cannot be resolved or described
            as JSON, or arguments cannot be passed by name.
    """
    hints = _resolve_hints(fn, name)
    names: dict[str, str] = {}
    context_name: str | None = None
    deps_type: Any = None
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(fn).parameters.values():
        _check_parameter(parameter, hints, name)
        context = context_of(hints[parameter.name])
        if context is not None:
            context_name, deps_type = parameter.name, deps_of(context)
            continue
        # Fields are numbered and aliased: a parameter may have any name, while Pydantic reserves
        # some (`schema`, `copy`, `_x`).
        field = f"p{len(fields)}"
        fields[field] = _field(parameter, hints[parameter.name], descriptions)
        names[field] = parameter.name
    model, schema = _build_model(name, fields)
    return Parameters(model, names, schema, context_name, deps_type, hints.get("return"))


def describe_faults(error: ValidationError) -> str:
    """One line for each error, for a model to read: field, expected and actual value."""
    lines: list[str] = []
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults[:_MAX_FAULTS]:
        where = _shorten(".".join(str(part) for part in fault["loc"])) or "(the whole)"
        if fault["type"] == "missing":
            lines.append(f"{where}: required, but missing")
        elif fault["type"] == "extra_forbidden":
            lines.append(f"{where}: there is no such argument")
        else:
            lines.append(f"{where}: {fault['msg']}, got {short_repr(fault['input'], _SHOWN)}")
    if len(faults) > _MAX_FAULTS:
        lines.append(f"and {len(faults) - _MAX_FAULTS} more faults")
    return "\n".join(lines)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _resolve_hints(fn: Callable[..., Any], name: str) -> dict[str, Any]:
    target = fn if inspect.isroutine(fn) else type(fn).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise ToolDefinitionError(
            f"tool {name!r}: a type hint cannot be resolved ({error});"
            " import its types at module level"
        ) from None


def _check_parameter(parameter: inspect.Parameter, hints: Mapping[str, Any], name: str) -> None:
    if parameter.kind not in _NAMED:
        bare = parameter.replace(annotation=parameter.empty, default=parameter.empty)
        raise ToolDefinitionError(
            f"tool {name!r}: parameter {str(bare)!r} cannot be passed by name;"
            " give each argument its own name"
        )
    if parameter.name not in hints:
        raise ToolDefinitionError(
            f"tool {name!r}: parameter {parameter.name!r} has no type hint; write"
            f" `{parameter.name}: str`, or the type it takes"
        )


def _field(
    parameter: inspect.Parameter, hint: Any, descriptions: Mapping[str, str]
) -> tuple[Any, Any]:
    from pydantic import Field  # noqa: PLC0415

    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    description = descriptions.get(parameter.name)
    return hint, Field(default, alias=parameter.name, description=description)


def _build_model(name: str, fields: Mapping[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    from pydantic import ConfigDict, PydanticUserError, create_model  # noqa: PLC0415
    from pydantic.errors import PydanticInvalidForJsonSchema  # noqa: PLC0415

    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **fields)
        return model, tidy_schema(model.model_json_schema())
    except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
        reason = str(error).splitlines()[0]
        raise ToolDefinitionError(
            f"tool {name!r}: a parameter's type cannot be described as JSON ({reason});"
            " use plain types, dataclasses, TypedDicts or Pydantic models"
        ) from None


def tidy_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles that Pydantic generates, which cost tokens for nothing."""
    return {key: _tidy(key, value) for key, value in schema.items() if key != "title"}


def _tidy(key: str, value: object) -> object:
    entries, items = as_object(value), as_array(value)
    if entries is not None and key in {"properties", "$defs"}:
        return {name: _tidy("", entry) for name, entry in entries.items()}
    if entries is not None and key != "default":
        return tidy_schema(entries)
    if items is not None and key in {"anyOf", "allOf", "oneOf", "prefixItems"}:
        return [_tidy("", item) for item in items]
    return value

"""Arguments of a call are checked before anyone else sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.tools.tool import Tool, not_run, wrong_arguments

_PLAIN = (str, int, float, bool, type(None))


def check_call(tool: Tool | None, call: ToolCall) -> ToolCall | ToolResult:
    """The call with its arguments as the tool reads them, or why it is not made.

    Arguments stay JSON: `"120"` for an int becomes 120, a date stays its text, a `Decimal` becomes
    a number. What the tool would read otherwise in this form stays as the model has sent it. A call
    of an unknown tool is returned unchanged.
    """
    if tool is None:
        return call
    if call.fault is not None:
        return not_run(call)
    try:
        values = read_arguments(tool, call.arguments)
    except ToolArgumentsError as error:
        if error.__cause__ is not None:
            logger.warning("tool %s cannot check its arguments", tool.name, exc_info=error)
        faulty = replace(call, fault=f"wrong arguments:\n{error}")
        return ToolResult(faulty, wrong_arguments(tool, error), is_error=True, error=error)
    plain = {name: _plain(sent, values.get(name, sent)) for name, sent in call.arguments.items()}
    if all(plain[name] is sent for name, sent in call.arguments.items()):
        return call
    return replace(call, arguments=plain) if _reads_as(tool, plain, values) else call


def read_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`tool.validate`, whose failures of any kind are wrong arguments.

    Raises:
        ToolArgumentsError: The tool refuses the arguments, or its own code fails on them.
    """
    try:
        return tool.validate(arguments)
    except ToolArgumentsError:
        raise
    except Exception as error:
        raise ToolArgumentsError(f"they cannot be read: {type(error).__name__}: {error}") from error


def _plain(sent: Any, value: Any) -> Any:
    """The value that the tool reads, in JSON's types; what was sent if it is the same."""
    if type(value) is type(sent) and value == sent:
        return sent
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):
        return _number(value)
    from pydantic_core import PydanticSerializationError, to_jsonable_python  # noqa: PLC0415

    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError):
        return sent


def _number(value: Decimal) -> int | float | str:
    """A number if it is exactly this one when the tool reads it, otherwise its text."""
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and value.adjusted() < 18:  # noqa: PLR2004 - 64 bits
        return int(value)
    number = float(value)
    return number if Decimal(str(number)) == value else str(value)


def _reads_as(tool: Tool, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether the tool reads the arguments as these values."""
    try:
        return bool(read_arguments(tool, arguments) == values)
    except ToolArgumentsError:
        return False

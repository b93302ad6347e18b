from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, SecretStr

from tinyagent import Tool, ToolCall
from tinyagent.core import ToolArgumentsError, ToolResult
from tinyagent.tools.checking import check_call


class Color(Enum):
    RED = "red"


class Line(BaseModel):
    item: str
    count: int = 1


def number(value: int = 3, other: float = 0.5) -> str:
    """Take numbers."""
    return f"{value} {other}"


def day(value: date) -> str:
    """Take a day."""
    return str(value)


def amount(value: Decimal) -> str:
    """Take an amount."""
    return str(value)


def numbers(value: list[int]) -> str:
    """Take numbers."""
    return str(value)


def lines(value: list[Line]) -> str:
    """Take lines."""
    return str(value)


def color(value: Color) -> str:
    """Take a color."""
    return str(value)


def secret(value: SecretStr) -> str:
    """Take a secret."""
    return value.get_secret_value()


def doubled(value: Annotated[int, AfterValidator(lambda read: read * 2)]) -> str:
    """Take a number that is read as its double."""
    return str(value)


def stripped(value: Annotated[int, BeforeValidator(lambda text: int(text.strip("#")))]) -> str:
    """Take a number written as #3."""
    return str(value)


@pytest.mark.parametrize(
    ("function", "sent", "seen"),
    [
        (number, "120", 120),
        (number, 120, 120),
        (number, 120.0, 120),
        (day, "2026-01-05", "2026-01-05"),
        (day, 0, "1970-01-01"),
        (amount, "120", 120),
        (amount, "1.10", 1.1),
        (amount, "0.12345678901234567890", "0.12345678901234567890"),
        (amount, "1E+30", 1e30),
        (numbers, ["1", 2], [1, 2]),
        (lines, [{"item": "tea", "count": "2"}], [{"item": "tea", "count": 2}]),
        (color, "red", "red"),
        (secret, "s3cret", "s3cret"),
        (doubled, 3, 3),  # read again, 6 would become 12
        (stripped, "#3", "#3"),  # 3 could not be read again
    ],
)
def test_arguments_are_json_as_the_tool_reads_them(
    function: Callable[..., Any], sent: Any, seen: Any
) -> None:
    tool = Tool.from_function(function)
    call = check_call(tool, ToolCall("1", tool.name, {"value": sent}))
    assert isinstance(call, ToolCall)
    assert call.arguments == {"value": seen}
    assert type(call.arguments["value"]) is type(seen)
    assert tool.validate(call.arguments) == tool.validate({"value": sent})


def test_checked_arguments_stay_as_they_are_when_they_are_checked_again() -> None:
    tool = Tool.from_function(number)
    once = check_call(tool, ToolCall("1", "number", {"value": "7", "other": 1}))
    assert isinstance(once, ToolCall)
    assert once.arguments == {"value": 7, "other": 1.0}
    assert check_call(tool, once) is once


def test_wrong_arguments_are_answered_with_the_signature() -> None:
    tool = Tool.from_function(number)
    result = check_call(tool, ToolCall("1", "number", {"value": "x", "valeu": 1}))
    assert isinstance(result, ToolResult)
    assert isinstance(result.error, ToolArgumentsError)
    assert "value: Input should be a valid integer" in result.content
    assert "valeu: there is no such argument" in result.content
    assert "number(value: int = 3, other: float = 0.5) -> str" in result.content
    assert result.call.fault is not None


def broken(value: Annotated[str, BeforeValidator(lambda text: text["x"])]) -> str:
    """Take a text."""
    return value


def test_a_validator_that_fails_refuses_the_call() -> None:
    tool = Tool.from_function(broken)
    result = check_call(tool, ToolCall("1", "broken", {"value": "a"}))
    assert isinstance(result, ToolResult)
    assert "TypeError" in result.content


def test_a_call_of_no_tool_and_one_that_cannot_be_read() -> None:
    unknown = ToolCall("1", "nothing", {"a": "1"})
    assert check_call(None, unknown) is unknown
    faulty = ToolCall("1", "number", {"_unreadable": "{"}, fault="its arguments are cut off.")
    result = check_call(Tool.from_function(number), faulty)
    assert isinstance(result, ToolResult)
    assert result.content == "Error: the call to number was not run: its arguments are cut off."

from __future__ import annotations

import pytest

from tinyagent import Tool, ToolDefinitionError, tool
from tinyagent.core import UnknownToolError
from tinyagent.tools import ToolRegistry, get_registry
from tinyagent.tools.tool import unknown_tool


def greet(name: str) -> str:
    """Say hello."""
    return f"hello {name}"


def test_a_tool_is_found_by_its_name() -> None:
    registry = ToolRegistry()
    added = registry.add(Tool.from_function(greet))
    assert registry.get("greet") is added
    assert "greet" in registry
    assert list(registry) == [added]
    assert len(registry) == 1


def test_the_later_of_two_tools_of_one_name_counts() -> None:
    registry = ToolRegistry()
    registry.add(Tool.from_function(greet))
    later = registry.add(Tool.from_function(greet))
    assert registry.get("greet") is later
    assert len(registry) == 1


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    registry = ToolRegistry()
    registry.add(Tool.from_function(greet))
    with pytest.raises(UnknownToolError, match="no tool 'great'; did you mean greet"):
        registry.get("great")


def test_a_frozen_registry_takes_no_more() -> None:
    registry = ToolRegistry()
    registry.freeze()
    with pytest.raises(ToolDefinitionError, match=r"'greet' is defined after .* define it before"):
        registry.add(Tool.from_function(greet))
    assert len(registry) == 0


def test_the_decorator_fills_the_registry() -> None:
    made = tool(name="registered_by_a_test")(greet)
    assert get_registry().get("registered_by_a_test") is made


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([], "there is no tool 'ad'; there are no tools at all"),
        (["mail"], "there is no tool 'ad'; Tools: mail"),
        (["add", "mail"], "there is no tool 'ad'; did you mean add? Tools: add, mail"),
        (["add", "adds"], "there is no tool 'ad'; did you mean add or adds? Tools: add, adds"),
    ],
)
def test_the_message_for_an_unknown_tool(known: list[str], message: str) -> None:
    assert unknown_tool("ad", known) == message

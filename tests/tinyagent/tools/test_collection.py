from __future__ import annotations

import functools
from typing import Any

import pytest

from tinyagent import Tool, ToolDefinitionError
from tinyagent.tools.registry import collect_tools


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Ledger:
    def total(self) -> int:
        """Add it all up."""
        return 5


def test_tools_functions_and_methods_are_collected_in_order() -> None:
    made = Tool.from_function(add, name="plus")
    tools = collect_tools([made, add, Ledger().total])
    assert list(tools) == ["plus", "add", "total"]
    assert tools["plus"] is made


async def test_a_method_is_called_on_its_object() -> None:
    assert await collect_tools([Ledger().total])["total"].run({}) == 5


def test_no_items_are_no_tools() -> None:
    assert collect_tools(()) == {}


@pytest.mark.parametrize("item", ["add", 5, None, int, Ledger(), functools.partial(add, 1)])
def test_an_item_that_is_not_a_tool_is_named_with_the_fix(item: Any) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        collect_tools([item])
    assert str(caught.value) == (
        f"{item!r} is not a tool; pass a function with type hints and a docstring, or a Tool"
    )


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are called 'add'; rename one"):
        collect_tools([add, Tool.from_function(Ledger().total, name="add")])

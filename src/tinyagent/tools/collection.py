"""From what a caller gives as tools to tools by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from tinyagent.core.errors import ToolDefinitionError
from tinyagent.tools.tool import Tool


def collect_tools(items: Iterable[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    """The tools by name, in their order.

    Raises:
        ToolDefinitionError: an item is no tool, or two tools share a name.
    """
    tools: dict[str, Tool] = {}
    for item in items:
        made = _as_tool(item)
        if made.name in tools:
            raise ToolDefinitionError(
                f"two tools are called {made.name!r}; rename one with @tool(name=...)"
            )
        tools[made.name] = made
    return tools


def _as_tool(item: object) -> Tool:
    if isinstance(item, Tool):
        return item
    if inspect.isfunction(item) or inspect.ismethod(item):
        return Tool.from_function(item)
    raise ToolDefinitionError(
        f"{item!r} is not a tool; give a function with type hints and a docstring, or a Tool"
    )

"""`@tool` and its registry; the tools of an agent by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Unpack, overload

from tinyagent.core.errors import ToolDefinitionError, UnknownToolError
from tinyagent.options import checks_options
from tinyagent.tools.tool import Tool, ToolOptions, unknown_tool


class ToolRegistry:
    """Tools by name. Agents receive their tools; the registry is for finding them by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._frozen = False

    def add(self, tool: Tool) -> Tool:
        """Add a tool and return it. It replaces an earlier one of the same name.

        Raises:
            ToolDefinitionError: The registry is frozen.
        """
        if self._frozen:
            raise ToolDefinitionError(
                f"tool {tool.name!r} is defined after the registry was frozen; define it before"
                " freeze()"
            )
        self._tools[tool.name] = tool
        return tool

    def freeze(self) -> None:
        """Accept no more tools."""
        self._frozen = True

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            UnknownToolError: There is none; the message suggests similar names.
        """
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownToolError(unknown_tool(name, self._tools)) from None

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


_registry = ToolRegistry()


def get_registry() -> ToolRegistry:
    """The registry that `@tool` fills."""
    return _registry


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, **options: Unpack[ToolOptions]
) -> Callable[[Callable[..., Any]], Tool]: ...
@checks_options(ToolOptions)
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a function and add it to the registry.

    The function, sync or async, needs type hints on all parameters and the return value, and a
    docstring; the descriptions of parameters (Google, NumPy or reST style) become part of the
    schema. Use it as `@tool` or `@tool(name=..., requires_approval=..., timeout=seconds,
    retries=..., sequential=..., idempotent=...)`; `Tool` says what each means.

    Raises:
        ToolDefinitionError: It names the function, what is missing and the fix.
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        return _registry.add(Tool.from_function(function, name=name, **options))

    return decorate if fn is None else decorate(fn)


def collect_tools(items: Iterable[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    """The tools by name, in order.

    Raises:
        ToolDefinitionError: An item is not a tool, or two tools share a name.
    """
    tools: dict[str, Tool] = {}
    for item in items:
        collected = _as_tool(item)
        if collected.name in tools:
            raise ToolDefinitionError(
                f"two tools are called {collected.name!r}; rename one with @tool(name=...)"
            )
        tools[collected.name] = collected
    return tools


def _as_tool(item: object) -> Tool:
    if isinstance(item, Tool):
        return item
    if inspect.isfunction(item) or inspect.ismethod(item):
        return Tool.from_function(item)
    raise ToolDefinitionError(
        f"{item!r} is not a tool; pass a function with type hints and a docstring, or a Tool"
    )

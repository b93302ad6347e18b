"""The registry: the functions decorated with `@tool` in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tinyagent.core.errors import ToolDefinitionError, UnknownToolError

if TYPE_CHECKING:
    from tinyagent.tools.tool import Tool


class ToolRegistry:
    """Tools by name. Agents receive their tools; the registry is for finding them by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._frozen = False

    def add(self, tool: Tool) -> Tool:
        """Add a tool and return it. It replaces an earlier one of the same name.

        Raises:
            ToolDefinitionError: the registry is frozen.
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
            UnknownToolError: there is none; the message suggests similar names.
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


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """The error message for an unknown tool: similar names first, then all names."""
    names = list(known)
    if not names:
        return f"there is no tool {name!r}; there are no tools at all"
    import difflib  # noqa: PLC0415 - only for a model that gets a name wrong

    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ";"
    return f"there is no tool {name!r}{hint} Tools: {', '.join(names)}"

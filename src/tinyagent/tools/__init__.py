"""Tools: typed functions that a model may call."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.tools.registry import ToolRegistry, get_registry
    from tinyagent.tools.tool import Tool
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "registry": "ToolRegistry get_registry",
            "tool": "Tool",
        },
    )

__all__ = [
    "Tool",
    "ToolRegistry",
    "get_registry",
]

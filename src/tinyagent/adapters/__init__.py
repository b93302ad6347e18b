"""Adapters: how a model is offered tools, and how its calls are read."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.adapters.base import ToolCallingAdapter
    from tinyagent.adapters.choose import get_adapter
    from tinyagent.adapters.native import NativeToolAdapter
    from tinyagent.adapters.structured import OpenAIStructuredAdapter, ParsedAdapter
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": "ToolCallingAdapter",
            "choose": "get_adapter",
            "native": "NativeToolAdapter",
            "structured": "OpenAIStructuredAdapter ParsedAdapter",
        },
    )

__all__ = [
    "NativeToolAdapter",
    "OpenAIStructuredAdapter",
    "ParsedAdapter",
    "ToolCallingAdapter",
    "get_adapter",
]

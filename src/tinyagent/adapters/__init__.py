"""How a model is offered tools, and how its calls are read."""

from __future__ import annotations

from typing import Literal

from tinyagent.adapters.base import ToolCallingAdapter
from tinyagent.adapters.native import NativeToolAdapter
from tinyagent.core.errors import ConfigurationError

ToolCallingMode = Literal["auto", "native"]

__all__ = ["NativeToolAdapter", "ToolCallingAdapter", "ToolCallingMode", "get_adapter"]


def get_adapter(mode: ToolCallingMode = "auto") -> ToolCallingAdapter:
    """The adapter for a `tool_calling_mode`.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode in {"auto", "native"}:
        return NativeToolAdapter()
    raise ConfigurationError(f"tool_calling_mode {mode!r} is none of: auto, native")

"""How a model is offered tools, and how its calls are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, get_args

from tinyagent.adapters.base import ToolCallingAdapter
from tinyagent.adapters.native import NativeToolAdapter
from tinyagent.adapters.parsed import ParsedAdapter
from tinyagent.adapters.structured import OpenAIStructuredAdapter
from tinyagent.adapters.validated import ValidatedAdapter
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ToolSpec

ToolCallingMode = Literal["auto", "native", "structured", "validated", "parsed"]

__all__ = [
    "NativeToolAdapter",
    "OpenAIStructuredAdapter",
    "ParsedAdapter",
    "ToolCallingAdapter",
    "ToolCallingMode",
    "ValidatedAdapter",
    "get_adapter",
    "step_down",
]

_ADAPTERS: dict[str, Callable[[], ToolCallingAdapter]] = {
    "native": NativeToolAdapter,
    "structured": OpenAIStructuredAdapter,
    "validated": lambda: ValidatedAdapter(NativeToolAdapter()),
    "parsed": ParsedAdapter,
}
# Families whose chat templates have no place for tools: servers drop `tools` without a word.
_WITHOUT_FUNCTIONS = ("smollm", "tinyllama", "gemma-2", "gemma2", "phi-2", "phi-3", "stablelm")


class Named(Protocol):
    """A model, as far as its adapter needs to know it."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...


def get_adapter(
    model: Named | str, tools: Sequence[ToolSpec], mode: ToolCallingMode = "auto"
) -> ToolCallingAdapter:
    """The adapter for a `tool_calling_mode`.

    `auto` is native, but structured where there are tools and the model is known to drop them.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode not in get_args(ToolCallingMode):
        known = ", ".join(get_args(ToolCallingMode))
        raise ConfigurationError(f"tool_calling_mode {mode!r} is none of: {known}")
    if mode == "auto":
        name = (model if isinstance(model, str) else model.name).lower()
        drops = any(family in name for family in _WITHOUT_FUNCTIONS)
        mode = "structured" if drops and tools else "native"
    return _ADAPTERS[mode]()


def step_down(adapter: ToolCallingAdapter) -> ToolCallingAdapter | None:
    """What to try where a server refuses the form of `adapter`: native, structured, parsed.

    None where there is nothing left.
    """
    if isinstance(adapter, ParsedAdapter):
        return None
    if isinstance(adapter, OpenAIStructuredAdapter):
        return ParsedAdapter()
    return OpenAIStructuredAdapter()

"""Which adapter a model is used with, and what is learned when its server refuses one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from tinyagent.adapters.base import ToolCallingAdapter
from tinyagent.adapters.native import NativeToolAdapter
from tinyagent.adapters.structured import OpenAIStructuredAdapter, ParsedAdapter
from tinyagent.core.errors import ConfigurationError, ModelFormatRefused
from tinyagent.core.logs import logger
from tinyagent.core.types import RequestFormat, ToolSpec

ToolCallingMode = Literal["auto", "native", "structured", "parsed"]

_ADAPTERS: dict[str, Callable[[], ToolCallingAdapter]] = {
    "native": NativeToolAdapter,
    "structured": OpenAIStructuredAdapter,
    "parsed": ParsedAdapter,
}
# Families whose chat templates have no place for tools: servers drop `tools` without an error.
_WITHOUT_FUNCTIONS = ("smollm", "tinyllama", "gemma-2", "gemma2", "phi-2", "phi-3", "stablelm")


# The size in a name such as qwen2.5-coder-1.5b or llama3.2:3b; not that of a part, as in 30b-a3b.
_SMALL = re.compile(r"(?<![\w.])\d(?:\.\d{1,2})?b(?![\w.])")


class _Named(Protocol):
    """A model, as far as its adapter needs to know it."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...


def get_adapter(
    model: _Named | str, tools: Sequence[ToolSpec], mode: ToolCallingMode = "auto"
) -> ToolCallingAdapter:
    """The adapter for a `tool_calling_mode`.

    `auto` is native, but structured if there are tools and the model is known to drop them.

    Raises:
        ConfigurationError: The mode is unknown.
    """
    if mode not in get_args(ToolCallingMode):
        known = ", ".join(get_args(ToolCallingMode))
        raise ConfigurationError(f"unknown tool_calling_mode {mode!r}; use one of: {known}")
    if mode == "auto":
        name = (model if isinstance(model, str) else model.name).lower()
        drops = any(family in name for family in _WITHOUT_FUNCTIONS)
        mode = "structured" if drops and tools else "native"
    return _ADAPTERS[mode]()


def is_small(model: _Named) -> bool:
    """Whether the name says that the model has fewer than ten billion parameters."""
    return _SMALL.search(model.name.lower()) is not None


def step_down(adapter: ToolCallingAdapter) -> ToolCallingAdapter | None:
    """The next adapter to try if a server refuses the form of `adapter`; None if none is left.

    The order is native, structured, parsed.
    """
    if isinstance(adapter, ParsedAdapter):
        return None
    if isinstance(adapter, OpenAIStructuredAdapter):
        return ParsedAdapter()
    return OpenAIStructuredAdapter()


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """An adapter and the request format in which it offers an agent's tools."""

    adapter: ToolCallingAdapter
    format: RequestFormat


class ToolOffers:
    """The offer that a model's server accepts.

    This is knowledge about a server, not the state of a run: a refusal is learned once, and every
    later request of the agent uses the next form. Each run keeps the offer of its latest request.

    Args:
        adapter: The first to use.
        tools: What is offered.
        output_schema: JSON Schema of the answer, if it has a type.
        may_step_down: Whether another adapter may replace a refused one.

    Attributes:
        calls_natively: Whether the server has ever returned a call that the model made.
    """

    def __init__(
        self,
        adapter: ToolCallingAdapter,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None,
        *,
        may_step_down: bool,
    ) -> None:
        self._tools = tools
        self._output_schema = output_schema
        self._may_step_down = may_step_down
        self.calls_natively = False
        self.current = self._offer(adapter)

    def refuse(self, refused: ToolOffer, reason: ModelFormatRefused) -> bool:
        """Learn that the server refuses an offer; False if there is no other to try."""
        lower = step_down(refused.adapter) if self._may_step_down else None
        if lower is None:
            return False
        if self.current is refused:  # otherwise a concurrent run has stepped down already
            self.current = self._offer(lower)
            logger.info("%s; continuing with %s", reason, type(lower).__name__)
        return True

    def _offer(self, adapter: ToolCallingAdapter) -> ToolOffer:
        return ToolOffer(adapter, adapter.format_request(self._tools, self._output_schema))

"""The options of agents, in addition to model and tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ReasoningWish
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.protocol import Executor
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.steps import Step
from tinyagent.middleware.approval import Approval
from tinyagent.middleware.base import Middleware
from tinyagent.middleware.limits import UsageLimits
from tinyagent.models.provider import check_reasoning
from tinyagent.options import require_least
from tinyagent.tools.tool import Tool

Prune = Callable[[Sequence[Step]], Iterable[Step] | Awaitable[Iterable[Step]]]
"""A strategy for steps, synchronous or asynchronous."""


class AgentOptions(TypedDict, total=False):
    """The options that all agents take; `ReactAgent` describes them."""

    max_steps: int
    prompt_file: str | Path | None
    instructions: str
    middleware: Sequence[Middleware]
    max_tokens: int | None
    temperature: float | None
    output_retries: int
    answer_at_limit: bool
    reasoning: ReasoningWish | None


class CodeOptions(AgentOptions, total=False):
    """The options of `TinyCodeAgent`."""

    sandbox: Sandbox | None
    executor: Executor | Callable[[], Executor] | None
    memory_manager: MemoryManager | None
    prune: Prune | None
    sealed: bool
    vision: bool | None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`AgentOptions` with the defaults.

    Raises:
        ConfigurationError: A number is too small, or `reasoning` is not a level or a number.
    """

    max_steps: int = 10
    prompt_file: str | Path | None = None
    instructions: str = ""
    middleware: Sequence[Middleware] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    output_retries: int = 2
    answer_at_limit: bool = True
    reasoning: ReasoningWish | None = None

    def __post_init__(self) -> None:
        require_least(1, max_steps=self.max_steps, max_tokens=self.max_tokens)
        require_least(0, temperature=self.temperature, output_retries=self.output_retries)
        check_reasoning(self.reasoning)


def with_default_layers(
    middleware: Sequence[Middleware], tools: Mapping[str, Tool]
) -> tuple[Middleware, ...]:
    """The middleware, with the approval and the limits that every agent has by default.

    Approval is only needed if a tool requires it. It is outside the limits because waiting for a
    person does not use the run's time.

    Raises:
        ConfigurationError: An item is not a middleware.
    """
    layers = list(middleware)
    for at, layer in enumerate(cast("list[object]", layers)):
        if not isinstance(layer, Middleware):
            made = f"; write {layer.__name__}(...)" if isinstance(layer, type) else ""
            kind = "a class" if made else type(layer).__name__
            raise ConfigurationError(f"middleware[{at}] is {kind}, not a Middleware{made}")
    gates = [at for at, layer in enumerate(layers) if isinstance(layer, Approval)]
    limits = [at for at, layer in enumerate(layers) if isinstance(layer, UsageLimits)]
    if not gates and any(tool.requires_approval for tool in tools.values()):
        gates = [limits[0] if limits else len(layers)]
        layers.insert(gates[0], Approval())
    if not limits:
        layers.insert(gates[-1] + 1 if gates else len(layers), UsageLimits())
    return tuple(layers)

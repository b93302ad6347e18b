"""The options of agents, in addition to model and tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ReasoningWish
from tinyagent.execution.protocol import Executor
from tinyagent.execution.trust import ExecutionLimits, TrustLevel
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.steps import Step
from tinyagent.middleware.approval import Approval
from tinyagent.middleware.base import Middleware
from tinyagent.middleware.limits import UsageLimits
from tinyagent.models.providers import check_reasoning
from tinyagent.tools.tool import Tool

if TYPE_CHECKING:
    from tinyagent.execution.network.rules import Allow
    from tinyagent.execution.network.secrets import ApiKey, Bearer

Prune = Callable[[Sequence[Step]], Iterable[Step] | Awaitable[Iterable[Step]]]
"""A strategy for steps, synchronous or asynchronous."""


class CommonOptions(TypedDict, total=False):
    """The options that all agents take; `ReactAgent` describes them."""

    max_steps: int
    prompt_file: str | Path | None
    system_suffix: str
    middleware: Sequence[Middleware]
    max_tokens: int | None
    output_retries: int
    reasoning: ReasoningWish | None


class AgentOptions(CommonOptions, total=False):
    """The options of `ReactAgent`."""

    temperature: float | None


class CodeOptions(CommonOptions, total=False):
    """The options of `TinyCodeAgent`."""

    executor: Executor | Callable[[], Executor] | None
    trust_level: TrustLevel | str
    limits: ExecutionLimits
    extra_imports: Iterable[str]
    files: Iterable[str | Path]
    without: Iterable[str]
    require: Iterable[str]
    packages: Iterable[str]
    network: Iterable[str | Allow]
    secrets: Mapping[str, Bearer | ApiKey]
    lock: str | Path | None
    memory_manager: MemoryManager | None
    prune: Prune | None
    sealed: bool
    vision: bool | None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`AgentOptions` with the defaults.

    Raises:
        ConfigurationError: `max_steps` is less than 1, or `reasoning` is not a level or a number.
    """

    max_steps: int = 10
    prompt_file: str | Path | None = None
    system_suffix: str = ""
    middleware: Sequence[Middleware] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    output_retries: int = 2
    reasoning: ReasoningWish | None = None

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ConfigurationError(f"max_steps must be 1 or more, got {self.max_steps}")
        check_reasoning(self.reasoning)


def with_default_layers(
    middleware: Sequence[Middleware], tools: Mapping[str, Tool]
) -> tuple[Middleware, ...]:
    """The middleware, with the approval and the limits that every agent has by default.

    Approval is only needed if a tool requires it. It is outside the limits because waiting for a
    person does not use the run's time.
    """
    layers = list(middleware)
    gates = [at for at, layer in enumerate(layers) if isinstance(layer, Approval)]
    limits = [at for at, layer in enumerate(layers) if isinstance(layer, UsageLimits)]
    if not gates and any(tool.requires_approval for tool in tools.values()):
        gates = [limits[0] if limits else len(layers)]
        layers.insert(gates[0], Approval())
    if not limits:
        layers.insert(gates[-1] + 1 if gates else len(layers), UsageLimits())
    return tuple(layers)

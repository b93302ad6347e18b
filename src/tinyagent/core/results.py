"""Results: the steps, the final answer and the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, cast

from tinyagent.core.cost import Cost, ModelUse, cost_of
from tinyagent.core.errors import TinyAgentError
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import Message
from tinyagent.core.provenance import Label, Mark
from tinyagent.core.signals import Signal
from tinyagent.core.types import ToolResult, Usage

RunState = Literal[
    "completed",
    "step_limit_reached",
    "usage_limit_reached",
    "refused",
    "cut_off",
    "cancelled",
    "error",
]


@dataclass(frozen=True, slots=True)
class ReactStep:
    """A step of a `ReactAgent`: the text of the model and the results of its calls."""

    number: int
    content: str
    results: tuple[ToolResult, ...] = ()


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    M_co = TypeVar("M_co", covariant=True, default=Any)
    S_co = TypeVar("S_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    M_co = TypeVar("M_co", covariant=True)
    S_co = TypeVar("S_co", covariant=True)


class _Conversation(Protocol):
    """A memory, as far as a result reads it."""

    def to_messages(self) -> tuple[Message, ...]: ...


def long_result_handle(text: str) -> str:
    """The name of a long result, which its content determines: it never matches another text."""
    import hashlib  # noqa: PLC0415 - only for long results, and it loads OpenSSL

    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The one answer of a run.

    `source` says how it was given: `"text"`, `"final_answer"`, or `"step_limit"` for one in plain
    words that was asked for when no step was left.
    """

    value: Any
    source: str
    timestamp: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class PartlySubscripted:
    """A generic class that may be given fewer types than it has; the others are `Any`.

    Type checkers fill in the defaults of the type variables, which no class has before Python 3.13
    when a program runs.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __class_getitem__(cls, given: Any) -> Any:
            some = given if isinstance(given, tuple) else (given,)
            missing = len(cls.__parameters__) - len(some)
            return super().__class_getitem__((*some, *[Any] * missing))


@dataclass(frozen=True, slots=True)
class RunResult(PartlySubscripted, Generic[T_co, M_co, S_co]):
    """The result of a run.

    Attributes:
        output: The answer, typed by the agent's `output_type`; None unless `state` is
            `"completed"`.
        state: How the run ended.
        steps_taken: The number of steps.
        duration_seconds: How long the run worked.
        usage: Model requests and tokens.
        memory: A `Memory`, or a code agent's `MemoryManager`; pass it to the next run of the same
            agent to continue the conversation.
        final_answer: The answer and how it was given.
        steps: `ReactStep` or `ActionStep` objects.
        signals: Of a code agent.
        artifacts: Files and figures that a code agent's code created.
        error: Why there is no answer.
        uses: The tokens of each model request.
        label: Where the answer comes from; None if that is not known.
        marks: The spans of `str(result)` that repeat what untrusted sources wrote, if the run has a
            `Provenance`: addresses, links, long numbers, and runs of several words.
        calls: The calls of a run with a `Provenance`, each with the origins of its arguments.
    """

    output: T_co
    state: RunState
    steps_taken: int
    duration_seconds: float
    usage: Usage
    memory: M_co
    final_answer: FinalAnswer | None = None
    steps: tuple[S_co, ...] = ()
    signals: tuple[Signal, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    error: TinyAgentError | None = None
    uses: tuple[ModelUse, ...] = ()
    label: Label | None = None
    calls: tuple[ToolResult, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation: the system prompt, the task, what was done for it, the answer."""
        return cast("_Conversation", self.memory).to_messages()

    @property
    def cost(self) -> Cost:
        """The cost of the run's model requests, agents as tools included.

        List prices need the extra `prices`; `cost.unknown` says what is missing.
        """
        return cost_of(self.uses)

    def __str__(self) -> str:
        return "" if self.final_answer is None else str(self.output)

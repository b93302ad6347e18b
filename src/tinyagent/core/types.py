"""What travels through a run: messages, tool calls, requests, responses, results.

All types are frozen. What outlives a run, its memory and usage, has a JSON form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol

from tinyagent.core.errors import TinyAgentError
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.signals import Signal

RunState = Literal["completed", "step_limit_reached", "usage_limit_reached", "cancelled", "error"]


class ToolSpec(Protocol):
    """What adapters and middleware need to know of a tool."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What it does, as told to the model."""
        ...

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments, an object."""
        ...

    @property
    def validate(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Reads a model's arguments; raises `ToolArgumentsError` naming each fault."""
        ...

    @property
    def requires_approval(self) -> bool:
        """Whether a call waits for a yes."""
        ...

    @property
    def idempotent(self) -> bool:
        """Whether a call may be made again without asking."""
        ...

    @property
    def is_agent(self) -> bool:
        """Whether its calls are those of a run of its own."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What the model calls of a run cost: requests made and tokens counted by the server."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together (cached ones are part of the input)."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """The JSON form."""
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
        }


@dataclass(frozen=True, slots=True)
class RequestFormat:
    """What an adapter adds to a request so that the model can call tools.

    `tools` (function declarations), `tool_choice` and `response_format` are what chat completions
    takes by these names; `instructions` are added to the system prompt.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Literal["none"] | None = None
    response_format: Mapping[str, Any] | None = None
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model: the conversation so far and how to answer."""

    messages: Sequence[Message]
    format: RequestFormat = RequestFormat()
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RawToolCall:
    """A tool call as the model wrote it: `arguments` is text that should be a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelDelta:
    """A piece of a streamed answer.

    `restart` means: the connection broke, what was streamed of this answer is void.
    """

    text: str
    kind: Literal["text", "reasoning", "restart"] = "text"


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One whole answer of a model. `content` is None when it sent no text at all."""

    content: str | None
    tool_calls: tuple[RawToolCall, ...] = ()
    usage: Usage = Usage(requests=1)
    finish_reason: str = "stop"
    model: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one tool call: `content` is its text, `note` a remark on it for the model.

    Code that called the tool is given `value`, what it returned, or has `error` raised.
    """

    call: ToolCall
    content: str
    is_error: bool = False
    duration_seconds: float = 0.0
    note: str = ""
    value: Any = field(default=None, compare=False, repr=False)
    error: Exception | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReactStep:
    """One step of a `ReactAgent`: what the model said and what its calls gave."""

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


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The one answer of a run; `source` says how it was given (`"text"`)."""

    value: Any
    source: str
    timestamp: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RunResult(Generic[T_co, M_co, S_co]):
    """What a run came to.

    `output` is the answer, typed by the agent's `output_type`; it is None unless `state` is
    `"completed"`, and then `error` says why. `memory` (a `Memory`, or a code agent's
    `MemoryManager`) can be passed to the next run of the same agent to go on. `steps` are
    `ReactStep` or `ActionStep`; `signals` and `artifacts` are a code agent's.
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

    if not TYPE_CHECKING:  # before Python 3.13, type variables have no defaults when a program runs

        def __class_getitem__(cls, given: Any) -> Any:
            some = given if isinstance(given, tuple) else (given,)
            subscript = vars(Generic)["__class_getitem__"]  # built in from Python 3.12 on
            return subscript.__get__(None, cls)((*some, Any, Any)[:3])

    def __str__(self) -> str:
        return "" if self.final_answer is None else str(self.output)

"""What travels through a run: messages, tool calls, requests, responses, results.

All types are frozen. What outlives a run, its memory and usage, has a JSON form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol

from tinyagent.core.cost import Cost, ModelUse, cost_of
from tinyagent.core.errors import TinyAgentError
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.parts import ContentPart, Opaque, Reasoning, Text
from tinyagent.core.signals import Signal

ReasoningWish = Literal["off", "low", "medium", "high"] | int
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
    """What the model calls of a run cost: requests made and tokens counted by the server.

    `cached_tokens` (read from the provider's cache) and `cache_write_tokens` (written to it) are
    part of the input; `reasoning_tokens` are part of the output.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

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
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """The JSON form; counts that only some providers give are left out where they are 0."""
        counts = {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
        }
        if self.cache_write_tokens:
            counts["cache_write_tokens"] = self.cache_write_tokens
        if self.reasoning_tokens:
            counts["reasoning_tokens"] = self.reasoning_tokens
        return counts


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
    """One request to a model: the conversation so far and how to answer.

    `reasoning` is how much the model is to think before it answers: `"off"`, `"low"`, `"medium"`,
    `"high"`, or about how many tokens; None leaves it to the provider.
    """

    messages: Sequence[Message]
    format: RequestFormat = RequestFormat()
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning: ReasoningWish | None = None


@dataclass(frozen=True, slots=True)
class RawToolCall:
    """A tool call as the model wrote it: `arguments` is text that should be a JSON object."""

    id: str
    name: str
    arguments: str
    opaque: Opaque | None = None


ReplyPart = Text | Reasoning | RawToolCall
"""What a model's answer is made of."""


@dataclass(frozen=True, slots=True)
class ModelDelta:
    """A piece of a streamed answer.

    `restart` means: the connection broke, what was streamed of this answer is void.
    """

    text: str
    kind: Literal["text", "reasoning", "restart"] = "text"


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One whole answer of a model. `content` is None when it sent no text at all.

    `parts` are its pieces in the order in which they were sent. They are there where `content` and
    `tool_calls` do not say it all: there is reasoning, opaque data, or text behind a call. Where
    `content` or `tool_calls` are replaced, the parts follow. `provider` is who served it, by the
    name that begins its models' names (`anthropic`).
    """

    content: str | None
    tool_calls: tuple[RawToolCall, ...] = ()
    usage: Usage = Usage(requests=1)
    finish_reason: str = "stop"
    model: str = ""
    id: str = ""
    parts: tuple[ReplyPart, ...] = ()
    provider: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.parts or split_reply(self.parts) == (self.content, self.tool_calls):
            return
        thoughts = [part for part in self.parts if isinstance(part, Reasoning)]
        said = [] if self.content is None else [Text(self.content)]
        object.__setattr__(self, "parts", (*thoughts, *said, *self.tool_calls))

    @property
    def use(self) -> ModelUse:
        """The tokens that it took, and whose they are."""
        used = self.usage
        return ModelUse(
            self.provider,
            self.model,
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
            used.cache_write_tokens,
        )

    @property
    def reasoning(self) -> str:
        """What the model showed of its reasoning."""
        thoughts = (part.text for part in self.parts if isinstance(part, Reasoning))
        return "\n\n".join(text for text in thoughts if text)


def split_reply(parts: Sequence[ReplyPart]) -> tuple[str | None, tuple[RawToolCall, ...]]:
    """The text and the calls among the parts of an answer; None where there is no text."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    calls = tuple(part for part in parts if isinstance(part, RawToolCall))
    return "".join(texts) if texts else None, calls


def needed_parts(parts: Sequence[ReplyPart]) -> tuple[ReplyPart, ...]:
    """The parts; none where the text and the calls behind it are all there is to know."""
    for at, part in enumerate(parts):
        if part.opaque is not None or not (isinstance(part, RawToolCall) or at == 0):
            return tuple(parts)
    return tuple(parts) if parts and isinstance(parts[0], Reasoning) else ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call: `content` is its text, `note` a remark on it for the model.

    `parts` are there where the tool gave images or documents; `content` then describes them in
    words. Code that called the tool is given `value`, what it returned, or has `error` raised.
    """

    call: ToolCall
    content: str
    is_error: bool = False
    duration_seconds: float = 0.0
    note: str = ""
    value: Any = field(default=None, compare=False, repr=False)
    error: Exception | None = field(default=None, compare=False, repr=False)
    parts: tuple[ContentPart, ...] = ()


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
    uses: tuple[ModelUse, ...] = ()

    if not TYPE_CHECKING:  # before Python 3.13, type variables have no defaults when a program runs

        def __class_getitem__(cls, given: Any) -> Any:
            some = given if isinstance(given, tuple) else (given,)
            subscript = vars(Generic)["__class_getitem__"]  # built in from Python 3.12 on
            return subscript.__get__(None, cls)((*some, Any, Any)[:3])

    @property
    def cost(self) -> Cost:
        """What the run's model requests cost, by list prices; calls of agents as tools included.

        Raises:
            ConfigurationError: the package `genai-prices` is not installed (extra `prices`).
        """
        return cost_of(self.uses)

    def __str__(self) -> str:
        return "" if self.final_answer is None else str(self.output)

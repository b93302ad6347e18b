"""Requests to models and tools, and their responses. All types are frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, Protocol

from tinyagent.core.cost import ModelUse, read_dollars
from tinyagent.core.messages import Content, Message, ToolCall, parts_from_list, plain_content
from tinyagent.core.parts import READERS, ContentPart, Opaque, Reasoning, Text, read_opaque
from tinyagent.core.provenance import Hints, Label, Sink, Trust
from tinyagent.core.untrusted import (
    as_array,
    as_object,
    describe,
    take,
    take_list,
    take_object,
    take_optional,
)

ReasoningWish = Literal["off", "low", "medium", "high"] | int


class ToolSpec(Protocol):
    """What adapters and middleware need to know about a tool."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model."""
        ...

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """JSON Schema of its arguments, an object."""
        ...

    @property
    def validate(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Reads a model's arguments; raises `ToolArgumentsError` naming each error."""
        ...

    @property
    def results(self) -> Trust:
        """Whether its results are trusted, for a `Provenance`."""
        ...

    @property
    def sink(self) -> Sink | Literal["free"] | None:
        """What must hold for its arguments, for a `Provenance`."""
        ...

    @property
    def requires_approval(self) -> bool:
        """Whether a call needs approval."""
        ...

    @property
    def idempotent(self) -> bool:
        """Whether a call may be made again without asking."""
        ...

    @property
    def is_agent(self) -> bool:
        """Whether each call starts a run of another agent."""
        ...

    @property
    def described_by(self) -> str:
        """The source of its description; empty for the operator."""
        ...

    @property
    def hints(self) -> Hints:
        """What it says of itself."""
        ...

    @property
    def returns(self) -> Any:
        """The type of its results; None if it is not known."""
        ...


_RARE = ("cache_write_tokens", "reasoning_tokens", "uncounted")


@dataclass(frozen=True, slots=True)
class Usage:
    """Model requests of a run, and their tokens as the server counts them.

    `cached_tokens` (read from the provider's cache) and `cache_write_tokens` (written to it) are
    part of the input, `reasoning_tokens` of the output. `uncounted` requests have used more.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    uncounted: int = 0

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
            self.uncounted + other.uncounted,
        )

    def to_dict(self) -> dict[str, int]:
        """The JSON form; counts that only some providers report are left out if they are 0."""
        counts = {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
        }
        return counts | {name: count for name in _RARE if (count := getattr(self, name))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Usage:
        """Read the JSON form; raises ValueError for a missing or wrong count."""
        optional = data.keys() & _RARE
        return cls(**{name: take(data, name, int) for name in [*cls().to_dict(), *optional]})


@dataclass(frozen=True, slots=True)
class RequestFormat:
    """What an adapter adds to a request so that the model can call tools.

    `tools` (function declarations), `tool_choice` and `response_format` are as in the chat
    completions API; `instructions` are added to the system prompt.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Literal["none"] | None = None
    response_format: Mapping[str, Any] | None = None
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model: the conversation so far and how to answer.

    `reasoning` is how much the model should think before it answers: `"off"`, `"low"`,
    `"medium"`, `"high"`, or about how many tokens; None leaves it to the provider.
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
"""The parts of a model's answer."""


@dataclass(frozen=True, slots=True)
class ModelDelta:
    """A piece of a streamed answer.

    `restart` means that the connection broke: discard what was streamed of this answer.
    """

    text: str
    kind: Literal["text", "reasoning", "restart"] = "text"


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A complete answer of a model. `content` is None if it sent no text at all.

    `parts` are its parts in the order in which they were sent. They are only present if `content`
    and `tool_calls` are not everything: if there is reasoning, opaque data, or text after a call.
    If `content` or `tool_calls` are replaced, the parts are updated. `provider` is the one that
    served it, by the prefix of its models' names (`anthropic`). `label` is that of its request.

    `finish_reason` is why the answer ended: `stop`, `tool_calls`, `length` (it is cut off),
    `refusal` (the model declines) or `content_filter` (the provider withholds it, or the rest of
    it); any other end keeps the provider's own word. `refusal` holds the provider's words for the
    last two, in at most 500 characters; it is empty if there are none. `cost` is what
    the provider itself reports, in US dollars.
    """

    content: str | None
    tool_calls: tuple[RawToolCall, ...] = ()
    usage: Usage = Usage(requests=1)
    finish_reason: str = "stop"
    model: str = ""
    id: str = ""
    parts: tuple[ReplyPart, ...] = ()
    refusal: str = ""
    cost: Decimal | None = None
    provider: str = field(default="", compare=False)
    label: Label | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.parts or split_reply(self.parts) == (self.content, self.tool_calls):
            return
        thoughts = [part for part in self.parts if isinstance(part, Reasoning)]
        texts = [] if self.content is None else [Text(self.content)]
        object.__setattr__(self, "parts", (*thoughts, *texts, *self.tool_calls))

    @property
    def use(self) -> ModelUse:
        """The tokens that it used, and its model."""
        used = self.usage
        return ModelUse(
            self.provider,
            self.model,
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
            used.cache_write_tokens,
            is_counted=not used.uncounted,
            reported=self.cost,
        )

    @property
    def reasoning(self) -> str:
        """The reasoning that the model showed."""
        thoughts = (part.text for part in self.parts if isinstance(part, Reasoning))
        return "\n\n".join(text for text in thoughts if text)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; provider, refusal, cost and parts are left out if there are none."""
        out: dict[str, Any] = {
            "content": self.content,
            "tool_calls": [
                {"id": call.id, "name": call.name, "arguments": call.arguments}
                for call in self.tool_calls
            ],
            "usage": self.usage.to_dict(),
            "finish_reason": self.finish_reason,
            "model": self.model,
            "id": self.id,
        }
        optional = {
            "provider": self.provider,
            "refusal": self.refusal,
            "cost": "" if self.cost is None else str(self.cost),
            "parts": reply_to_list(self.parts),
        }
        return out | {key: value for key, value in optional.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelResponse:
        """Read the JSON form; raises ValueError for a missing or wrong part."""
        parts = reply_from_list(data.get("parts", []))
        calls = tuple(_raw_call(call) for call in take_list(data, "tool_calls"))
        return cls(
            content=take_optional(data, "content", str),
            tool_calls=split_reply(parts)[1] if parts else calls,
            usage=Usage.from_dict(take_object(data, "usage")),
            finish_reason=take(data, "finish_reason", str),
            model=take(data, "model", str),
            id=take(data, "id", str),
            parts=parts,
            refusal=take_optional(data, "refusal", str) or "",
            cost=None if "cost" not in data else read_dollars(take(data, "cost", str)),
            provider=take_optional(data, "provider", str) or "",
        )


def split_reply(parts: Sequence[ReplyPart]) -> tuple[str | None, tuple[RawToolCall, ...]]:
    """The text and the calls among the parts of an answer; None if there is no text."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    calls = tuple(part for part in parts if isinstance(part, RawToolCall))
    return "".join(texts) if texts else None, calls


def needed_parts(parts: Sequence[ReplyPart]) -> tuple[ReplyPart, ...]:
    """The parts; none if the answer is fully described by its text followed by its calls."""
    for at, part in enumerate(parts):
        if part.opaque is not None or not (isinstance(part, RawToolCall) or at == 0):
            return tuple(parts)
    return tuple(parts) if parts and isinstance(parts[0], Reasoning) else ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call: `content` is its text, `note` a remark on it for the model.

    `parts` are present if the tool returned images or documents; `content` then describes them in
    words. Code that called the tool receives `value`, or `error` is raised in it. `label` says
    where the result comes from; None if that is not known.
    """

    call: ToolCall
    content: str
    is_error: bool = False
    duration_seconds: float = 0.0
    note: str = ""
    value: Any = field(default=None, compare=False, repr=False)
    error: Exception | None = field(default=None, compare=False, repr=False)
    parts: tuple[ContentPart, ...] = ()
    label: Label | None = field(default=None, compare=False)


def remembered(response: ModelResponse, text: str, calls: Sequence[ToolCall]) -> Content:
    """The content of the message that records an answer: its parts in their order.

    Args:
        response: The answer.
        text: The text to record for it.
        calls: Its calls as they were read.
    """
    if not response.parts:
        return text
    if text == (response.content or "") and len(response.tool_calls) in (0, len(calls)):
        left = iter(calls)
        parts = [next(left) if isinstance(part, RawToolCall) else part for part in response.parts]
        return plain_content((*parts, *left))  # calls that were read from the text come last
    texts = (Text(text),) if text else ()
    return plain_content((*_reasoning(response), *texts, *calls))


def _reasoning(response: ModelResponse) -> tuple[Reasoning, ...]:
    return tuple(part for part in response.parts if isinstance(part, Reasoning))


def reply_to_list(parts: Iterable[ReplyPart]) -> list[dict[str, Any]]:
    """The JSON form of the parts of an answer."""
    return [_reply_part_to_dict(part) for part in parts]


def reply_from_list(data: object) -> tuple[ReplyPart, ...]:
    """Read the JSON form of parts; raises ValueError for a missing or wrong part."""
    entries = as_array(data)
    if entries is None:
        raise ValueError(f"'parts' is {describe(data)}, not a list")
    return tuple(_reply_part(entry) for entry in entries)


def content_from_list(data: object) -> tuple[ContentPart, ...]:
    """Read the JSON form of a tool's parts; raises ValueError for a missing or wrong part."""
    try:
        parts = parts_from_list(data)
    except KeyError as error:
        raise ValueError(f"a part has no {error}") from None
    return tuple(part for part in parts if isinstance(part, ContentPart))


def _raw_call(data: object) -> RawToolCall:
    entry = as_object(data) or {}
    return RawToolCall(
        take(entry, "id", str), take(entry, "name", str), take(entry, "arguments", str)
    )


def _reply_part_to_dict(part: ReplyPart) -> dict[str, Any]:
    if not isinstance(part, RawToolCall):
        return part.to_dict()
    out = {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
    return out if part.opaque is None else out | {"opaque": part.opaque.to_dict()}


def _reply_part(data: object) -> ReplyPart:
    entry: Mapping[str, Any] = as_object(data) or {}
    try:
        match entry:
            case {"type": "call", "id": str(id_), "name": str(name), "arguments": str(arguments)}:
                return RawToolCall(id_, name, arguments, read_opaque(entry))
            case {"type": "text" | "reasoning" as kind}:
                part = READERS[kind](entry)
                if isinstance(part, Text | Reasoning):
                    return part
            case _:
                pass
    except KeyError as error:
        raise ValueError(f"a part has no {error}") from None
    raise ValueError("a part of an answer is not text, reasoning or a call")

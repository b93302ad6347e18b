"""The steps of a turn in order: model, tools and code, with times and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from skillian.storage import TurnEvent

_STATES = {"answer": "answered", "turn_failed": "ended without an answer"}


@dataclass(slots=True)
class Span:
    """Something that took time; calls of one step are parallel.

    `start_ms` counts from the turn's beginning, without idle time. `tokens` are those of a model's
    input and output, `thought` is its reasoning.
    """

    kind: Literal["model", "tool", "code"]
    name: str
    start_ms: float
    duration_ms: float
    detail: str = ""
    is_error: bool = False
    tokens: tuple[int, int] | None = None
    thought: str = ""


@dataclass(slots=True)
class Timeline:
    """A turn as spans in order; `total_ms` is when the last of them ended."""

    question: str = ""
    state: str = "in progress"
    spans: list[Span] = field(default_factory=list[Span])

    @property
    def total_ms(self) -> float:
        """When the last span ended."""
        return max((span.start_ms + span.duration_ms for span in self.spans), default=0.0)

    @property
    def input_tokens(self) -> int:
        """The input tokens of all model calls."""
        return sum(span.tokens[0] for span in self.spans if span.tokens)

    @property
    def output_tokens(self) -> int:
        """The output tokens of all model calls."""
        return sum(span.tokens[1] for span in self.spans if span.tokens)


def timeline_of(events: Iterable[TurnEvent], model: str) -> Timeline:
    """Read a turn's events.

    Args:
        events: All events of one turn, in their order.
        model: The name of the model.
    """
    reader = _TimelineReader(model)
    for event in events:
        reader.read(event)
    return reader.timeline


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _TimelineReader:
    def __init__(self, model: str) -> None:
        self.timeline = Timeline()
        self._model = model
        self._thought = ""
        self._step_start = 0.0
        self._args: dict[str, dict[str, Any]] = {}
        self._code = ""

    def read(self, event: TurnEvent) -> None:
        data = event.data
        match event.type:
            case "turn_started":
                self.timeline.question = str(data["message"])
            case "delta" if data["kind"] == "reasoning":
                self._thought += str(data["text"])
            case "model_finished":
                self._add_model(data)
            case "tool_started":
                self._args[data["id"]] = data["args"]
            case "tool_finished":
                self._add_tool(data)
            case "code_started":
                self._code = str(data["code"])
            case "code_finished":
                self._add_code(data)
            case "answer" | "turn_failed":
                self.timeline.state = _STATES[event.type]
            case _:
                pass

    def _add_model(self, data: dict[str, Any]) -> None:
        span = Span("model", self._model, self.timeline.total_ms, data["duration_ms"])
        span.tokens = data["input_tokens"], data["output_tokens"]
        span.thought, self._thought = self._thought, ""
        self.timeline.spans.append(span)
        self._step_start = self.timeline.total_ms

    def _add_tool(self, data: dict[str, Any]) -> None:
        span = Span("tool", data["tool"], self._step_start, data["duration_ms"])
        args = self._args.get(data["id"], {})
        span.detail = ", ".join(f"{name}: {_short(value)}" for name, value in args.items())
        result = data["result"]
        failed = isinstance(result, dict) and cast("dict[str, Any]", result).get("error") is True
        span.is_error = data["is_error"] or failed
        self.timeline.spans.append(span)

    def _add_code(self, data: dict[str, Any]) -> None:
        span = Span("code", "Python", self._step_start, data.get("duration_ms", 0.0))
        span.detail, span.is_error = self._code.partition("\n")[0], bool(data["error"])
        self.timeline.spans.append(span)

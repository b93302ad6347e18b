"""What a run tells its listeners, in the order in which it happens.

    RunStarted
      StepStarted
        ModelRequested, TextDelta…, ModelResponded
        ToolStarted, ToolFinished   (calls of one step overlap; `call.id` tells them apart)
        CodeStarted, OutputDelta…, CodeFinished   (of a code agent; its tool calls lie within)
        SignalGiven
        ReplyRejected               (the model is told why and tries again)
      StepFinished
    RunFinished                     (always last, always there)

Text deltas come only where somebody streams the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.results import RunResult
from tinyagent.core.signals import Signal
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins."""

    run_id: str
    task: str


@dataclass(frozen=True, slots=True)
class StepStarted:
    """Step `step` (from 1) begins."""

    step: int


@dataclass(frozen=True, slots=True)
class ModelRequested:
    """A request goes to the model."""

    step: int
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer as the model writes it; `kind` as in `ModelDelta`."""

    step: int
    text: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class ModelResponded:
    """The model's answer is whole."""

    step: int
    response: ModelResponse


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins."""

    step: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call has its result, be it an error."""

    step: int
    result: ToolResult


@dataclass(frozen=True, slots=True)
class CodeStarted:
    """A block of code begins to run."""

    step: int
    code: str


@dataclass(frozen=True, slots=True)
class OutputDelta:
    """A piece of what the code prints, as it prints it."""

    step: int
    text: str


@dataclass(frozen=True, slots=True)
class CodeFinished:
    """The block has ended, however it did."""

    step: int
    result: ExecutionResult


@dataclass(frozen=True, slots=True)
class SignalGiven:
    """The code said something of its own thinking."""

    step: int
    signal: Signal


@dataclass(frozen=True, slots=True)
class ReplyRejected:
    """The reply could not be used; `reason` is what the model is told."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """Step `step` is over."""

    step: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run is over."""

    result: RunResult[Any]


Event = (
    RunStarted
    | StepStarted
    | ModelRequested
    | TextDelta
    | ModelResponded
    | ToolStarted
    | ToolFinished
    | CodeStarted
    | OutputDelta
    | CodeFinished
    | SignalGiven
    | ReplyRejected
    | StepFinished
    | RunFinished
)

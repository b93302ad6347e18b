"""Events: what a run reports to its listeners, in the order in which it happens.

    RunStarted
      StepStarted
        ModelRequested, TextDelta…, ModelResponded
        ToolStarted, ToolFinished   (calls of one step overlap; `call.id` identifies them)
        CodeStarted, OutputDelta…, NetworkRequestFinished…, CodeFinished
                                    (code agents; tool calls are in between)
        SignalGiven
        ReplyRejected               (the model is shown the reason and tries again)
      StepFinished
    RunFinished                     (always the last)

Text deltas are only emitted if the run is streamed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyagent.core.execution import ExecutionResult, NetworkRequest
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
    """A piece of the answer as the model writes it; `kind` is as in `ModelDelta`."""

    step: int
    text: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class ModelResponded:
    """The model's answer is complete."""

    step: int
    response: ModelResponse


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins."""

    step: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call has its result, which may be an error."""

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
class NetworkRequestFinished:
    """A network request of the code has been answered, refused, or has failed."""

    step: int
    request: NetworkRequest


@dataclass(frozen=True, slots=True)
class CodeFinished:
    """The block has ended, with or without an error."""

    step: int
    result: ExecutionResult


@dataclass(frozen=True, slots=True)
class SignalGiven:
    """The code reported something about its thinking."""

    step: int
    signal: Signal


@dataclass(frozen=True, slots=True)
class ReplyRejected:
    """The reply could not be used; `reason` is what the model is shown."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """Step `step` has ended."""

    step: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run has ended."""

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
    | NetworkRequestFinished
    | CodeFinished
    | SignalGiven
    | ReplyRejected
    | StepFinished
    | RunFinished
)

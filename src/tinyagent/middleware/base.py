"""Middleware: one place for everything around a call of a model, a tool or a block of code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from tinyagent.core.context import RunContext, RunControl
from tinyagent.core.events import Event
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult

ModelCall = Callable[[ModelRequest], Awaitable[ModelResponse]]
ToolCallHandler = Callable[[ToolCall], Awaitable[ToolResult]]
CodeRun = Callable[[str], Awaitable[ExecutionResult]]


class Middleware:
    """Wraps the calls that a run makes to the outside. Override what you need.

    A middleware may change the request, answer in place of the next one, call the next one more
    than once, or raise a `RunEnded` error to stop the run. The first of an agent's list is the
    outermost.
    """

    def bind(self, run: RunContext) -> Middleware:
        """Called once when a run starts; the returned object wraps the calls of that run.

        One agent serves many runs at once, so what must be remembered within a run belongs in the
        returned object. The default remembers nothing and returns `self`.
        """
        del run
        return self

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Wraps one request to the model."""
        return await call_next(request)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Wraps one tool call, even if no such tool exists."""
        return await call_next(call)

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """Wraps one block of a code agent, including the tool calls that it makes."""
        return await call_next(code)

    def on_event(self, event: Event) -> None:
        """Called with each event of the run, before it is streamed."""


class SteeringMiddleware(Middleware):
    """A middleware that may change the state of runs: limits, approval, durable runs."""

    @abstractmethod
    def steer(self, run: RunControl) -> Middleware:
        """Called once when a run starts, instead of `bind`."""


INNERMOST: ContextVar[SteeringMiddleware | None] = ContextVar("INNERMOST", default=None)
"""Added inside all others, around the calls, to each run that starts where it is set."""

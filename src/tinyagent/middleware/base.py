"""Middleware: one place for everything around a call of a model, a tool or a block of code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from tinyagent.core.context import RunContext, RunControl
from tinyagent.core.events import Event
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult

ModelCall = Callable[[ModelRequest], Awaitable[ModelResponse]]
ToolCallHandler = Callable[[ToolCall], Awaitable[ToolResult]]
CodeRun = Callable[[str], Awaitable[ExecutionResult]]

A = TypeVar("A")
R = TypeVar("R")


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


def bind_all(layers: Sequence[Middleware], run: RunControl) -> list[Middleware]:
    """The layers as they wrap the calls of one run, outermost first."""
    innermost = INNERMOST.get()
    last = [] if innermost is None else [innermost.steer(run)]  # first: it may prepare the run
    view = run.context
    return [
        layer.steer(run) if isinstance(layer, SteeringMiddleware) else layer.bind(view)
        for layer in layers
    ] + last


def with_listeners(
    layers: Sequence[Middleware], emit: Callable[[Event], None]
) -> Callable[[Event], None]:
    """`emit`, called after all layers that override `on_event`; `emit` itself if none does."""
    listeners = [m.on_event for m in layers if type(m).on_event is not Middleware.on_event]
    if not listeners:
        return emit

    def emit_to_all(event: Event) -> None:
        for listener in listeners:
            listener(event)
        emit(event)

    return emit_to_all


def chain_model_call(layers: Sequence[Middleware], innermost: ModelCall) -> ModelCall:
    """One callable that goes through all layers that override `model_call`."""
    wrappers = [m.model_call for m in layers if type(m).model_call is not Middleware.model_call]
    return _chain(wrappers, innermost)


def chain_tool_call(layers: Sequence[Middleware], innermost: ToolCallHandler) -> ToolCallHandler:
    """One callable that goes through all layers that override `tool_call`."""
    wrappers = [m.tool_call for m in layers if type(m).tool_call is not Middleware.tool_call]
    return _chain(wrappers, innermost)


def chain_code_run(layers: Sequence[Middleware], innermost: CodeRun) -> CodeRun:
    """One callable that goes through all layers that override `code_run`."""
    wrappers = [m.code_run for m in layers if type(m).code_run is not Middleware.code_run]
    return _chain(wrappers, innermost)


def _chain(
    wrappers: Sequence[Callable[[A, Callable[[A], Awaitable[R]]], Awaitable[R]]],
    innermost: Callable[[A], Awaitable[R]],
) -> Callable[[A], Awaitable[R]]:
    handler = innermost
    for wrapper in reversed(wrappers):
        handler = partial(_call, wrapper, handler)
    return handler


def _call(
    wrapper: Callable[[A, Callable[[A], Awaitable[R]]], Awaitable[R]],
    call_next: Callable[[A], Awaitable[R]],
    argument: A,
) -> Awaitable[R]:
    return wrapper(argument, call_next)

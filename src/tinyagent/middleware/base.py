"""Middleware: one place for everything around a call of a model, a tool or a block of code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from tinyagent.core.context import RunContext
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
        """Called once when a run starts; the object returned wraps the calls of that run.

        An agent serves many runs at once: what must be remembered within a run belongs into the
        object returned here. The default has nothing to remember and returns `self`.
        """
        del run
        return self

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Around one request to the model."""
        return await call_next(request)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Around one tool call, be it of a tool that does not exist."""
        return await call_next(call)

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """Around one block of a code agent; the tool calls that it makes lie within."""
        return await call_next(code)

    def on_event(self, event: Event) -> None:
        """Called with each event of the run, before whoever streams it sees it."""


INNERMOST: ContextVar[Middleware | None] = ContextVar("INNERMOST", default=None)
"""Stands inside all others, around the calls, in each run that begins where it is set."""


def bind_all(layers: Sequence[Middleware], run: RunContext) -> list[Middleware]:
    """The layers as they wrap the calls of one run, outermost first."""
    innermost = INNERMOST.get()
    last = [] if innermost is None else [innermost.bind(run)]  # first, as it may prepare the run
    return [layer.bind(run) for layer in layers] + last


def with_listeners(
    layers: Sequence[Middleware], emit: Callable[[Event], None]
) -> Callable[[Event], None]:
    """`emit`, after all layers that override `on_event`; `emit` itself where none does."""
    listeners = [m.on_event for m in layers if type(m).on_event is not Middleware.on_event]
    if not listeners:
        return emit

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)
        emit(event)

    return tell


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

"""Run: the state of one run, its calls through the middleware, and its long results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import cache, partial
from typing import Any, Generic, Literal, TypeVar

from tinyagent.core.context import Finalizer, RunControl
from tinyagent.core.errors import ModelReplyError, TinyAgentError, ToolRetry
from tinyagent.core.events import (
    Event,
    ModelRequested,
    ModelResponded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.provenance import Label, Mark
from tinyagent.core.results import RunResult, RunState, long_result_handle
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.memory.memory import BaseMemory
from tinyagent.middleware.base import INNERMOST, Middleware, SteeringMiddleware
from tinyagent.models.base import Model
from tinyagent.tools.checking import check_call
from tinyagent.tools.tool import Tool, call_tool

MAX_CHARS = 20_000
PAGE_CHARS = 10_000
READ_RESULT = "read_result"
_OTHER_NAME = "read_cut_off_result"

M = TypeVar("M", bound=BaseMemory[Any, Any, Any])
A = TypeVar("A")
R = TypeVar("R")


class Run(Generic[M]):
    """A run. The agent object holds none of this, so it can serve many runs at once.

    Args:
        model: Answers the requests.
        tools: The agent's tools by name.
        middleware: What wraps the calls, outermost first.
        control: The state that tools and middleware see.
        memory: The conversation so far, the new task included.
        streaming: Whether text deltas are wanted.
    """

    def __init__(
        self,
        model: Model,
        tools: Mapping[str, Tool],
        middleware: Sequence[Middleware],
        control: RunControl,
        memory: M,
        *,
        streaming: bool,
    ) -> None:
        self.control = control
        self.memory = memory
        self.finalizer = Finalizer()
        self.output: Any = None
        self.steps: list[Any] = []
        self.rejected_outputs = 0
        self.cut_off_replies = 0
        self.label: Label | None = None
        """Where the latest reply of the model comes from."""
        self.labelled_calls: list[ToolResult] = []
        self.results = ResultStore(taken=tools)
        self.resources = AsyncExitStack()
        """What is released when the run ends."""
        self.layers = bind_all(middleware, control)
        self._model = model
        self._tools = tools
        control.emit = with_listeners(self.layers, control.emit)
        innermost = self._stream if streaming else self._complete
        self._model_call = chain(self.layers, "model_call", innermost)
        self._tool_call = chain(self.layers, "tool_call", self._call_tool)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools available now: the agent's, and one to read long results if one was cut."""
        if not self.results.is_used:
            return self._tools
        reader = self.results.tool
        return {**self._tools, reader.name: reader}

    async def call_model(self, request: ModelRequest) -> ModelResponse:
        """Ask the model, through the middleware."""
        step = self.control.step
        self.control.emit(ModelRequested(step, request))
        logger.debug("step %d: asking %s, %d messages", step, self._model.name, len(self.memory))
        response = await self._model_call(request)
        self.label = response.label
        self.control.count(response.usage, [response.use])
        if response.usage.input_tokens:
            self.memory.learn(response.usage.input_tokens)
        logger.debug("step %d: %s answered (%s)", step, self._model.name, response.finish_reason)
        self.control.emit(ModelResponded(step, response))
        return response

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Run a tool, through the middleware; a failure is a result too.

        A call whose arguments the tool refuses gets no further than here.
        """
        step = self.control.step
        checked = self._checked(call)
        if isinstance(checked, ToolResult):
            self.control.emit(ToolStarted(step, checked.call))
            result = replace(checked, label=self.label)
        else:
            self.control.emit(ToolStarted(step, checked))
            result = await self._tool_call(checked)
        logger.debug("step %d: %s took %.3f s", step, call.name, result.duration_seconds)
        if result.label is not None:
            self.labelled_calls.append(result)
        self.control.emit(ToolFinished(step, result))
        return result

    def cleaned(self, answer: Any) -> Any:
        """An answer without what the run's policy does not allow in it."""
        clean = self.control.clean_answer
        return answer if clean is None else clean(answer, self.label)

    def is_sequential(self, call: ToolCall) -> bool:
        """Whether the call must not run at the same time as others."""
        tool = self._tools.get(call.name)
        return tool is not None and tool.sequential

    def result(self, state: RunState, error: TinyAgentError | None) -> RunResult[Any]:
        """The result of the run as it is now."""
        control = self.control
        return RunResult(
            output=self.output,
            state=state,
            steps_taken=control.step,
            duration_seconds=control.seconds,
            usage=control.usage,
            memory=self.memory,
            final_answer=self.finalizer.answer,
            steps=tuple(self.steps),
            error=error,
            uses=tuple(control.uses),
            label=self.label,
            calls=tuple(self.labelled_calls),
            marks=self._marks(),
        )

    def _marks(self) -> tuple[Mark, ...]:
        """What in the answer repeats what untrusted sources wrote."""
        if self.finalizer.answer is None or self.control.mark is None:
            return ()
        return self.control.mark(str(self.output))

    def _checked(self, call: ToolCall) -> ToolCall | ToolResult:
        """The call with the arguments that its tool reads, or why it is not made.

        Where arguments hold stand-ins, the `Provenance` checks the values behind them.
        """
        if call.fault is None and self._is_sealed(call):
            return call
        return check_call(self.tools.get(call.name), call)

    def _is_sealed(self, call: ToolCall) -> bool:
        """Whether the arguments hold stand-ins."""
        vault = self.control.vault
        if vault is None:
            return False
        try:
            return bool(vault.open(dict(call.arguments)).labels)
        except (ValueError, TypeError):  # of an unknown stand-in
            return True

    async def _complete(self, request: ModelRequest) -> ModelResponse:
        return await self._model.complete(request)

    async def _stream(self, request: ModelRequest) -> ModelResponse:
        async with aclosing(self._model.stream(request)) as items:
            async for item in items:
                if isinstance(item, ModelResponse):
                    return item
                self.control.emit(TextDelta(self.control.step, item.text, item.kind))
        raise ModelReplyError(f"{self._model.name} ended its stream without a complete answer")

    async def _call_tool(self, call: ToolCall) -> ToolResult:
        return await call_tool(self.tools, call, self.control.context)


def bind_all(layers: Sequence[Middleware], run: RunControl) -> list[Middleware]:
    """The layers as they wrap the calls of one run, outermost first."""
    innermost = INNERMOST.get()
    last = [] if innermost is None else [innermost.steer(run)]  # first: it may prepare the run
    view = run.context
    bound = [
        layer.steer(run) if isinstance(layer, SteeringMiddleware) else layer.bind(view)
        for layer in layers
    ]
    if run.delegation is not None and run.label is None:
        bound.insert(0, run.delegation.guard(run))
    return bound + last


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


def chain(
    layers: Sequence[Middleware],
    method: Literal["model_call", "tool_call", "code_run"],
    innermost: Callable[[A], Awaitable[R]],
) -> Callable[[A], Awaitable[R]]:
    """A callable that goes through all layers that override `method`, then calls `innermost`."""
    handler = innermost
    for layer in reversed(layers):
        if getattr(type(layer), method) is not getattr(Middleware, method):
            handler = partial(_call, getattr(layer, method), handler)
    return handler


def _call(
    wrapper: Callable[[A, Callable[[A], Awaitable[R]]], Awaitable[R]],
    call_next: Callable[[A], Awaitable[R]],
    argument: A,
) -> Awaitable[R]:
    return wrapper(argument, call_next)


class ResultStore:
    """The long results of one run.

    Args:
        max_chars: How many characters of a result go into the conversation.
        taken: Names that the tool that reads more must not have.
    """

    def __init__(self, max_chars: int = MAX_CHARS, taken: Container[str] = ()) -> None:
        self._max_chars = max_chars
        self._texts: dict[str, str] = {}
        self._name = READ_RESULT if READ_RESULT not in taken else _OTHER_NAME

    @property
    def tool(self) -> Tool:
        """The tool that reads more; created on demand, as most runs never need it."""
        return replace(_declaration(self._name), fn=_reader(self._texts))

    @property
    def is_used(self) -> bool:
        """Whether a result was cut, so that the model needs the tool that reads more."""
        return bool(self._texts)

    def bounded(self, text: str) -> str:
        """The text, or its beginning and end with a handle for the full text between them."""
        if len(text) <= self._max_chars:
            return text
        handle = long_result_handle(text)
        self._texts[handle] = text
        half = self._max_chars // 2
        left_out = len(text) - 2 * half
        note = (
            f"\n[... {left_out:,} of {len(text):,} characters are left out here; read them with"
            f' {self._name}(handle="{handle}", offset={half}) ...]\n'
        )
        return text[:half] + note + text[len(text) - half :]


@cache
def _declaration(name: str) -> Tool:
    """The tool without its texts: making the schema for each run would take a fifth of its time."""
    return Tool.from_function(_reader({}), name=name)


def _reader(texts: dict[str, str]) -> Callable[..., dict[str, Any]]:
    def read_result(handle: str, offset: int = 0, limit: int = PAGE_CHARS) -> dict[str, Any]:
        """Read a part of a long tool result that was cut.

        Args:
            handle: As the cut result names it.
            offset: The first character to read, from 0.
            limit: How many characters, at most 10000.
        """
        if handle not in texts:
            raise ToolRetry(
                f"this run has no result {handle!r}, only: {', '.join(texts)};"
                " to see one of an earlier run, repeat its call"
            )
        text = texts[handle]
        start = max(offset, 0)
        end = start + min(max(limit, 1), PAGE_CHARS)
        more = {"next_offset": end} if end < len(text) else {}
        return {"text": text[start:end], "total_characters": len(text), **more}

    return read_result

"""Run: the state of one run of an agent, and its calls of the model and of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, Generic, TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ModelReplyError, TinyAgentError
from tinyagent.core.events import (
    ModelRequested,
    ModelResponded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.results import Finalizer, RunResult, RunState
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.memory.memory import BaseMemory
from tinyagent.middleware.base import (
    Middleware,
    bind_all,
    chain_model_call,
    chain_tool_call,
    with_listeners,
)
from tinyagent.models.base import Model
from tinyagent.tools.calling import call_tool
from tinyagent.tools.results import ResultStore
from tinyagent.tools.tool import Tool

M = TypeVar("M", bound=BaseMemory[Any, Any, Any])


class Run(Generic[M]):
    """One run. The agent object holds none of this, so it can serve many runs at once.

    Args:
        model: answers the requests.
        tools: the agent's tools by name.
        middleware: what wraps the calls, outermost first.
        control: the state that tools and middleware see.
        memory: the conversation so far, the new task included.
        streaming: whether text deltas are wanted.
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
        self.results = ResultStore(taken=tools)
        self.resources = AsyncExitStack()
        """What is released when the run ends."""
        self.layers = bind_all(middleware, control)
        self._model = model
        self._tools = tools
        control.emit = with_listeners(self.layers, control.emit)
        innermost = self._stream if streaming else self._complete
        self._model_call = chain_model_call(self.layers, innermost)
        self._tool_call = chain_tool_call(self.layers, self._call_tool)

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
        self.control.count(response.usage, [response.use])
        if response.usage.input_tokens:
            self.memory.learn(response.usage.input_tokens)
        logger.debug("step %d: %s answered (%s)", step, self._model.name, response.finish_reason)
        self.control.emit(ModelResponded(step, response))
        return response

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Run a tool, through the middleware; a failure is a result too."""
        step = self.control.step
        self.control.emit(ToolStarted(step, call))
        result = await self._tool_call(call)
        logger.debug("step %d: %s took %.3f s", step, call.name, result.duration_seconds)
        self.control.emit(ToolFinished(step, result))
        return result

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
        )

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

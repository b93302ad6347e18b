"""Run: all that one run of an agent knows, and its two ways to the outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, Generic, Protocol, TypeVar

from tinyagent.adapters import ToolCallingAdapter
from tinyagent.core.context import RunContext
from tinyagent.core.errors import ModelReplyError, TinyAgentError
from tinyagent.core.events import (
    ModelRequested,
    ModelResponded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from tinyagent.core.execution import Artifact
from tinyagent.core.finalizer import Finalizer
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.signals import Signal
from tinyagent.core.types import (
    ModelRequest,
    ModelResponse,
    RunResult,
    RunState,
    ToolResult,
)
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


class Conversation(Protocol):
    """What a run needs of its memory, be it of messages or of steps."""

    @property
    def tokens(self) -> int:
        """About how many tokens the model is sent of it."""
        ...

    def learn(self, input_tokens: int) -> None:
        """Correct the estimate by what the server counted."""
        ...

    def __len__(self) -> int:
        """How many messages or steps there are."""
        ...


M = TypeVar("M", bound=Conversation)


class Run(Generic[M]):
    """One run. The agent object holds none of this, so it can serve many runs at once.

    Args:
        context: what middleware and tools may see of the run.
        streaming: whether text deltas are wanted.
    """

    def __init__(
        self,
        model: Model,
        tools: Mapping[str, Tool],
        middleware: Sequence[Middleware],
        context: RunContext,
        memory: M,
        *,
        streaming: bool,
    ) -> None:
        self.context = context
        self.memory = memory
        self.finalizer = Finalizer()
        self.output: Any = None
        self.steps: list[Any] = []
        self.signals: list[Signal] = []
        self.artifacts: list[Artifact] = []
        self.rejected_outputs = 0
        self.adapter: ToolCallingAdapter | None = None
        self.calls_natively = False
        self.results = ResultStore(taken=tools)
        self.resources = AsyncExitStack()
        """What is given back when the run ends."""
        self.layers = bind_all(middleware, context)
        self._model = model
        self._tools = tools
        bound = self.layers
        context.emit = with_listeners(bound, context.emit)
        self._model_call = chain_model_call(bound, self._stream if streaming else self._complete)
        self._tool_call = chain_tool_call(bound, self._call_tool)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools on offer now: the agent's, and one to read on where a result was cut."""
        if not self.results.is_used:
            return self._tools
        reader = self.results.tool
        return {**self._tools, reader.name: reader}

    async def call_model(self, request: ModelRequest) -> ModelResponse:
        """Ask the model, through the middleware."""
        step = self.context.step
        self.context.emit(ModelRequested(step, request))
        logger.debug("step %d: asking %s, %d messages", step, self._model.name, len(self.memory))
        response = await self._model_call(request)
        self.context.usage += response.usage
        self.context.uses.append(response.use)
        if response.usage.input_tokens:
            self.memory.learn(response.usage.input_tokens)
        logger.debug("step %d: %s answered (%s)", step, self._model.name, response.finish_reason)
        self.context.emit(ModelResponded(step, response))
        return response

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Run a tool, through the middleware; its failure is a result too."""
        step = self.context.step
        self.context.emit(ToolStarted(step, call))
        result = await self._tool_call(call)
        logger.debug("step %d: %s took %.3f s", step, call.name, result.duration_seconds)
        self.context.emit(ToolFinished(step, result))
        return result

    def is_sequential(self, call: ToolCall) -> bool:
        """Whether the call must not run beside others."""
        tool = self._tools.get(call.name)
        return tool is not None and tool.sequential

    def result(self, state: RunState, error: TinyAgentError | None) -> RunResult[Any]:
        """What the run has come to."""
        answer = self.finalizer.answer
        return RunResult(
            output=self.output,
            state=state,
            steps_taken=self.context.step,
            duration_seconds=self.context.seconds,
            usage=self.context.usage,
            memory=self.memory,
            final_answer=answer,
            steps=tuple(self.steps),
            signals=tuple(self.signals),
            artifacts=tuple(self.artifacts),
            error=error,
            uses=tuple(self.context.uses),
        )

    async def _complete(self, request: ModelRequest) -> ModelResponse:
        return await self._model.complete(request)

    async def _stream(self, request: ModelRequest) -> ModelResponse:
        async with aclosing(self._model.stream(request)) as items:
            async for item in items:
                if isinstance(item, ModelResponse):
                    return item
                self.context.emit(TextDelta(self.context.step, item.text, item.kind))
        raise ModelReplyError(f"{self._model.name} ended its stream without a whole answer")

    async def _call_tool(self, call: ToolCall) -> ToolResult:
        return await call_tool(self.tools, call, self.context)

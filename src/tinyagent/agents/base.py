"""The loop that all agents share.

    task -> memory -> request -> [middleware] model -> act -> memory -> ... -> RunResult

`BaseAgent` checks the tools. `LoopAgent` runs the loop; an agent gives it two methods: `request`
(what to ask the model now) and `act` (what to do with the answer). Everything a run knows is in
its `Run`.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypedDict, cast

from tinyagent.agents.output import OutputReader
from tinyagent.agents.run import Run
from tinyagent.core.context import RunContext
from tinyagent.core.errors import (
    CallerError,
    ConfigurationError,
    InvalidFinalAnswer,
    MalformedReply,
    RunEnded,
    StepLimitReached,
    TinyAgentError,
    ToolDefinitionError,
)
from tinyagent.core.events import (
    Event,
    ReplyRejected,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from tinyagent.core.memory import Memory
from tinyagent.core.types import ModelRequest, ModelResponse, RunResult, RunState
from tinyagent.middleware.base import Middleware
from tinyagent.middleware.limits import UsageLimits
from tinyagent.models.base import Model, get_model
from tinyagent.prompts.loader import get_prompt_fallback
from tinyagent.tools.tool import Tool

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=str)
else:
    from typing import TypeVar

    T = TypeVar("T")


class AgentOptions(TypedDict, total=False):
    """What every agent can be told besides its model and tools."""

    max_steps: int
    prompt_file: str | Path | None
    system_suffix: str
    middleware: Sequence[Middleware]
    max_tokens: int | None
    temperature: float | None
    output_retries: int


@dataclass(frozen=True, slots=True)
class _Settings:
    """`AgentOptions` with the defaults."""

    max_steps: int = 10
    prompt_file: str | Path | None = None
    system_suffix: str = ""
    middleware: Sequence[Middleware] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    output_retries: int = 2


class BaseAgent:
    """Checks the tools; it has no loop of its own.

    Args:
        tools: `Tool` objects, or functions that `@tool` would take.

    Raises:
        ToolDefinitionError: an item is neither, or two tools share a name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tool_map: dict[str, Tool] = {}
        for item in tools:
            made = _as_tool(item)
            if made.name in self._tool_map:
                raise ToolDefinitionError(
                    f"two tools are called {made.name!r}; rename one with @tool(name=...)"
                )
            self._tool_map[made.name] = made


def _as_tool(item: object) -> Tool:
    if isinstance(item, Tool):
        return item
    if inspect.isfunction(item) or inspect.ismethod(item):
        return Tool.from_function(item)
    raise ToolDefinitionError(
        f"{item!r} is not a tool; give a function with type hints and a docstring, or a Tool"
    )


class LoopAgent(BaseAgent, ABC, Generic[T]):
    """An agent that asks a model again and again until there is an answer."""

    def __init__(
        self,
        model: Model | str,
        tools: Iterable[Tool | Callable[..., Any]],
        output_type: type[T] | None,
        options: AgentOptions,
        system_prompt: str,
    ) -> None:
        super().__init__(tools)
        self._model = get_model(model)
        self._settings = _Settings(**options)
        if self._settings.max_steps < 1:
            raise ConfigurationError(f"max_steps must be 1 or more, got {self._settings.max_steps}")
        self._output: OutputReader[T] = OutputReader(output_type)
        prompt = get_prompt_fallback(self._settings.prompt_file, system_prompt)
        parts = (prompt, self._output.instruction, self._settings.system_suffix)
        self._system_prompt = "\n\n".join(part for part in parts if part)
        layers = tuple(self._settings.middleware)
        limited = any(isinstance(layer, UsageLimits) for layer in layers)
        self._middleware = layers if limited else (UsageLimits(), *layers)

    async def run(
        self,
        task: str,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: Memory | None = None,
    ) -> RunResult[T]:
        """Work on `task` until there is an answer.

        Args:
            task: what to do, in words.
            max_steps: in place of the agent's own.
            return_result: give back the result of a run that ended without an answer, rather
                than raise its error.
            memory: the memory of an earlier result, to go on with that conversation.

        Raises:
            RunEnded: a limit was reached, or the answer never took its type.
            ModelError: the model's server failed.

        Each error carries the `result` that the run had come to.
        """
        result = await self._drive(self._start(task, max_steps, memory))
        if result.error is None or return_result:
            return result
        raise result.error

    def run_sync(
        self,
        task: str,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: Memory | None = None,
    ) -> RunResult[T]:
        """`run` for programs without an event loop.

        Raises:
            CallerError: a loop is running already; await `run` there.
        """
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise CallerError(
                "run_sync() was called inside a running event loop; use: await agent.run(...)"
            )
        return asyncio.run(
            self.run(task, max_steps=max_steps, return_result=return_result, memory=memory)
        )

    async def stream(
        self, task: str, *, max_steps: int | None = None, memory: Memory | None = None
    ) -> AsyncGenerator[Event, None]:
        """The run as events while it happens; the last is `RunFinished`, whatever the end.

        Leaving the loop early, or cancelling the task, cancels the run. To be sure that it has
        ended when you leave early, use `contextlib.aclosing(agent.stream(...))`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        run = self._start(task, max_steps, memory, events.put_nowait)
        driver = asyncio.create_task(self._drive(run))
        driver.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await driver
        finally:
            driver.cancel()
            await asyncio.wait([driver])

    @abstractmethod
    def request(self, run: Run) -> ModelRequest:
        """What to ask the model now."""

    @abstractmethod
    async def act(self, run: Run, response: ModelResponse) -> None:
        """Do what the model wants, and remember it.

        Raises:
            MalformedReply: the reply cannot be used; the loop tells the model.
        """

    async def _loop(self, run: Run) -> None:
        context = run.context
        while context.step < context.max_steps:
            context.step += 1
            context.emit(StepStarted(context.step))
            response = await run.call_model(self.request(run))
            try:
                await self.act(run, response)
            except MalformedReply as fault:
                self._reject(run, response, str(fault))
            context.emit(StepFinished(context.step))
            if run.finalizer.is_set:
                return
        raise StepLimitReached(
            f"no answer after {context.max_steps} steps (raise it with max_steps=...)"
        )

    async def _drive(self, run: Run) -> RunResult[T]:
        """Run the loop to whatever end, and tell it."""
        run.context.emit(RunStarted(run.context.run_id, run.context.task))
        try:
            await self._loop(run)
        except RunEnded as end:
            return self._finish(run, end.state, end)
        except TinyAgentError as error:
            return self._finish(run, "error", error)
        except asyncio.CancelledError:
            self._finish(run, "cancelled", None)
            raise
        return self._finish(run, "completed", None)

    def _start(
        self,
        task: str,
        max_steps: int | None,
        memory: Memory | None,
        listener: Callable[[Event], None] | None = None,
    ) -> Run:
        steps = self._settings.max_steps if max_steps is None else max_steps
        if steps < 1:
            raise ConfigurationError(f"max_steps must be 1 or more, got {steps}")
        context = RunContext(task=task, max_steps=steps, tools=self._tool_map)
        if listener is not None:
            context.emit = listener
        conversation = Memory() if memory is None else memory.copy()
        if not conversation:
            conversation.add("system", self._system_prompt)
        conversation.add("user", task)
        return Run(
            self._model,
            self._tool_map,
            self._middleware,
            context,
            conversation,
            streaming=listener is not None,
        )

    def _finish(self, run: Run, state: RunState, error: TinyAgentError | None) -> RunResult[T]:
        result = cast("RunResult[T]", run.result(state, error))
        if error is not None:
            error.result = result
        run.context.emit(RunFinished(result))
        return result

    def _reject(self, run: Run, response: ModelResponse, reason: str) -> None:
        """Tell the model what was wrong with its reply."""
        if response.content and response.content.strip():
            run.memory.add("assistant", response.content)
        run.memory.add("user", reason)
        run.context.emit(ReplyRejected(run.context.step, reason))

    def _answer(self, run: Run, text: str, source: str, finish_reason: str) -> None:
        """Take the answer, or raise `MalformedReply` with what is wrong with its type."""
        try:
            value = self._output.read(text)
        except MalformedReply as fault:
            run.rejected_outputs += 1
            if run.rejected_outputs > self._settings.output_retries:
                raise InvalidFinalAnswer(
                    f"the answer did not take its type in {run.rejected_outputs} tries: {fault}"
                ) from None
            raise
        run.finalizer.set_answer(value, source, {"finish_reason": finish_reason})

"""The loop that all agents share.

    task -> memory -> request -> [middleware] model -> act -> memory -> ... -> RunResult

`BaseAgent` checks the tools. `LoopAgent` runs the loop; an agent gives it two methods: `request`
(what to ask the model now) and `act` (what to do with the answer). The state of a run is in its
`Run`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

from tinyagent.agents.delegate import agent_tool
from tinyagent.agents.options import AgentOptions, AgentSettings, with_default_layers
from tinyagent.agents.output import output_reader
from tinyagent.agents.run import Run
from tinyagent.core.context import RunControl
from tinyagent.core.errors import (
    CallerError,
    InvalidFinalAnswer,
    MalformedReply,
    ModelContextTooLong,
    RunEnded,
    StepLimitReached,
    TinyAgentError,
)
from tinyagent.core.events import (
    Event,
    ReplyRejected,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from tinyagent.core.logs import logger
from tinyagent.core.messages import Content, Message, Task, as_content
from tinyagent.core.results import RunResult, RunState
from tinyagent.core.types import ModelRequest, ModelResponse
from tinyagent.memory.pruning import token_budget
from tinyagent.models.base import Model, get_model
from tinyagent.prompts import get_prompt_fallback
from tinyagent.tools.registry import collect_tools
from tinyagent.tools.tool import Tool, plain_text

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=str)
else:
    from typing import TypeVar

    T = TypeVar("T")

R = TypeVar("R", bound=Run[Any])
M = TypeVar("M")
S = TypeVar("S")


class BaseAgent:
    """Checks the tools; it has no loop.

    Args:
        tools: `Tool` objects, or functions that `@tool` would accept.

    Raises:
        ToolDefinitionError: an item is neither, or two tools share a name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tool_map: dict[str, Tool] = collect_tools(tools)


class LoopAgent(BaseAgent, ABC, Generic[R, M, S, T]):
    """An agent that asks a model repeatedly until there is an answer."""

    answers_by_call: ClassVar[bool] = False
    """Whether the answer is passed to a function instead of being the text of a reply."""

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
        self._settings = AgentSettings(**options)
        self._layers = with_default_layers(self._settings.middleware, self._tool_map)
        self._output = output_reader(output_type, by_call=self.answers_by_call)
        prompt = get_prompt_fallback(self._settings.prompt_file, system_prompt)
        form = "" if self._output is None else self._output.instruction
        parts = (prompt, self.environment(), form, self._settings.system_suffix)
        self._system_prompt = "\n\n".join(part for part in parts if part)

    async def run(
        self,
        task: Task,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: M | None = None,
    ) -> RunResult[T, M, S]:
        """Work on `task` until there is an answer.

        Args:
            task: what to do, in words; or words, images and documents in a list.
            max_steps: replaces the agent's step limit.
            return_result: return the result of a run that ended without an answer instead of
                raising its error.
            memory: the memory of an earlier result, to continue that conversation.

        Raises:
            RunEnded: a limit was reached, or the answer never matched its type.
            ModelError: the model's server failed.

        Each error carries the `result` of the run up to there.
        """
        result = await self._drive(self._start(task, max_steps, memory))
        if result.error is None or return_result:
            return result
        raise result.error

    def run_sync(
        self,
        task: Task,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: M | None = None,
    ) -> RunResult[T, M, S]:
        """`run` for programs without an event loop.

        Raises:
            CallerError: an event loop is running already; await `run` there.
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
        self, task: Task, *, max_steps: int | None = None, memory: M | None = None
    ) -> AsyncGenerator[Event, None]:
        """The run as events while it happens; the last is always `RunFinished`.

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

    def environment(self) -> str:
        """The part of the system prompt that describes the agent's tools, if adapters do not."""
        return ""

    @abstractmethod
    def begin(self, task: Content, memory: M | None, control: RunControl, *, streaming: bool) -> R:
        """The state of a new run: the earlier conversation, if any, and the task."""

    @abstractmethod
    def request(self, run: R) -> ModelRequest:
        """What to ask the model now."""

    @abstractmethod
    async def act(self, run: R, response: ModelResponse) -> None:
        """Do what the model wants, and remember it.

        Raises:
            MalformedReply: the reply cannot be used; the loop reports it to the model.
        """

    @abstractmethod
    def reject(self, run: R, response: ModelResponse, reason: str) -> None:
        """Remember a reply that cannot be used, and the reason."""

    async def ask(self, run: R) -> ModelResponse:
        """Ask the model; a conversation that is too long for it is pruned and sent again, once.

        Raises:
            ModelError: the server failed.
        """
        try:
            return await run.call_model(self.request(run))
        except ModelContextTooLong:
            # The system prompt and the task stay, and no call is separated from its result.
            strategy = token_budget(run.memory.tokens // 2)
            saved = run.memory.prune(strategy, task=run.control.task)
            logger.info("the conversation was too long for the model: %d characters saved", saved)
            if saved <= 0:
                raise
            return await run.call_model(self.request(run))

    def as_tool(self, name: str, description: str) -> Tool:
        """This agent as a tool that takes a task in words and returns the answer.

        Args:
            name: the name by which the outer model calls it.
            description: what it can do, for the outer model.
        """
        return agent_tool(partial(self.run, return_result=True), name, description)

    async def _loop(self, run: R) -> None:
        control = run.control
        while control.step < control.max_steps:
            control.step += 1
            control.emit(StepStarted(control.step))
            response = await self.ask(run)
            try:
                await self.act(run, response)
            except MalformedReply as fault:
                self.reject(run, response, str(fault))
                control.emit(ReplyRejected(control.step, str(fault)))
            control.emit(StepFinished(control.step))
            if run.finalizer.is_set:
                return
        raise StepLimitReached(
            f"no answer after {control.max_steps} steps (raise the limit with max_steps=...)"
        )

    async def _drive(self, run: R) -> RunResult[T, M, S]:
        """Run the loop to its end, and report how it ended."""
        run.control.emit(RunStarted(run.control.run_id, run.control.task))
        try:
            async with run.resources:
                await self._loop(run)
        except RunEnded as end:
            return self._finish(run, end.state, end)
        except TinyAgentError as error:
            return self._finish(run, "error", error)
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            self._finish(run, "cancelled" if cancelled else "error", None)
            raise
        return self._finish(run, "completed", None)

    def _start(
        self,
        task: Task,
        max_steps: int | None,
        memory: M | None,
        listener: Callable[[Event], None] | None = None,
    ) -> R:
        settings = self._settings
        if max_steps is not None:
            settings = replace(settings, max_steps=max_steps)
        content = as_content(task)
        words = Message("user", content).text
        control = RunControl(words, settings.max_steps, self._tool_map, self._model.name)
        if listener is not None:
            control.emit = listener
        return self.begin(content, memory, control, streaming=listener is not None)

    def _finish(self, run: R, state: RunState, error: TinyAgentError | None) -> RunResult[T, M, S]:
        result = cast("RunResult[T, M, S]", run.result(state, error))
        if error is not None:
            error.result = result
        run.control.emit(RunFinished(result))
        return result

    @property
    def _output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the answer, if it has a type."""
        return None if self._output is None else self._output.schema

    def _read_answer(self, run: R, answer: Any) -> T:
        """The answer in its type; `MalformedReply` says what is wrong with it, for the model."""
        if self._output is None:
            return cast("T", plain_text(answer))
        try:
            return self._output.read(answer)
        except MalformedReply as fault:
            run.rejected_outputs += 1
            if run.rejected_outputs > self._settings.output_retries:
                raise InvalidFinalAnswer(
                    f"the answer did not match its type in {run.rejected_outputs} tries: {fault}"
                ) from None
            raise

"""The loop that all agents share.

    task -> memory -> request -> [middleware] model -> act -> memory -> ... -> RunResult

`BaseAgent` checks the tools. `LoopAgent` runs the loop; an agent gives it two methods: `request`
(what to ask the model now) and `act` (what to do with the answer). The state of a run is in its
`Run`.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from tinyagent.agents.options import AgentOptions, AgentSettings, with_default_layers
from tinyagent.agents.output import output_reader
from tinyagent.agents.start import D, M, R, S, Startable, T
from tinyagent.core.context import RunControl, delegation_of
from tinyagent.core.errors import (
    AnswerCutOff,
    AnswerRefused,
    CallerError,
    ConfigurationError,
    InvalidFinalAnswer,
    MalformedReply,
    ModelContextTooLong,
    ModelError,
    RunEnded,
    StepLimitReached,
    TinyAgentError,
    UsageLimitReached,
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
from tinyagent.core.messages import Labelled, Task, as_contents, words_of
from tinyagent.core.provenance import Label
from tinyagent.core.results import RunResult, RunState
from tinyagent.core.types import ModelRequest, ModelResponse
from tinyagent.core.untrusted import cut_middle
from tinyagent.memory.pruning import token_budget
from tinyagent.models.base import Model, get_model
from tinyagent.prompts import get_prompt_fallback
from tinyagent.tools.deps import needed_deps
from tinyagent.tools.registry import collect_tools
from tinyagent.tools.tool import Tool, plain_text

_LAST_CHANCE = (
    "No step is left: nothing more is run. Answer the task now in plain words, from what you have"
    " seen. If that is not enough, say what is missing; invent nothing."
)
_NO_ANSWER = (ConfigurationError, InvalidFinalAnswer, MalformedReply, ModelError, UsageLimitReached)
_REFUSAL_CHARS = 1_000


class BaseAgent:
    """Checks the tools; it has no loop.

    Args:
        tools: `Tool` objects, or functions that `@tool` would accept.

    Raises:
        ToolDefinitionError: An item is neither, or two tools share a name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tool_map: dict[str, Tool] = collect_tools(tools)

    @property
    def tools(self) -> Sequence[Tool]:
        """Its tools, in order."""
        return tuple(self._tool_map.values())


class LoopAgent(BaseAgent, Startable[R, M, S, T, D]):
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
        *,
        deps_type: type[D] | None,
    ) -> None:
        super().__init__(tools)
        self._deps_type = needed_deps(self._tool_map.values(), deps_type)
        self._model = get_model(model)
        self._settings = AgentSettings(**options)
        self._layers = with_default_layers(self._settings.middleware, self._tool_map)
        self._output = output_reader(output_type, by_call=self.answers_by_call)
        prompt = get_prompt_fallback(self._settings.prompt_file, system_prompt)
        form = "" if self._output is None else self._output.instruction
        parts = (prompt, self.environment(), form, self._settings.instructions)
        self._system_prompt = "\n\n".join(part for part in parts if part)

    def environment(self) -> str:
        """The part of the system prompt that describes the agent's tools, if adapters do not."""
        return ""

    @abstractmethod
    def begin(self, task: Labelled, memory: M | None, control: RunControl, *, streaming: bool) -> R:
        """The state of a new run: the earlier conversation, if any, and the task, as messages."""

    @abstractmethod
    def request(self, run: R) -> ModelRequest:
        """What to ask the model now."""

    @abstractmethod
    async def act(self, run: R, response: ModelResponse) -> None:
        """Do what the model wants, and remember it.

        Raises:
            MalformedReply: The reply cannot be used; the loop reports it to the model.
        """

    @abstractmethod
    def reject(self, run: R, response: ModelResponse, reason: str) -> None:
        """Remember a reply that cannot be used, and the reason."""

    @abstractmethod
    def ask_in_words(self, run: R, words: str) -> None:
        """Tell the model that it can only answer, in plain words."""

    @abstractmethod
    def last_words(self, run: R, response: ModelResponse) -> Any:
        """The answer in a reply at the step limit, which is remembered.

        Raises:
            MalformedReply: It is not an answer.
        """

    async def ask(self, run: R) -> ModelResponse:
        """Ask the model; a conversation that is too long for it is pruned and sent again, once.

        Raises:
            ModelError: The server failed.
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

    async def _loop(self, run: R) -> None:
        control = run.control
        while control.step < control.max_steps:
            control.step += 1
            control.emit(StepStarted(control.step))
            response = await self.ask(run)
            _check_not_refused(response)
            try:
                await self.act(run, response)
            except MalformedReply as fault:
                self.reject(run, response, str(fault))
                control.emit(ReplyRejected(control.step, str(fault)))
                self._count_cut_off(run, response)
            control.emit(StepFinished(control.step))
            if run.finalizer.is_set:
                return
        await self._end_at_limit(run)

    async def _end_at_limit(self, run: R) -> None:
        """Ask once more, for an answer in plain words, if the agent has no answer yet."""
        limit = StepLimitReached(
            f"no answer after {run.control.max_steps} steps (raise the limit with max_steps=...)"
        )
        if not self._settings.answer_at_limit or not run.steps:  # there is nothing to answer from
            raise limit
        self.ask_in_words(run, _LAST_CHANCE)
        try:
            response = await self.ask(run)
            _check_not_refused(response)
            if response.finish_reason == "length":
                raise MalformedReply("the answer at the step limit was cut off")
            answer = self.last_words(run, response)
            run.output = self._read_answer(run, answer)
        except _NO_ANSWER as failure:  # the limit is what ended the run
            raise limit from failure
        run.finalizer.set_answer(run.output, "step_limit")

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
        deps: D | None,
        listener: Callable[[Event], None] | None = None,
    ) -> R:
        if deps is None and self._deps_type is not None:
            needed = getattr(self._deps_type, "__name__", self._deps_type)
            raise CallerError(
                f"the tools need deps of type {needed}, and the run has none: pass deps=..."
            )
        settings = self._settings
        if max_steps is not None:
            settings = replace(settings, max_steps=max_steps)
        words = words_of(task)
        control = RunControl(words, settings.max_steps, self._tool_map, self._model.name)
        control.delegation, control.deps = delegation_of(words), deps
        if listener is not None:
            control.emit = listener
        labelled = [
            (content, Label(frozenset({source})) | control.given if source else control.task_label)
            for content, source in as_contents(task)
        ]
        return self.begin(labelled, memory, control, streaming=listener is not None)

    def _count_cut_off(self, run: R, response: ModelResponse) -> None:
        """Count the rejected replies that were cut off; too many in one run end it.

        Raises:
            AnswerCutOff: There were more than `output_retries`.
        """
        if response.finish_reason != "length":
            return
        run.cut_off_replies += 1
        if run.cut_off_replies > self._settings.output_retries:
            limit = self._settings.max_tokens
            advice = "max_tokens" if limit is None else f"max_tokens, which is {limit},"
            raise AnswerCutOff(
                f"{run.cut_off_replies} replies of {response.model or run.control.model} were"
                f" cut off at their maximum length (raise {advice} or ask for less at once)"
            )

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


def _check_not_refused(response: ModelResponse) -> None:
    """Raise AnswerRefused if the model or a filter declined: another request would not help."""
    if response.finish_reason not in {"refusal", "content_filter"}:
        return
    who = "the model" if response.finish_reason == "refusal" else "a filter of the provider"
    words = cut_middle((response.refusal or response.content or "").strip(), _REFUSAL_CHARS)
    raise AnswerRefused(f"{who} declined to answer" + (f": {words}" if words else ""))

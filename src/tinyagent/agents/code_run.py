"""TinyCodeRun: one run of a code agent, with its sandbox, its scratchpad and its signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tinyagent.agents.code_check.check import CodeCheck
from tinyagent.agents.code_observation import describe_calls
from tinyagent.agents.code_prompt import HELPERS, code_tool, shown_to_model
from tinyagent.agents.code_reply import CodeReply, read_code_reply
from tinyagent.agents.code_sealed import SealedHelpers
from tinyagent.agents.run import ResultStore, Run, chain
from tinyagent.core.errors import MalformedReply, RunEnded, TinyAgentError
from tinyagent.core.events import (
    CodeFinished,
    CodeStarted,
    NetworkRequestFinished,
    OutputDelta,
    SignalGiven,
)
from tinyagent.core.execution import Artifact, ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.parts import Document, Image
from tinyagent.core.provenance import join
from tinyagent.core.results import RunResult, RunState
from tinyagent.core.signals import Signal, signal_functions
from tinyagent.core.threads import run_in_thread
from tinyagent.core.types import ModelResponse, ToolResult
from tinyagent.execution.protocol import Executor
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.scratchpad import AgentMemory
from tinyagent.memory.steps import ActionStep, ScratchpadStep
from tinyagent.middleware.base import Middleware
from tinyagent.tools.tool import Tool

_OBSERVATION_CHARS = 10_000
_SMALL = 8_000  # characters of a reply that takes less time to read than a thread to start


class TinyCodeRun(Run[MemoryManager]):
    """A run of a code agent, with its sandbox, its scratchpad and its signals."""

    executor: Executor
    calls: list[tuple[ToolCall, ToolResult]]
    """The calls of the latest block, with their results."""
    is_stuck: bool
    """Whether the latest reply and its result repeat those of an earlier step."""
    has_opened: bool
    """Whether contents of stand-ins are in the latest answer."""
    check: CodeCheck

    def use(self, executor: Executor, sandbox: Callable[[], Executor]) -> None:
        """Run the code with `executor`, which runs no other code meanwhile.

        Its namespace receives the tools and the helpers, except `final_answer`, which it provides.
        Sealed code works on values in a `sandbox` of its own each time.

        Raises:
            ConfigurationError: The run is sealed, but nothing keeps what is sealed.
        """
        self.executor = executor
        self.scratchpad = pad = AgentMemory()
        self.signals: list[Signal] = []
        self.artifacts: list[Artifact] = []
        self.results = ResultStore(_OBSERVATION_CHARS, taken={*self.tools, *HELPERS})
        self._end: RunEnded | None = None
        self._reads_results = False
        self._returned: list[Image | Document] = []
        self.calls = []
        self.is_stuck = self.has_opened = False
        self._outcomes: set[int] = set()
        self._noted: list[ActionStep | ScratchpadStep] = []
        self._has_noted = False
        self._code_run = chain(self.layers, "code_run", self._execute)
        self.control.forget_variables = executor.reset
        for tool in self.tools.values():
            self._inject_tool(tool)
        for helper in (pad.store, pad.recall, pad.observe, pad.fail):
            executor.inject(helper.__name__, _on_the_loop(helper))
        for name, send in signal_functions(self._note, lambda: self.control.step).items():
            executor.inject(name, _on_the_loop(send))
        self._code = ""
        if self.control.sealed:
            note = self.labelled_calls.append
            sealed = SealedHelpers(self.control, self._model, sandbox, self._sources, note)
            for name, helper in sealed.helpers.items():
                executor.inject(name, helper)

    async def read(self, response: ModelResponse) -> CodeReply:
        """The code of a reply, checked; a long one is read in a thread.

        Raises:
            MalformedReply: There is no code, or it would certainly fail.
        """
        text = response.content or ""

        def work() -> CodeReply:
            reply = read_code_reply(text, is_cut_off=response.finish_reason == "length")
            self.check.check(reply.tree, self.tools)
            return reply

        return work() if len(text) <= _SMALL else await run_in_thread(work)

    async def run_code(self, code: str) -> ExecutionResult:
        """Run one block, through the middleware.

        Raises:
            RunEnded: A limit was reached in the middle of it.
        """
        if self.results.is_used and not self._reads_results:
            self._reads_results = True
            self._inject_tool(self.results.tool)
        self._returned.clear()
        self.calls.clear()
        self._code = code
        self.control.emit(CodeStarted(self.control.step, code))
        try:
            result = await self._code_run(code)
        finally:
            if self.control.label is not None:  # an answer may hold all that entered the sandbox
                self.label = self.control.label(None)
        self.notice(code, result.output, result.value_text, result.error or "")
        self.artifacts += result.artifacts
        self.control.emit(CodeFinished(self.control.step, result))
        return result

    def answer(self, value: Any) -> Any:
        """The answer for the user, with contents in place of the stand-ins of sealed code.

        The run gets the labels of these contents.

        Raises:
            MalformedReply: A stand-in in it is unknown.
        """
        if self.control.vault is None:
            return self.cleaned(value)
        self.has_opened = False
        try:
            opened = self.control.vault.answer(value)
        except (ValueError, TypeError) as fault:
            raise MalformedReply(f"final_answer: {fault}") from None
        self.has_opened = bool(opened.labels)
        self.label = opened.label if self.label is None else self.label | opened.label
        return opened.value

    def describe_calls(self, result: ExecutionResult) -> str:
        """What the calls of a block that failed returned; nothing of a sealed run is shown."""
        if result.error is None or self.control.sealed:
            return ""
        return describe_calls(self.calls, result.output)

    def new_notes(self) -> str:
        """The notes that the block made, for its observation; empty if it made none."""
        notes = self.scratchpad.news()
        self._has_noted = bool(notes)
        return notes

    def keep_notes(self) -> None:
        """Add all notes to the memory if pruning has dropped or shortened a step that holds some.

        Notes are part of the steps because what was sent must not change: otherwise providers
        could not use their prompt caches.
        """
        present = {id(step) for step in self.memory.steps}
        if all(id(step) in present for step in self._noted):
            return
        labels = [step.label for step in self._noted]
        label = join(labels) if any(labels) else None
        note = ScratchpadStep(self.scratchpad.to_context(), label)
        self.memory.add(note)
        self._noted = [note]

    def attachments(
        self, result: ExecutionResult, *, plots: bool
    ) -> tuple[tuple[Image | Document, ...], str]:
        """The images of the block that the model is shown, and a note for it on the others."""
        return shown_to_model(self._returned, result.artifacts, self.memory.steps, plots=plots)

    def remember(self, step: ActionStep, instead: str = "", reminder: str = "") -> None:
        """Add a step to the memory and to the result.

        Args:
            step: What was sent, and its result.
            instead: What the model is shown in place of it, if it is a repetition.
            reminder: What only the model is shown with it.
        """
        numbered = replace(step, number=self.control.step)
        kept = numbered
        if instead:
            kept = replace(numbered, reasoning="", code="", observation=instead, parts=())
        elif reminder:
            kept = replace(numbered, observation=f"{step.observation}\n{reminder}")
        self.memory.add(kept)
        if self._has_noted:
            self._noted.append(kept)
            self._has_noted = False
        self.steps.append(numbered)

    def notice(self, *outcome: str) -> None:
        """Compare a reply and its result with those of the earlier steps."""
        key = hash(outcome)
        self.is_stuck = key in self._outcomes
        self._outcomes.add(key)

    def result(self, state: RunState, error: TinyAgentError | None) -> RunResult[Any]:
        """The result of the run as it is now, with its signals and artifacts."""
        signals, artifacts = tuple(self.signals), tuple(self.artifacts)
        return replace(super().result(state, error), signals=signals, artifacts=artifacts)

    async def _execute(self, code: str) -> ExecutionResult:
        step, emit = self.control.step, self.control.emit
        result = None
        with suppress(_EndOfRun):
            result = await self.executor.run(
                code,
                on_output=lambda text: emit(OutputDelta(step, text)),
                on_request=lambda request: emit(NetworkRequestFinished(step, request)),
            )
        if self._end is not None or result is None:
            raise self._end or RunEnded("the run ended in the middle of a block of code")
        return result

    def _sources(self) -> list[str]:
        return [*(step.code for step in self.steps), self._code]

    def _inject_tool(self, tool: Tool) -> None:
        self.executor.inject(tool.name, code_tool(tool, self._call_from_code))

    async def _call_from_code(self, call: ToolCall) -> ToolResult:
        try:
            result = await self.call_tool(call)
        except RunEnded as end:
            self._end = end
            raise _EndOfRun from None
        self._returned += [part for part in result.parts if isinstance(part, Image | Document)]
        self.calls.append((call, result))
        return result

    def _note(self, signal: Signal) -> None:
        self.signals.append(signal)
        self.control.emit(SignalGiven(signal.step, signal))


def changes_code(layers: Iterable[Middleware]) -> bool:
    """Whether a middleware of the caller's own may change the code before it runs."""
    return any(
        type(layer).code_run is not Middleware.code_run
        and not type(layer).__module__.startswith("tinyagent.")
        for layer in layers
    )


class _EndOfRun(BaseException):
    """A limit ended the run in the middle of a block; code must not be able to catch this."""


def _on_the_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a coroutine function: quick ones need no thread."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call

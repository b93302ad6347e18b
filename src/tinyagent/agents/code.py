"""TinyCodeAgent: an agent that writes Python, which an executor runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Unpack, cast

from tinyagent.agents.base import LoopAgent, T
from tinyagent.agents.code_prompt import (
    HELPERS,
    code_tool,
    describe_code_environment,
    observation,
    shown_to_model,
)
from tinyagent.agents.code_reply import read_code_reply
from tinyagent.agents.options import AgentOptions, CodeOptions, CommonOptions
from tinyagent.agents.run import ResultStore, Run, chain
from tinyagent.core.context import RunControl
from tinyagent.core.errors import ConfigurationError, MalformedReply, RunEnded, TinyAgentError
from tinyagent.core.events import (
    CodeFinished,
    CodeStarted,
    OutputDelta,
    ReplyRejected,
    SignalGiven,
)
from tinyagent.core.execution import Artifact, ExecutionResult
from tinyagent.core.messages import Content, Message, ToolCall
from tinyagent.core.parts import Document, Image, Text
from tinyagent.core.provenance import Label, task_label
from tinyagent.core.results import RunResult, RunState
from tinyagent.core.signals import Signal, signal_functions
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, spoken_parts
from tinyagent.execution.packages.wanted import wanted_packages
from tinyagent.execution.protocol import Executor
from tinyagent.execution.sandbox.executor import ProcessOptions, get_executor
from tinyagent.execution.trust import (
    ISOLATED_IMPORTS,
    LOCAL_IMPORTS,
    NETWORK_IMPORTS,
    ExecutionLimits,
    TrustLevel,
    imports_at,
)
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.scratchpad import AgentMemory
from tinyagent.memory.steps import ActionStep, TaskStep
from tinyagent.models.base import Model, sees_images
from tinyagent.prompts import CODE_SYSTEM
from tinyagent.tools.tool import Tool

_OBSERVATION_CHARS = 10_000
_ANSWER_NOW = "You are repeating yourself. Give your answer now with final_answer(...)."
_LIMITS = ExecutionLimits(max_output_bytes=200_000)  # the model can page what it is not shown
_CHECKPOINTS = 1  # no run goes back; a spare state is kept in case the last one breaks


class TinyCodeRun(Run[MemoryManager]):
    """One run of a code agent, with its sandbox, its scratchpad and its signals."""

    executor: Executor

    def use(self, executor: Executor) -> None:
        """Run the code with `executor`, which runs no other code meanwhile.

        Its namespace receives the tools and the helpers, except `final_answer`, which it provides.
        """
        self.executor = executor
        self.scratchpad = pad = AgentMemory()
        self.signals: list[Signal] = []
        self.artifacts: list[Artifact] = []
        self.results = ResultStore(_OBSERVATION_CHARS, taken={*self.tools, *HELPERS})
        self._end: RunEnded | None = None
        self._reads_results = False
        self._returned: list[Image | Document] = []
        self._code_run = chain(self.layers, "code_run", self._execute)
        self.control.forget_variables = executor.reset
        for tool in self.tools.values():
            self._inject_tool(tool)
        for helper in (pad.store, pad.recall, pad.observe, pad.fail):
            executor.inject(helper.__name__, _on_the_loop(helper))
        for name, send in signal_functions(self._note, lambda: self.control.step).items():
            executor.inject(name, _on_the_loop(send))

    async def run_code(self, code: str) -> ExecutionResult:
        """Run one block, through the middleware.

        Raises:
            RunEnded: a limit was reached in the middle of it.
        """
        if self.results.is_used and not self._reads_results:
            self._reads_results = True
            self._inject_tool(self.results.tool)
        self._returned.clear()
        self.control.emit(CodeStarted(self.control.step, code))
        result = await self._code_run(code)
        self.artifacts += result.artifacts
        self.control.emit(CodeFinished(self.control.step, result))
        return result

    def attachments(
        self, result: ExecutionResult, *, plots: bool
    ) -> tuple[tuple[Image | Document, ...], str]:
        """The images of the block that the model is shown, and a note for it on the others."""
        return shown_to_model(self._returned, result.artifacts, self.memory.steps, plots=plots)

    def remember(self, step: ActionStep) -> None:
        """Add a step to the memory and to the result."""
        numbered = replace(step, step_number=self.control.step)
        self.memory.add(numbered)
        self.steps.append(numbered)

    def result(self, state: RunState, error: TinyAgentError | None) -> RunResult[Any]:
        """The result of the run as it is now, with its signals and artifacts."""
        signals, artifacts = tuple(self.signals), tuple(self.artifacts)
        return replace(super().result(state, error), signals=signals, artifacts=artifacts)

    async def _execute(self, code: str) -> ExecutionResult:
        step, emit = self.control.step, self.control.emit
        result = None
        with suppress(_EndOfRun):
            result = await self.executor.run(
                code, on_output=lambda text: emit(OutputDelta(step, text))
            )
        if self._end is not None or result is None:
            raise self._end or RunEnded("the run ended in the middle of a block of code")
        return result

    def _inject_tool(self, tool: Tool) -> None:
        self.executor.inject(tool.name, code_tool(tool, self._call_from_code))

    async def _call_from_code(self, call: ToolCall) -> ToolResult:
        try:
            result = await self.call_tool(call)
        except RunEnded as end:
            self._end = end
            raise _EndOfRun from None
        self._returned += [part for part in result.parts if isinstance(part, Image | Document)]
        return result

    def _note(self, signal: Signal) -> None:
        self.signals.append(signal)
        self.control.emit(SignalGiven(signal.step, signal))


class _EndOfRun(BaseException):
    """A limit ended the run in the middle of a block; code must not be able to catch this."""


def _on_the_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a coroutine function: quick ones need no thread."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class TinyCodeAgent(LoopAgent[TinyCodeRun, MemoryManager, ActionStep, T]):
    """An agent that writes Python, which an executor runs, until it has the answer.

    Args:
        model: a `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions; the code calls them as plain
            functions, and they run in this process.
        output_type: the type of the answer, default `str`: any type that Pydantic can read.
        trust_level: how far the code is trusted: `"local"`, `"isolated"` (the default) or
            `"sandboxed"`.
        limits: what the code may use.
        extra_imports: modules that the code may import in addition to the usual ones.
        packages: packages of an index for the code, in place of those installed here.
        network: hosts that the code may reach, such as `"api.example.com"`, or `Allow`.
        secrets: keys that the host adds to requests, by the names of their hosts.
        lock: a file with their versions and hashes; written if it does not exist.
        files: copied into the code's working folder.
        without: promises of the sandbox that need not be enforced, such as `"S1"`.
        require: promises that must be enforced in addition to those of the trust level.
        executor: replaces these six: an `Executor`, or a function that makes one for each run. An
            `Executor` serves one run at a time and is not closed.
        memory_manager: steps with which each run starts.
        prune: a strategy that shortens the steps before each request.
        vision: whether the model is shown the plots and PNG files that its code makes; by default
            only if it is known to see images.
        max_steps, prompt_file, system_suffix, middleware, max_tokens, output_retries, reasoning:
            as for `ReactAgent`. The temperature is always 0.

    Raises:
        ToolDefinitionError: an item of `tools` cannot be a tool.
        ConfigurationError: the model has no key, a tool has the name of a helper, or an option is
            wrong.
    """

    answers_by_call: ClassVar[bool] = True

    def __init__(
        self,
        model: Model | str,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        output_type: type[T] | None = None,
        **options: Unpack[CodeOptions],
    ) -> None:
        self._code_options = options
        self._extra = tuple(options.get("extra_imports", ()))
        self._files = tuple(options.get("files", ()))
        self._packages = (options.get("packages", ()), options.get("lock"))
        common = {name: options[name] for name in CommonOptions.__annotations__ if name in options}  # type: ignore[literal-required]
        settings = cast("AgentOptions", {**common, "temperature": 0.0})
        super().__init__(model, tools, output_type, settings, CODE_SYSTEM)
        taken = sorted(HELPERS.keys() & self._tool_map.keys())
        if taken:
            raise ConfigurationError(f"a code agent has a helper {taken[0]!r}: rename the tool")

    def environment(self) -> str:
        """The tools, the helpers, the imports and the limits."""
        tools = self._tool_map.values()
        plots = self._shows_plots
        if self._code_options.get("executor") is not None:  # its imports are not known here
            return describe_code_environment(tools, None, None, plots=plots)
        local = self._code_options.get("trust_level") == TrustLevel.LOCAL
        imports = (LOCAL_IMPORTS if local else ISOLATED_IMPORTS) | set(self._extra)
        wanted = wanted_packages(*self._packages)
        packages = () if wanted is None else wanted.names
        if wanted is not None:
            imports = imports_at(TrustLevel.ISOLATED, self._extra, frozenset())
        hosts = self._code_options.get("network", ())
        imports = imports | NETWORK_IMPORTS if hosts else imports
        names = [Path(file).name for file in self._files]
        seconds = self._limits().timeout_seconds
        return describe_code_environment(
            tools, imports, seconds, names, plots=plots, packages=packages, hosts=hosts
        )

    def begin(
        self, task: Content, memory: MemoryManager | None, control: RunControl, *, streaming: bool
    ) -> TinyCodeRun:
        """The earlier steps followed by the task, and a sandbox for this run."""
        earlier = self._code_options.get("memory_manager") if memory is None else memory
        conversation = MemoryManager() if earlier is None else earlier.copy()
        conversation.set_system(self._system_prompt)
        conversation.add(TaskStep(task, task_label()))
        control.material = self._material()
        executor, is_own = self._executor()
        model, tools, layers = self._model, self._tool_map, self._layers
        run = TinyCodeRun(model, tools, layers, control, conversation, streaming=streaming)
        run.use(executor)
        run.resources.push_async_callback(executor.aclose if is_own else executor.reset)
        return run

    async def ask(self, run: TinyCodeRun) -> ModelResponse:
        """Prune the conversation if the agent has a strategy, and ask the model."""
        prune = self._code_options.get("prune")
        if prune is not None:
            await run.memory.prune_async(prune)
        return await super().ask(run)

    def request(self, run: TinyCodeRun) -> ModelRequest:
        """The steps so far, with the notes of the scratchpad after the last."""
        *messages, last = run.memory.to_messages()
        notes = run.scratchpad.to_context()
        urgent = _ANSWER_NOW if run.control.answer_only else ""
        return ModelRequest(
            messages=(*messages, _with_words(last, notes, urgent)),
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            reasoning=self._settings.reasoning,
        )

    async def act(self, run: TinyCodeRun, response: ModelResponse) -> None:
        """Run the first block of code of the reply, and remember the result."""
        reply = read_code_reply(response.content or "")
        earlier = len(run.signals)
        attachments: tuple[Image | Document, ...] = ()
        observed = "The run ended in the middle of this block."
        label: Label | None = None
        try:
            result = await run.run_code(reply.code)
            label = result.label
            attachments, note = run.attachments(result, plots=self._shows_plots)
            observed = run.results.bounded(observation(result, note))
            if result.is_final:
                observed = self._take_answer(run, result) or observed
        finally:
            signals = tuple(run.signals[earlier:])
            step = ActionStep(
                reply.reasoning,
                reply.code,
                observed,
                signals,
                attachments=attachments,
                label=label,
            )
            run.remember(replace(step, parts=spoken_parts(response, step.written)))

    def reject(self, run: TinyCodeRun, response: ModelResponse, reason: str) -> None:
        """Remember what the model wrote, and what is wrong with it."""
        text = (response.content or "").strip()
        parts = spoken_parts(response, text)
        run.remember(ActionStep(text, "", reason, parts=parts, label=response.label))

    def _take_answer(self, run: TinyCodeRun, result: ExecutionResult) -> str:
        """Take the value of `final_answer`; returns what is wrong with it, for the model."""
        try:
            run.output = self._read_answer(run, result.final_value)
        except MalformedReply as fault:
            run.control.emit(ReplyRejected(run.control.step, str(fault)))
            return str(fault)
        run.finalizer.set_answer(result.final_value, "final_answer", result.final_metadata)
        return ""

    @cached_property
    def _shows_plots(self) -> bool:
        vision = self._code_options.get("vision")
        return sees_images(self._model) is True if vision is None else vision

    def _material(self) -> frozenset[str]:
        """What the code can read: files, hosts, and whatever a given executor holds."""
        options = self._code_options
        names = {f"file:{Path(file).name}" for file in self._files}
        names |= {name for name in ("executor", "network") if options.get(name)}
        return frozenset(names)

    def _executor(self) -> tuple[Executor, bool]:
        """The executor of a new run, and whether this run must close it."""
        options = self._code_options
        executor = options.get("executor")
        if executor is not None:
            return (executor(), True) if callable(executor) else (executor, False)
        level = TrustLevel(options.get("trust_level", TrustLevel.ISOLATED))
        sandbox: ProcessOptions = {
            "limits": self._limits(),
            "extra_imports": self._extra,
            "files": self._files,
        }
        packages, lock = self._packages
        if packages or lock is not None:
            sandbox |= {"packages": packages, "lock": lock}
        if network := options.get("network"):
            sandbox |= {"network": network, "secrets": options.get("secrets", {})}
        else:
            sandbox["checkpoints"] = _CHECKPOINTS
        if without := options.get("without"):
            sandbox["without"] = without
        if require := options.get("require"):
            sandbox["require"] = require
        return get_executor(level, **sandbox), True

    def _limits(self) -> ExecutionLimits:
        return self._code_options.get("limits", _LIMITS)


def _with_words(message: Message, *words: str) -> Message:
    """The message followed by words; a plain text stays a plain text."""
    added = [word for word in words if word]
    if isinstance(message.content, str):
        return replace(message, content="\n\n".join(filter(None, (message.content, *added))))
    return replace(message, content=(*message.content, *map(Text, added)))

"""TinyCodeAgent: an agent that writes Python, which an executor runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Unpack, cast

from tinyagent.agents.base import LoopAgent
from tinyagent.agents.best_of import BestOf, Check, choose
from tinyagent.agents.code_check.check import CodeCheck
from tinyagent.agents.code_observation import observation, reminder, repeated
from tinyagent.agents.code_prompt import HELPERS, describe_code_environment
from tinyagent.agents.code_reply import read_last_words, spoken_parts
from tinyagent.agents.code_run import TinyCodeRun, changes_code
from tinyagent.agents.code_sealed import SEALED_HELPERS
from tinyagent.agents.options import AgentOptions, CodeOptions
from tinyagent.agents.start import D, T
from tinyagent.core.context import RunControl
from tinyagent.core.errors import ConfigurationError, MalformedReply
from tinyagent.core.events import ReplyRejected
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import Labelled, Task
from tinyagent.core.parts import Document, Image
from tinyagent.core.provenance import OPERATOR, Label
from tinyagent.core.results import RunResult
from tinyagent.core.types import ModelRequest, ModelResponse
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.hints import Available, instead
from tinyagent.execution.protocol import Executor
from tinyagent.execution.sandbox.executor import get_executor
from tinyagent.execution.trust import ExecutionLimits
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.steps import ActionStep, ScratchpadStep, TaskStep
from tinyagent.models.base import Model, sees_images
from tinyagent.options import checks_options
from tinyagent.prompts import CODE_SYSTEM
from tinyagent.tools.signature import python_signature
from tinyagent.tools.tool import Tool

_UNLIKE = (
    "Your answer does not match the required type. More is not shown, as it may quote sealed values"
)
_ANSWER_NOW = "You are repeating yourself. Give your answer now with final_answer(...)."
_LIVELY = 1.0
"""The temperature after a repetition, since the same request would be answered in the same way."""
_LIMITS = ExecutionLimits(max_output_bytes=200_000)  # the model can page what it is not shown
_CHECKPOINTS = 1  # no run goes back; a spare state is kept in case the last one breaks


@checks_options(CodeOptions)
class TinyCodeAgent(LoopAgent[TinyCodeRun, MemoryManager, ActionStep, T, D]):
    """An agent that writes Python, which an executor runs, until it has the answer.

    Args:
        model: A `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions; the code calls them as plain
            functions, and they run in this process.
        output_type: The type of the answer, default `str`: any type that Pydantic can read.
        sandbox: Where the code runs: its level, limits, imports, files, packages, hosts. What its
            code changes in a workspace is in the events and results; to commit it, pass an
            executor.
        executor: Runs the code in place of an executor of the sandbox for each run: an `Executor`,
            or a function that makes one for each run. An `Executor` serves one run at a time and is
            not closed. If it does not say what its sandbox is, `sandbox` says it to the model.
        memory_manager: Steps with which each run starts.
        prune: A strategy that shortens the steps before each request.
        sealed: Whether untrusted results of tools are kept out of the code and away from the model,
            which work with stand-ins; needs a `Provenance`.
        vision: Whether the model is shown the plots and PNG files that its code makes; by default
            only if it is known to see images.

    The other options are those of `ReactAgent`.

    Raises:
        ToolDefinitionError: An item of `tools` cannot be a tool, or needs other `deps`.
        ConfigurationError: The model has no key, a tool has the name of a helper, or an option is
            wrong.
    """

    answers_by_call: ClassVar[bool] = True

    def __init__(
        self,
        model: Model | str,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        output_type: type[T] | None = None,
        deps_type: type[D] | None = None,
        **options: Unpack[CodeOptions],
    ) -> None:
        self._code_options = options
        self._sandbox = _sandbox_of(options)
        self._branch: Executor | None = None  # of a candidate, whose run leaves it as it is
        common = {name: options[name] for name in AgentOptions.__annotations__ if name in options}  # type: ignore[literal-required]
        settings = cast("AgentOptions", common)
        super().__init__(model, tools, output_type, settings, CODE_SYSTEM, deps_type=deps_type)
        helpers = {**HELPERS, **(SEALED_HELPERS if self._is_sealed else {})}
        taken = sorted(helpers.keys() & self._tool_map.keys())
        if taken:
            raise ConfigurationError(f"a code agent has a helper {taken[0]!r}: rename the tool")
        if options.get("executor") is None:
            self._executor()  # refuses what is wrong now, and not when a run begins

    @checks_options()
    async def best_of(
        self,
        task: Task,
        n: int,
        check: Check,
        *,
        temperature: float | None = 0.8,
        deps: D | None = None,
    ) -> BestOf[T]:
        """Let `n` candidates work on a task side by side, and choose one by a check.

        Their code runs in branches of one session, which begin with the variables and files of the
        agent's executor, if one was given. Each candidate calls the tools itself.

        Args:
            task: What to do, as for `run`.
            n: How many candidates, at most 32.
            check: A function, sync or async, of a candidate's `RunResult`, that gives True or a
                score, of which the highest wins, or False. Or Python code that runs in the sandbox
                of the candidate, which can deceive it: `answer` is the answer, and an error, or
                False as the last value, does not pass.
            temperature: Of the requests, so that candidates differ; None for the model's own.
            deps: For the tools of all candidates, as for `run`.

        Raises:
            NoCandidatePassed: No candidate has an answer that passes; it holds their results.
            CallerError: The check gave something else, there is no room for so many branches, or
                `deps` are missing.
            ConfigurationError: `n` is less than 1, or the executor cannot have branches.
        """
        executor, is_own = self._executor()
        try:
            run = partial(self._run_in, task, temperature, deps)
            return await choose(executor, n, run, check)
        finally:
            if is_own:
                await executor.aclose()

    def environment(self) -> str:
        """The tools, the helpers, the imports and the limits."""
        tools, plots = self._tool_map.values(), self._shows_plots
        return describe_code_environment(tools, self._sandbox, plots=plots, sealed=self._is_sealed)

    def begin(
        self, task: Labelled, memory: MemoryManager | None, control: RunControl, *, streaming: bool
    ) -> TinyCodeRun:
        """The earlier steps followed by the task, and a sandbox for this run."""
        earlier = self._code_options.get("memory_manager") if memory is None else memory
        conversation = MemoryManager() if earlier is None else earlier.copy()
        conversation.set_system(self._system_prompt)
        for content, label in task:
            conversation.add(TaskStep(content, label))
        control.material, control.sealed = self._material(), self._is_sealed
        executor, is_own = self._executor()
        model, tools, layers = self._model, self._tool_map, self._layers
        run = TinyCodeRun(model, tools, layers, control, conversation, streaming=streaming)
        run.use(executor, self._apart)
        run.check = self._check(run)
        if executor is not self._branch:
            run.resources.push_async_callback(executor.aclose if is_own else executor.reset)
        return run

    async def ask(self, run: TinyCodeRun) -> ModelResponse:
        """Prune the conversation if the agent has a strategy, and ask the model."""
        prune = self._code_options.get("prune")
        if prune is not None:
            await run.memory.prune_async(prune)
        return await super().ask(run)

    def request(self, run: TinyCodeRun) -> ModelRequest:
        """The steps so far: each request begins with the one before it, so that it is cached.

        Only the request after a repeated reply has a higher temperature than the agent's own.
        """
        run.keep_notes()
        temperature = self._settings.temperature
        if run.is_stuck and temperature is not None:
            temperature = max(temperature, _LIVELY)
        return ModelRequest(
            messages=run.memory.to_messages(),
            temperature=temperature,
            max_tokens=self._settings.max_tokens,
            reasoning=self._settings.reasoning,
        )

    async def act(self, run: TinyCodeRun, response: ModelResponse) -> None:
        """Run the first block of code of the reply, and remember the result."""
        reply = await run.read(response)
        earlier = len(run.signals)
        attachments: tuple[Image | Document, ...] = ()
        observed, again, remind = "The run ended in the middle of this block.", "", ""
        label: Label | None = None
        try:
            result = await run.run_code(reply.code)
            label = result.label
            attachments, note = run.attachments(result, plots=self._shows_plots)
            hint = instead(result.error or "", reply.code, self._available)
            returned = run.describe_calls(result)
            observed = observation(result, note, returned=returned, hint=hint)
            observed = run.results.bounded(observed)
            if run.is_stuck:
                again = repeated(hint, result.note)
            remind = reminder(result)
            if result.is_final:
                observed = self._take_answer(run, result) or observed
            ending = (run.new_notes(), self._urgent(run))
            observed = _lines(observed, *ending)
            again = _lines(again, *ending) if again else ""
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
            step = replace(step, parts=spoken_parts(response, step.written))
            run.remember(step, again, remind)

    def reject(self, run: TinyCodeRun, response: ModelResponse, reason: str) -> None:
        """Remember what the model wrote, and what is wrong with it."""
        text = (response.content or "").strip()
        parts = spoken_parts(response, text)
        run.notice(text, reason)
        again = _lines(repeated(), self._urgent(run)) if run.is_stuck else ""
        reason = _lines(reason, self._urgent(run))
        run.remember(ActionStep(text, "", reason, parts=parts, label=response.label), again)

    def ask_in_words(self, run: TinyCodeRun, words: str) -> None:
        """Add the words to the conversation."""
        run.memory.add(ScratchpadStep(words, OPERATOR))

    def last_words(self, run: TinyCodeRun, response: ModelResponse) -> Any:
        """The words of the reply, or the value that it passes to `final_answer` literally.

        Raises:
            MalformedReply: It is empty, or code of another kind.
        """
        text = (response.content or "").strip()
        answer = run.answer(read_last_words(text))
        parts = spoken_parts(response, text)
        step = ActionStep(text, "", "", number=run.control.step, parts=parts)
        run.memory.add(replace(step, label=response.label))
        return answer

    def _urgent(self, run: TinyCodeRun) -> str:
        return _ANSWER_NOW if run.control.answer_only else ""

    def _take_answer(self, run: TinyCodeRun, result: ExecutionResult) -> str:
        """Take the value of `final_answer`; returns what is wrong with it, for the model."""
        try:
            value = run.answer(result.final_value)
            run.output = self._read_answer(run, value)
        except MalformedReply as fault:
            words = _UNLIKE if run.has_opened else str(fault)
            run.control.emit(ReplyRejected(run.control.step, words))
            return words
        run.finalizer.set_answer(value, "final_answer", result.final_metadata)
        return ""

    @cached_property
    def _shows_plots(self) -> bool:
        vision = self._code_options.get("vision")
        return sees_images(self._model) is True if vision is None else vision

    @cached_property
    def _available(self) -> Available:
        """What the code finds, for hints on what it can do instead of what failed."""
        functions = {tool.name: python_signature(tool) for tool in self._tool_map.values()}
        sandbox = self._sandbox
        if sandbox is None or sandbox.workspace is not None:
            return Available(functions)
        return Available(functions, sandbox.file_names, bool(sandbox.network))

    @property
    def _is_sealed(self) -> bool:
        return self._code_options.get("sealed", False)

    def _material(self) -> frozenset[str]:
        """What the code can read: files, hosts, and whatever a given executor holds."""
        material = frozenset[str]() if self._sandbox is None else self._sandbox.material
        return material | {"executor"} if self._code_options.get("executor") else material

    def _executor(self) -> tuple[Executor, bool]:
        """The executor of a new run, and whether this run must close it."""
        if self._branch is not None:
            return self._branch, False
        executor = self._code_options.get("executor")
        if executor is not None:
            return (executor(), True) if callable(executor) else (executor, False)
        return get_executor(self._sandbox or Sandbox()), True

    def _check(self, run: TinyCodeRun) -> CodeCheck:
        """The check of the blocks of a run, by what is known of its sandbox."""
        sandbox, imports = self._sandbox, None
        helpers = {*HELPERS, *(SEALED_HELPERS if self._is_sealed else ())}
        is_own = self._code_options.get("executor") is None
        if sandbox is not None and sandbox.wanted is None:
            imports = sandbox.allowed_imports()
        knows_names = is_own and not changes_code(run.layers)
        return CodeCheck(helpers, imports, knows_names=knows_names, is_module=is_own)

    def _apart(self) -> Executor:
        """A sandbox without files and network, for one function of sealed code."""
        return get_executor((self._sandbox or Sandbox()).bare())

    async def _run_in(
        self, task: Task, temperature: float | None, deps: D | None, branch: Executor
    ) -> RunResult[T]:
        settings = replace(self._settings, temperature=temperature)
        candidate = copy(self)
        vars(candidate).update(_branch=branch, _settings=settings)
        return await candidate.run(task, return_result=True, deps=deps)


def _sandbox_of(options: CodeOptions) -> Sandbox | None:
    """Where the code runs; None if it runs in an executor that does not say so.

    Raises:
        ConfigurationError: An executor that says so is given, and a sandbox.
    """
    sandbox, executor = options.get("sandbox"), options.get("executor")
    if executor is None:
        return (sandbox or Sandbox()).with_defaults(_LIMITS, _CHECKPOINTS)
    own = None if callable(executor) else getattr(executor, "sandbox", None)
    if own is not None and sandbox is not None:
        raise ConfigurationError(
            "executor and sandbox are both given: make the executor of the sandbox,"
            " executor=get_executor(Sandbox(...))"
        )
    return own or sandbox


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))

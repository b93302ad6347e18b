"""ReactAgent: reason and act over tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Unpack, cast

from tinyagent.adapters.base import ToolCallingAdapter
from tinyagent.adapters.choose import ToolCallingMode, ToolOffer, ToolOffers, get_adapter, is_small
from tinyagent.adapters.native import (
    NO_CALL,
    ONLY_A_CALL,
    ONLY_AN_ECHO,
    NativeToolAdapter,
    calls_among_words,
    is_echo,
    is_only_calls,
)
from tinyagent.agents.base import LoopAgent
from tinyagent.agents.options import AgentOptions
from tinyagent.agents.run import Run
from tinyagent.agents.start import D, T
from tinyagent.core.context import RunControl
from tinyagent.core.errors import MalformedReply, ModelFormatRefused
from tinyagent.core.messages import Content, Labelled, Message, ToolCall
from tinyagent.core.parts import Text
from tinyagent.core.provenance import OPERATOR, Label
from tinyagent.core.results import ReactStep
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, remembered
from tinyagent.memory.memory import Memory
from tinyagent.models.base import Model
from tinyagent.options import checks_options
from tinyagent.prompts import REACT_SYSTEM
from tinyagent.tools.tool import Tool, offered_of

_TOOLS_ARE = "The tools are"
_NAMED = 40  # tools that are named


class ReactRun(Run[Memory]):
    """A run of a `ReactAgent`."""

    offer: ToolOffer
    """How the tools were offered in the latest request."""
    calls_natively = False
    """Whether the model has called a function, so that it knows how to."""
    was_doubted = False
    """Whether an answer was sent back because a call of a tool is missing."""

    def has_made(self, call: ToolCall) -> bool:
        """Whether this call was made before, so that its text may be a quotation."""
        made = (result.call for step in self.steps for result in step.results)
        return any(one.name == call.name and one.arguments == call.arguments for one in made)


@checks_options(AgentOptions)
class ReactAgent(LoopAgent[ReactRun, Memory, ReactStep, T, D]):
    """An agent that calls tools until it has the answer.

    Args:
        model: A `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions.
        output_type: The type of the answer, default `str`: any type that Pydantic can read.
        deps_type: The type of what `run(..., deps=...)` passes to the tools, as `context.deps` of
            their `RunContext`; default: nothing is passed.
        tool_calling_mode: How tools are offered: `"native"` (function calling), `"structured"`
            (the server enforces a JSON Schema), `"parsed"` (in words, for any model); `"auto"`
            starts from what is known about the model and steps down if its server refuses.
        max_steps: The maximum number of model calls in one run (default 10).
        instructions: Text at the end of the system prompt; the built-in prompt stays, because it
            explains how to work with tools.
        prompt_file: A file with a prompt that replaces the built-in one; `instructions` follow it.
        middleware: Wraps each model and tool call, outermost first.
        max_tokens, temperature: Passed to the model; a temperature only if it accepts one.
        reasoning: How much the model should think before it answers: `"off"`, `"low"`,
            `"medium"`, `"high"`, or about how many tokens; None leaves it to the model.
        output_retries: How often a wrong typed answer goes back to the model (default 2).
        answer_at_limit: Whether a run without an answer at the step limit asks once more, for an
            answer in plain words (the default); the `source` of such a `final_answer` is
            `"step_limit"`.

    Raises:
        ToolDefinitionError: An item of `tools` cannot be a tool, or needs other `deps`.
        ConfigurationError: The model has no key, or an option is wrong.
    """

    def __init__(
        self,
        model: Model | str,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        output_type: type[T] | None = None,
        deps_type: type[D] | None = None,
        tool_calling_mode: ToolCallingMode = "auto",
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(model, tools, output_type, options, REACT_SYSTEM, deps_type=deps_type)
        offered = offered_of(self._tool_map)
        self._offers = ToolOffers(
            get_adapter(self._model, offered, tool_calling_mode),
            offered,
            self._output_schema,
            may_step_down=tool_calling_mode == "auto",
        )

    def begin(
        self, task: Labelled, memory: Memory | None, control: RunControl, *, streaming: bool
    ) -> ReactRun:
        """The conversation so far, followed by the task."""
        conversation = Memory() if memory is None else memory.copy()
        conversation.set_system(self._system_prompt)
        for content, label in task:
            conversation.add("user", content, label=label)
        model, tools, layers = self._model, self._tool_map, self._layers
        return ReactRun(model, tools, layers, control, conversation, streaming=streaming)

    def request(self, run: ReactRun) -> ModelRequest:
        """The conversation so far, with the tools that are available."""
        adapter, form = run.offer.adapter, run.offer.format
        if run.results.is_used or run.control.answer_only:
            form = adapter.format_request(
                offered_of(run.tools),
                self._output_schema,
                answer_only=run.control.answer_only,
            )
        messages = adapter.format_messages(run.memory.messages)
        return ModelRequest(
            messages=_with_instructions(messages, form.instructions),
            format=form,
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            reasoning=self._settings.reasoning,
        )

    async def ask(self, run: ReactRun) -> ModelResponse:
        """Ask the model; an offer of tools that its server refuses is not made again."""
        while True:
            run.offer = self._offers.current
            try:
                return await super().ask(run)
            except ModelFormatRefused as refused:
                if run.control.answer_only:  # the server may refuse this, and not the tools
                    run.control.answer_only = False
                    continue
                if not self._offers.refuse(run.offer, refused):
                    raise

    async def act(self, run: ReactRun, response: ModelResponse) -> None:
        """Run the calls of the reply concurrently; a reply without calls is the final answer."""
        adapter = run.offer.adapter
        text = response.content or ""
        calls = self._read_calls(run, adapter, response)
        if not calls:
            answer = run.cleaned(adapter.extract_answer(response))
            run.output = self._read_answer(run, answer)
            run.finalizer.set_answer(run.output, "text", {"finish_reason": response.finish_reason})
            run.memory.add("assistant", remembered(response, text, ()), label=response.label)
            return
        done: dict[str, ToolResult] = {}
        run.control.reply = calls
        try:
            await _run_calls(run, calls, done)
        finally:
            # A limit may end the run in the middle: finished calls are remembered all the same.
            results = tuple(
                done.get(call.id) or _not_finished(call, response.label) for call in calls
            )
            content = remembered(response, adapter.text_beside_calls(response), calls)
            run.memory.add("assistant", content, tool_calls=calls, label=response.label)
            for result in results:
                run.memory.add(
                    "tool",
                    _result_content(run, result),
                    tool_call_id=result.call.id,
                    is_error=result.is_error,
                    label=result.label,
                )
            run.steps.append(ReactStep(run.control.step, text, results))

    def ask_in_words(self, run: ReactRun, words: str) -> None:
        """Add the words to the conversation; the next request keeps the model from calling."""
        run.control.answer_only = True
        run.memory.add("user", words, label=OPERATOR)

    def last_words(self, run: ReactRun, response: ModelResponse) -> str:
        """The text of the reply; raises `MalformedReply` if it is empty or holds calls."""
        adapter, text = run.offer.adapter, response.content or ""
        if not text.strip() or self._read_calls(run, adapter, response):
            raise MalformedReply("the reply at the step limit was not an answer")
        run.memory.add("assistant", remembered(response, text, ()), label=response.label)
        return cast("str", run.cleaned(adapter.extract_answer(response)))

    def _read_calls(
        self, run: ReactRun, adapter: ToolCallingAdapter, response: ModelResponse
    ) -> tuple[ToolCall, ...]:
        """The calls to run; none if the reply is an answer."""
        tools, text = tuple(run.tools.values()), response.content or ""
        if response.tool_calls:
            run.calls_natively = self._offers.calls_natively = True
        if response.tool_calls or not text.strip() or not isinstance(adapter, NativeToolAdapter):
            return adapter.extract_tool_calls(response, tools)
        only_calls = is_only_calls(text, run.tools)
        if run.calls_natively and not only_calls:
            return ()  # the model knows how to call: a call among words is a quotation
        calls = adapter.extract_tool_calls(response, tools)
        if only_calls and tools and not calls and self._output is None:
            raise MalformedReply(ONLY_A_CALL)  # a typed answer may have the keys of a call
        if calls or not tools or self._offers.calls_natively:
            return calls
        return self._read_words(run, adapter, response)

    def _read_words(
        self, run: ReactRun, adapter: ToolCallingAdapter, response: ModelResponse
    ) -> tuple[ToolCall, ...]:
        """The first call among the words of a model that has never called natively.

        Raises:
            MalformedReply: There is none, and the words are hardly an answer.
        """
        text, unknown = response.content or "", ""
        if is_echo(text):
            raise MalformedReply(ONLY_AN_ECHO)
        for written, call in calls_among_words(text):
            if call.name in run.tools and not run.has_made(call):
                alone = replace(response, content=written)
                return adapter.extract_tool_calls(alone, tuple(run.tools.values()))
            unknown = unknown or (call.name if call.name not in run.tools else "")
        if run.was_doubted or run.control.answer_only:
            return ()
        names = ", ".join(tool.name for tool in offered_of(run.tools)[:_NAMED])
        if unknown and self._output is None:
            run.was_doubted = True
            raise MalformedReply(f"There is no tool {unknown!r}. {_TOOLS_ARE}: {names}.")
        if not run.steps and is_small(self._model):
            run.was_doubted = True
            raise MalformedReply(f"{NO_CALL} {_TOOLS_ARE}: {names}.")
        return ()

    def reject(self, run: ReactRun, response: ModelResponse, reason: str) -> None:
        """Remember what the model wrote, and what is wrong with it."""
        if response.content and response.content.strip():
            content = remembered(response, response.content, ())
            run.memory.add("assistant", content, label=response.label)
        run.memory.add("user", reason, label=response.label)


def _result_content(run: ReactRun, result: ToolResult) -> Content:
    """The part of a result that the model is shown: long texts are cut, images are not."""
    if not result.parts:
        return "\n".join(filter(None, (run.results.bounded(result.content), result.note)))
    note = (Text(result.note),) if result.note else ()
    shown = Message("tool", (*result.parts, *note)).with_text(run.results.bounded)
    return shown.content


def _not_finished(call: ToolCall, label: Label | None) -> ToolResult:
    return ToolResult(call, "Error: not finished: the run ended", is_error=True, label=label)


def _with_instructions(messages: Sequence[Message], instructions: str) -> Sequence[Message]:
    """The messages with the adapter's instructions after the system prompt."""
    if not instructions:
        return messages
    first, rest = messages[0], messages[1:]
    if first.role != "system":
        return (Message("system", instructions, label=OPERATOR), *messages)
    return (replace(first, content=f"{first.text}\n\n{instructions}"), *rest)


async def _run_calls(run: ReactRun, calls: Sequence[ToolCall], done: dict[str, ToolResult]) -> None:
    """Run the calls concurrently, those of sequential tools alone; results go into `done`."""

    async def run_one(call: ToolCall) -> None:
        done[call.id] = await run.call_tool(call)

    for alone, group in groupby(calls, run.is_sequential):
        batch = list(group)
        for part in [[call] for call in batch] if alone else [batch]:
            await _run_together(run_one, part)


async def _run_together(
    run_one: Callable[[ToolCall], Awaitable[None]], calls: Sequence[ToolCall]
) -> None:
    """Run all; the first end of the run cancels the others."""
    if len(calls) == 1:
        await run_one(calls[0])
        return
    tasks = [asyncio.ensure_future(run_one(call)) for call in calls]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

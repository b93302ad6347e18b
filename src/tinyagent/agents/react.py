"""ReactAgent: reason and act over tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Unpack

from tinyagent.adapters.base import ToolCallingAdapter, ValidatedAdapter
from tinyagent.adapters.choose import ToolCallingMode, ToolOffer, ToolOffers, get_adapter
from tinyagent.adapters.native import ONLY_A_CALL, NativeToolAdapter, is_only_calls
from tinyagent.agents.base import LoopAgent, T
from tinyagent.agents.options import AgentOptions
from tinyagent.agents.run import Run
from tinyagent.core.context import RunControl
from tinyagent.core.errors import MalformedReply, ModelFormatRefused
from tinyagent.core.messages import Content, Message, ToolCall
from tinyagent.core.parts import Text
from tinyagent.core.provenance import OPERATOR, Label, task_label
from tinyagent.core.results import ReactStep
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, remembered
from tinyagent.memory.memory import Memory
from tinyagent.models.base import Model
from tinyagent.prompts import REACT_SYSTEM
from tinyagent.tools.tool import Tool

_NATIVE = (NativeToolAdapter, ValidatedAdapter)


class ReactRun(Run[Memory]):
    """One run of a `ReactAgent`."""

    offer: ToolOffer
    """How the tools were offered in the latest request."""
    calls_natively = False
    """Whether the model has called a function, so that it knows how to."""


class ReactAgent(LoopAgent[ReactRun, Memory, ReactStep, T]):
    """An agent that calls tools until it has the answer.

    Args:
        model: a `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions.
        output_type: the type of the answer, default `str`: any type that Pydantic can read.
        tool_calling_mode: how tools are offered: `"native"` (function calling), `"validated"` (the
            same, with arguments checked before anything else sees them), `"structured"` (the server
            enforces a JSON Schema), `"parsed"` (in words, for any model); `"auto"` starts from what
            is known about the model and steps down if its server refuses.
        max_steps: the maximum number of model calls in one run (default 10).
        prompt_file: a file with a system prompt that replaces the built-in one.
        system_suffix: added to the system prompt.
        middleware: wraps each model and tool call, outermost first.
        max_tokens, temperature: passed to the model; a temperature only if it accepts one.
        reasoning: how much the model should think before it answers: `"off"`, `"low"`,
            `"medium"`, `"high"`, or about how many tokens; None leaves it to the model.
        output_retries: how often a wrong typed answer goes back to the model (default 2).

    Raises:
        ToolDefinitionError: an item of `tools` cannot be a tool.
        ConfigurationError: the model has no key, or an option is wrong.
    """

    def __init__(
        self,
        model: Model | str,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        output_type: type[T] | None = None,
        tool_calling_mode: ToolCallingMode = "auto",
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(model, tools, output_type, options, REACT_SYSTEM)
        offered = tuple(self._tool_map.values())
        self._offers = ToolOffers(
            get_adapter(self._model, offered, tool_calling_mode),
            offered,
            self._output_schema,
            may_step_down=tool_calling_mode == "auto",
        )

    def begin(
        self, task: Content, memory: Memory | None, control: RunControl, *, streaming: bool
    ) -> ReactRun:
        """The conversation so far, followed by the task."""
        conversation = Memory() if memory is None else memory.copy()
        conversation.set_system(self._system_prompt)
        conversation.add("user", task, label=task_label())
        model, tools, layers = self._model, self._tool_map, self._layers
        return ReactRun(model, tools, layers, control, conversation, streaming=streaming)

    def request(self, run: ReactRun) -> ModelRequest:
        """The conversation so far, with the tools that are available."""
        adapter, form = run.offer.adapter, run.offer.format
        if run.results.is_used or run.control.answer_only:
            form = adapter.format_request(
                tuple(run.tools.values()),
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

    def _read_calls(
        self, run: ReactRun, adapter: ToolCallingAdapter, response: ModelResponse
    ) -> tuple[ToolCall, ...]:
        """The calls to run; none if the reply is an answer."""
        tools, text = tuple(run.tools.values()), response.content or ""
        run.calls_natively = run.calls_natively or bool(response.tool_calls)
        if response.tool_calls or not text.strip() or not isinstance(adapter, _NATIVE):
            return adapter.extract_tool_calls(response, tools)
        only_calls = is_only_calls(text, run.tools)
        if run.calls_natively and not only_calls:
            return ()  # the model knows how to call: a call among words is a quotation
        calls = adapter.extract_tool_calls(response, tools)
        if only_calls and tools and not calls and self._output is None:
            raise MalformedReply(ONLY_A_CALL)  # a typed answer may have the keys of a call
        return calls

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

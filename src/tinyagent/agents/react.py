"""ReactAgent: reason and act over tool calls. The only file that knows adapters and tools both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Unpack

from tinyagent.adapters import (
    NativeToolAdapter,
    ToolCallingAdapter,
    ToolCallingMode,
    ValidatedAdapter,
    get_adapter,
    step_down,
)
from tinyagent.adapters.text_calls import ONLY_A_CALL, is_only_calls
from tinyagent.agents.base import LoopAgent, T
from tinyagent.agents.options import AgentOptions
from tinyagent.agents.run import Run
from tinyagent.core.context import RunContext
from tinyagent.core.errors import MalformedReply, ModelFormatRefused
from tinyagent.core.logs import logger
from tinyagent.core.memory import Memory
from tinyagent.core.messages import Content, Message, ToolCall
from tinyagent.core.parts import Text
from tinyagent.core.replies import remembered
from tinyagent.core.types import ModelRequest, ModelResponse, ReactStep, ToolResult
from tinyagent.models.base import Model
from tinyagent.prompts.templates import REACT_SYSTEM
from tinyagent.tools.tool import Tool

_NATIVE = (NativeToolAdapter, ValidatedAdapter)


class ReactAgent(LoopAgent[Run[Memory], Memory, ReactStep, T]):
    """An agent that calls tools until it has the answer.

    Args:
        model: a `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions.
        output_type: the type of the answer, default `str`. Anything that Pydantic can read.
        tool_calling_mode: how tools are offered: `"native"` (function calling), `"validated"` (the
            same, arguments checked before anything else sees them), `"structured"` (the server
            holds the model to a JSON Schema), `"parsed"` (in words, for any model); `"auto"`
            starts from what is known of the model and steps down where its server refuses.
        max_steps: model calls in one run, at most (default 10).
        prompt_file: a system prompt in place of the built-in one.
        system_suffix: added to the system prompt.
        middleware: what wraps each model and tool call, outermost first.
        max_tokens, temperature: passed to the model; a temperature only where it takes one.
        reasoning: how much the model is to think before it answers: `"off"`, `"low"`, `"medium"`,
            `"high"`, or about how many tokens; None leaves it to the model.
        output_retries: how often a wrong typed answer goes back to the model (default 2).

    Raises:
        ToolDefinitionError: something given as a tool is none.
        ConfigurationError: no key for the model, or an option is wrong.
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
        self._tools = tuple(self._tool_map.values())
        self._steps_down = tool_calling_mode == "auto"
        self._use(get_adapter(self._model, self._tools, tool_calling_mode))

    def begin(
        self, task: Content, memory: Memory | None, context: RunContext, *, streaming: bool
    ) -> Run[Memory]:
        """The conversation so far with the task behind it."""
        conversation = Memory() if memory is None else memory.copy()
        conversation.set_system(self._system_prompt)
        conversation.add("user", task)
        layers = self._settings.layers()
        tools = self._tool_map
        return Run(self._model, tools, layers, context, conversation, streaming=streaming)

    def request(self, run: Run[Memory]) -> ModelRequest:
        """The conversation so far, with the tools on offer."""
        adapter = run.adapter or self._adapter
        form = self._format
        if run.results.is_used or run.context.answer_only:
            form = adapter.format_request(
                tuple(run.tools.values()),
                self._output.schema,
                answer_only=run.context.answer_only,
            )
        messages = adapter.format_messages(run.memory.messages)
        return ModelRequest(
            messages=_with_instructions(messages, form.instructions),
            format=form,
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            reasoning=self._settings.reasoning,
        )

    async def ask(self, run: Run[Memory]) -> ModelResponse:
        """Ask the model; a form of tool calling that its server refuses is not used again."""
        while True:
            used = run.adapter = self._adapter
            try:
                return await super().ask(run)
            except ModelFormatRefused as refused:
                if run.context.answer_only:  # refused for that, perhaps, and not for the tools
                    run.context.answer_only = False
                    continue
                lower = step_down(used) if self._steps_down else None
                if lower is None:
                    raise
                if self._adapter is used:  # another run may have stepped down meanwhile
                    logger.info("%s; going on with %s", refused, type(lower).__name__)
                    self._use(lower)

    async def act(self, run: Run[Memory], response: ModelResponse) -> None:
        """Run the calls of the answer side by side; an answer without calls is the final one."""
        adapter = run.adapter or self._adapter
        said = response.content or ""
        calls = self._read_calls(run, adapter, response)
        if not calls:
            answer = adapter.extract_answer(response)
            run.output = self._read_answer(run, lambda: self._output.read(answer))
            run.finalizer.set_answer(run.output, "text", {"finish_reason": response.finish_reason})
            run.memory.add("assistant", remembered(response, said, ()))
            return
        done: dict[str, ToolResult] = {}
        try:
            await _run_calls(run, calls, done)
        finally:
            # A limit may end the run in the middle: what was done is remembered all the same.
            results = tuple(done.get(call.id) or _not_finished(call) for call in calls)
            kept = remembered(response, adapter.text_beside_calls(response), calls)
            run.memory.add("assistant", kept, tool_calls=calls)
            for result in results:
                run.memory.add(
                    "tool",
                    _result_content(run, result),
                    tool_call_id=result.call.id,
                    is_error=result.is_error,
                )
            run.steps.append(ReactStep(run.context.step, said, results))

    def _read_calls(
        self, run: Run[Memory], adapter: ToolCallingAdapter, response: ModelResponse
    ) -> tuple[ToolCall, ...]:
        """The calls to run; none where the reply is an answer."""
        tools, said = tuple(run.tools.values()), response.content or ""
        run.calls_natively = run.calls_natively or bool(response.tool_calls)
        if response.tool_calls or not said.strip() or not isinstance(adapter, _NATIVE):
            return adapter.extract_tool_calls(response, tools)
        only_calls = is_only_calls(said, run.tools)
        if run.calls_natively and not only_calls:
            return ()  # the model knows how to call: a call among words is a quotation
        calls = adapter.extract_tool_calls(response, tools)
        if only_calls and tools and not calls and self._output.schema is None:
            raise MalformedReply(ONLY_A_CALL)  # a typed answer may have the keys of a call
        return calls

    def reject(self, run: Run[Memory], response: ModelResponse, reason: str) -> None:
        """Keep what the model said, and what was wrong with it."""
        if response.content and response.content.strip():
            run.memory.add("assistant", remembered(response, response.content, ()))
        run.memory.add("user", reason)

    def shorten(self, run: Run[Memory], strategy: Callable[..., Any]) -> int:
        """Prune the messages; the task stays."""
        return run.memory.prune(strategy, task=run.context.task)

    def _use(self, adapter: ToolCallingAdapter) -> None:
        """Offer the tools by this adapter from now on, in all runs of this agent."""
        self._adapter = adapter
        self._format = adapter.format_request(self._tools, self._output.schema)


def _result_content(run: Run[Memory], result: ToolResult) -> Content:
    """What the model is shown of a result: long texts are cut, images and documents are not."""
    if not result.parts:
        return "\n".join(filter(None, (run.results.bounded(result.content), result.note)))
    note = (Text(result.note),) if result.note else ()
    shown = Message("tool", (*result.parts, *note)).with_text(run.results.bounded)
    return shown.content


def _not_finished(call: ToolCall) -> ToolResult:
    return ToolResult(call, "Error: not finished: the run ended", is_error=True)


def _with_instructions(messages: Sequence[Message], instructions: str) -> Sequence[Message]:
    """The messages with the adapter's instructions behind the system prompt."""
    if not instructions:
        return messages
    first, rest = messages[0], messages[1:]
    if first.role != "system":
        return (Message("system", instructions), *messages)
    return (Message("system", f"{first.text}\n\n{instructions}"), *rest)


async def _run_calls(
    run: Run[Memory], calls: Sequence[ToolCall], done: dict[str, ToolResult]
) -> None:
    """Run the calls side by side, those of sequential tools alone; results go into `done`."""

    async def run_one(call: ToolCall) -> None:
        done[call.id] = await run.call_tool(call)

    for alone, group in groupby(calls, run.is_sequential):
        batch = list(group)
        for part in [[call] for call in batch] if alone else [batch]:
            await _side_by_side(run_one, part)


async def _side_by_side(
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

"""ReactAgent: reason and act over tool calls. The only file that knows adapters and tools both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

from tinyagent.adapters import ToolCallingMode, get_adapter
from tinyagent.agents.base import AgentOptions, LoopAgent, T
from tinyagent.agents.run import Run
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ReactStep, ToolResult
from tinyagent.models.base import Model
from tinyagent.prompts.templates import REACT_SYSTEM
from tinyagent.tools.tool import Tool


class ReactAgent(LoopAgent[T]):
    """An agent that calls tools until it has the answer.

    Args:
        model: a `Model`, or a name such as `"openai:gpt-4.1"`; a bare name is served by
            `OPENAI_BASE_URL`.
        tools: `Tool` objects, or typed and documented functions.
        output_type: the type of the answer, default `str`. Anything that Pydantic can read.
        tool_calling_mode: how tools are offered: `"auto"` or `"native"`.
        max_steps: model calls in one run, at most (default 10).
        prompt_file: a system prompt in place of the built-in one.
        system_suffix: added to the system prompt.
        middleware: what wraps each model and tool call, outermost first.
        max_tokens, temperature: passed to the model.
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
        self._adapter = get_adapter(tool_calling_mode)
        self._tools = tuple(self._tool_map.values())
        self._format = self._adapter.format_request(self._tools)

    def request(self, run: Run) -> ModelRequest:
        """The conversation so far, with the tools on offer."""
        return ModelRequest(
            messages=run.memory.messages,
            format=self._format,
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
        )

    async def act(self, run: Run, response: ModelResponse) -> None:
        """Run the calls of the answer side by side; an answer without calls is the final one."""
        calls = self._adapter.extract_tool_calls(response, self._tools)
        text = response.content or ""
        if not calls:
            self._answer(run, text, "text", response.finish_reason)
            run.memory.add("assistant", text)
            return
        results = await _side_by_side(run.call_tool, calls)
        run.memory.add("assistant", text, tool_calls=calls)
        for result in results:
            run.memory.add("tool", result.content, tool_call_id=result.call.id)
        run.steps.append(ReactStep(run.context.step, text, tuple(results)))


async def _side_by_side(
    call_tool: Callable[[ToolCall], Any], calls: Sequence[ToolCall]
) -> list[ToolResult]:
    """All results in the order of the calls; the first end of the run cancels the other calls."""
    if len(calls) == 1:
        return [await call_tool(calls[0])]
    tasks = [asyncio.ensure_future(call_tool(call)) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

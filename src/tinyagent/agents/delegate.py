"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tinyagent.core.context import DELEGATION, RunContext
from tinyagent.core.errors import ToolDefinitionError, ToolRetry
from tinyagent.core.provenance import UNKNOWN
from tinyagent.core.results import RunResult
from tinyagent.tools.tool import Tool

RunTask = Callable[..., Awaitable[RunResult[Any]]]


def agent_tool(run: RunTask, name: str, description: str) -> Tool:
    """A tool that passes a task to an agent and returns its answer, as JSON unless it is text.

    The inner run has the `deps` of the outer run, and what it used counts towards the outer run.
    If it has no answer, the outer model is shown the reason.

    Raises:
        ToolDefinitionError: The name is not valid, or the description is empty.
    """
    if not description.strip():
        raise ToolDefinitionError(f"tool {name!r} has no description; say what the agent can do")

    async def delegate(task: str, context: RunContext) -> Any:
        """Pass a task to an agent.

        Args:
            task: What to do, in words.
            context: The outer run.
        """
        result = await run(task, deps=context.deps)
        delegation = DELEGATION.get()
        if delegation is not None:
            delegation.answer = result.label or UNKNOWN
        context.count(result.usage, result.uses)
        if result.error is not None:
            raise ToolRetry(f"{name} found no answer: {result.error}")
        return result.output

    return replace(Tool.from_function(delegate, name=name), doc=description, is_agent=True)

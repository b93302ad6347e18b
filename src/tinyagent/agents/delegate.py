"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ToolDefinitionError, ToolRetry
from tinyagent.core.types import RunResult
from tinyagent.tools.tool import Tool

RunTask = Callable[[str], Awaitable[RunResult[Any]]]


def agent_tool(run: RunTask, name: str, description: str) -> Tool:
    """A tool that gives a task to an agent and gives back its answer, as JSON if it is no text.

    What the inner run used is added to the outer run's usage. An inner run without an answer is
    told to the outer model with the reason.

    Raises:
        ToolDefinitionError: the name cannot be called, or the description is empty.
    """
    if not description.strip():
        raise ToolDefinitionError(f"tool {name!r} has no description; say what the agent can do")

    async def delegate(task: str, context: RunContext) -> Any:
        """Give a task to an agent.

        Args:
            task: what to do, in words.
            context: the outer run.
        """
        result = await run(task)
        context.usage += result.usage
        context.uses += result.uses
        if result.error is not None:
            raise ToolRetry(f"{name} found no answer: {result.error}")
        return result.output

    return replace(Tool.from_function(delegate, name=name), doc=description, is_agent=True)

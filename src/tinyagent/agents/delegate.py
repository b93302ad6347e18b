"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ToolRetry
from tinyagent.core.types import RunResult
from tinyagent.tools.tool import Tool

RunTask = Callable[[str], Awaitable[RunResult[Any]]]


def agent_tool(run: RunTask, name: str, description: str) -> Tool:
    """A tool that gives a task to an agent and gives back its answer, as JSON if it is no text.

    What the inner run used is added to the outer run's usage. An inner run without an answer is
    told to the outer model with the reason.
    """

    async def delegate(task: str, context: RunContext) -> Any:
        result = await run(task)
        context.usage += result.usage
        if result.error is not None:
            raise ToolRetry(f"{name} found no answer: {result.error}")
        return result.output

    delegate.__doc__ = f"{description}\n\nArgs:\n    task: what to do, in words.\n"
    return Tool.from_function(delegate, name=name)

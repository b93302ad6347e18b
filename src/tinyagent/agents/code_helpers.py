"""The functions that a code agent's code finds beside its tools."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.tools.signature import bind_arguments, python_stub
from tinyagent.tools.tool import Tool

HELPERS = {
    "final_answer": "final_answer(value, **metadata): give the answer; it ends the block at once",
    "store": "store(key, value): keep a note under a key; you are shown your notes at each step",
    "recall": "recall(key, default=None): what is stored under the key",
    "observe": "observe(msg): note something that you have seen",
    "fail": "fail(msg): note an attempt that failed, so that you do not make it again",
    "uncertain": "uncertain(msg): say what you are not sure of",
    "explore": "explore(msg): say what you are trying out",
    "commit": "commit(msg): say what you have decided",
}
"""Their names, and what the model is told of each."""

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]


def code_tool(tool: Tool, call_tool: CallTool) -> Callable[..., Awaitable[Any]]:
    """The tool as a function for the code: it goes through the run's middleware.

    What the tool raises, the code has raised. A wrong call is a TypeError that shows the tool.
    """
    numbers = itertools.count(1)

    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            arguments = bind_arguments(tool, args, kwargs)
        except ToolArgumentsError as fault:
            raise _wrong_call(tool, fault) from None
        result = await call_tool(ToolCall(f"{tool.name}-{next(numbers)}", tool.name, arguments))
        if not result.is_error:  # images and documents are for the model to see, not for the code
            return result.content if result.parts else result.value
        if isinstance(result.error, ToolArgumentsError):
            raise _wrong_call(tool, result.error)
        raise result.error or RuntimeError(result.content.removeprefix("Error: "))

    return call


def _wrong_call(tool: Tool, fault: ToolArgumentsError) -> TypeError:
    return TypeError(
        f"{tool.name} was called wrongly: {fault}\nThis is how it is called:\n{python_stub(tool)}"
    )

"""From a tool call to its result: here a tool's failure becomes an observation."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Mapping
from typing import Any

from tinyagent.core.context import RunContext
from tinyagent.core.errors import RunEnded, ToolArgumentsError, ToolRetry
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.tools.registry import unknown_tool
from tinyagent.tools.tool import Tool

logger = logging.getLogger("tinyagent")


async def call_tool(tools: Mapping[str, Tool], call: ToolCall, context: RunContext) -> ToolResult:
    """Run one call. Whatever goes wrong with it comes back as a result that the model can read.

    The host's traceback goes to the log, never into the result. Only the end of the run and a
    cancellation pass through.
    """
    started = time.monotonic()
    content, is_error = await _attempt(tools, call, context)
    return ToolResult(call, content, is_error, time.monotonic() - started)


async def _attempt(
    tools: Mapping[str, Tool], call: ToolCall, context: RunContext
) -> tuple[str, bool]:
    tool = tools.get(call.name)
    if tool is None:
        return f"Error: {unknown_tool(call.name, tools)}", True
    if call.fault is not None:
        return f"Error: the call of {call.name} was not run: {call.fault}", True
    deadline = asyncio.timeout(tool.timeout)
    try:
        async with deadline:
            return as_text(await tool.run(call.arguments, context)), False
    except RunEnded:
        raise
    except asyncio.CancelledError:
        if _is_being_cancelled():
            raise
        return f"Error: {call.name} was cancelled from inside", True
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may fail in any way
        if deadline.expired():
            return f"Error: {call.name} did not finish within {tool.timeout:g} s", True
        return _explain(call.name, error), True


def _explain(name: str, error: BaseException) -> str:
    """What the model reads of an error; the host's traceback stays in the log."""
    if isinstance(error, ToolRetry):
        return f"Try again: {error}"
    if isinstance(error, ToolArgumentsError):
        return f"Error: wrong arguments for {name}:\n{error}"
    logger.warning("tool %s failed", name, exc_info=error)
    return f"Error: {name} failed: {type(error).__name__}: {error}"


def _is_being_cancelled() -> bool:
    """Whether the run itself is cancelled, rather than a task that the tool had started."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def as_text(value: Any) -> str:
    """What the model reads of a tool's result: text as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json  # noqa: PLC0415 - see `import tinyagent`

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return to_json(value, fallback=str, inf_nan_mode="strings").decode()

"""From a tool call to its result: the place where a tool's failure becomes an observation."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ModelMayRetry, RunEnded, ToolArgumentsError, ToolRetry
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.parts import ContentPart, Document, Image, Text
from tinyagent.core.types import ToolResult
from tinyagent.tools.registry import unknown_tool
from tinyagent.tools.tool import Tool


class _ToolTimedOut(Exception):
    """The tool's own `timeout` has expired, not one inside the tool."""


class _Value(NamedTuple):
    """What a tool returned, and the text that the model reads."""

    text: str
    raw: Any
    parts: tuple[ContentPart, ...] = ()


_NOTHING = _Value("", None)


async def call_tool(tools: Mapping[str, Tool], call: ToolCall, context: RunContext) -> ToolResult:
    """Run one call. Any failure becomes a result that the model can read.

    The host's traceback goes to the log, never into the result. Only the end of the run and a
    cancellation are raised.
    """
    started = time.monotonic()
    result = await _attempt(tools, call, context)
    return replace(result, duration_seconds=time.monotonic() - started)


async def _attempt(tools: Mapping[str, Tool], call: ToolCall, context: RunContext) -> ToolResult:
    tool = tools.get(call.name)
    if tool is None:
        return ToolResult(call, f"Error: {unknown_tool(call.name, tools)}", is_error=True)
    if call.fault is not None:
        fault = f"Error: the call of {call.name} was not run: {call.fault}"
        return ToolResult(call, fault, is_error=True)
    error: BaseException | None = None
    for _ in range(1 + tool.retries):
        value, error = await _run_once(tool, call, context)
        if error is None:
            return ToolResult(call, value.text, value=value.raw, parts=value.parts)
        if isinstance(error, ModelMayRetry):
            break
    raised = error if isinstance(error, Exception) else None
    return ToolResult(call, _explain(tool, error), is_error=True, error=raised)


async def _run_once(
    tool: Tool, call: ToolCall, context: RunContext
) -> tuple[_Value, BaseException | None]:
    """The value that the tool returned, or the error that it raised."""
    deadline = asyncio.timeout(tool.timeout)
    try:
        async with deadline:
            raw = await tool.run(call.arguments, context)
            return _read_value(raw), None
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        return _NOTHING, error
    except (Exception, SystemExit) as error:  # a tool may fail in any way
        if isinstance(error, RunEnded) and error.result is None:
            raise  # this run ends; an error with a result is the end of a run that the tool started
        return _NOTHING, _ToolTimedOut() if deadline.expired() else error


def _explain(tool: Tool, error: BaseException | None) -> str:
    """The text of an error for the model; the host's traceback stays in the log."""
    if isinstance(error, ToolRetry):
        return f"Try again: {error}"
    if isinstance(error, ToolArgumentsError):
        return f"Error: wrong arguments for {tool.name}:\n{error}"
    if isinstance(error, _ToolTimedOut):
        return f"Error: {tool.name} did not finish within {tool.timeout:g} s"
    if isinstance(error, asyncio.CancelledError):
        return f"Error: {tool.name} was cancelled from inside"
    logger.warning("tool %s failed", tool.name, exc_info=error)
    return f"Error: {tool.name} failed: {type(error).__name__}: {error}"


def _is_being_cancelled() -> bool:
    """Whether the run itself is cancelled, rather than a task that the tool started."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _read_value(raw: Any) -> _Value:
    """The value for the model: images and documents unchanged, everything else as text."""
    items = cast("Sequence[Any]", raw) if isinstance(raw, list | tuple) else (raw,)
    if not any(isinstance(item, Image | Document) for item in items):
        return _Value(as_text(raw), raw)
    parts = tuple(item if isinstance(item, ContentPart) else Text(as_text(item)) for item in items)
    return _Value("\n".join(part.describe() for part in parts), raw, parts)


def as_text(value: Any) -> str:
    """A tool's result as text for the model: strings unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json  # noqa: PLC0415 - see `import tinyagent`

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return to_json(value, fallback=str, inf_nan_mode="strings").decode()

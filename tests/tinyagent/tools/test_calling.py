from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Never

import pytest
from pydantic import BaseModel

from tinyagent import (
    StepLimitReached,
    Tool,
    ToolCall,
    ToolDefinitionError,
    ToolResult,
    ToolRetry,
    UsageLimitReached,
)
from tinyagent.core import RunControl
from tinyagent.core.results import RunResult
from tinyagent.core.types import Usage
from tinyagent.memory.memory import Memory
from tinyagent.tools.tool import as_text, call_tool


async def _call(
    fn: Callable[..., Any], arguments: dict[str, Any] | None = None, **options: Any
) -> ToolResult:
    made = Tool.from_function(fn, name="t", **options)
    context = RunControl("go", 1, {"t": made}).context
    return await call_tool({"t": made}, ToolCall("1", "t", arguments or {}), context)


def _raising(error: BaseException) -> Callable[[], Any]:
    async def fail() -> Never:
        """Fail."""
        raise error

    return fail


async def test_a_result_is_tied_to_its_call_and_timed() -> None:
    def hello() -> str:
        """Say hello."""
        return "hello"

    result = await _call(hello)
    assert (result.call.id, result.content, result.is_error) == ("1", "hello", False)
    assert result.duration_seconds >= 0


async def test_a_failure_is_reported_without_its_traceback_which_goes_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await _call(_raising(ValueError("no luck")))
    assert result.is_error
    assert result.content == "Error: t failed: ValueError: no luck"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("tinyagent", logging.WARNING)
    assert record.exc_info is not None


async def test_advice_is_passed_on_in_the_tools_own_words() -> None:
    result = await _call(_raising(ToolRetry("use ISO dates")))
    assert (result.content, result.is_error) == ("Try again: use ISO dates", True)


async def test_wrong_arguments_are_reported_field_by_field() -> None:
    def add(a: int) -> int:
        """Add."""
        return a

    result = await _call(add, {"b": 1})
    assert result.content == (
        "Error: wrong arguments for t:\na: required, but missing\nb: there is no such argument"
        "\nIt is called as t(a: int) -> int"
    )


async def test_a_faulty_call_is_not_run() -> None:
    def add() -> int:
        """Add."""
        raise AssertionError("it ran")

    made = Tool.from_function(add)
    call = ToolCall("1", "add", {}, fault="its arguments are cut off.")
    result = await call_tool({"add": made}, call, RunControl("go", 1, {}).context)
    assert result.content == "Error: the call to add was not run: its arguments are cut off."
    assert result.is_error


async def test_an_unknown_tool_is_answered_with_the_nearest() -> None:
    made = Tool.from_function(_raising(ValueError()), name="search")
    result = await call_tool(
        {"search": made}, ToolCall("1", "serch"), RunControl("go", 1, {}).context
    )
    assert result.content.startswith("Error: there is no tool 'serch'; did you mean search?")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(3), "Error: t failed: SystemExit: 3"),
        (asyncio.CancelledError(), "Error: t cancelled itself"),
        (TimeoutError("slow"), "Error: t failed: TimeoutError: slow"),
        (StopIteration(), "Error: t failed: RuntimeError: coroutine raised StopIteration"),
    ],
)
async def test_a_tool_that_tries_to_leave_is_a_failed_tool(
    error: BaseException, message: str
) -> None:
    assert (await _call(_raising(error))).content == message


async def test_the_end_of_the_run_passes_through() -> None:
    with pytest.raises(UsageLimitReached):
        await _call(_raising(UsageLimitReached("over")))


async def test_the_end_of_another_run_inside_a_tool_is_a_failed_tool() -> None:
    inner = StepLimitReached("no answer after 3 steps")
    inner.result = RunResult(None, "step_limit_reached", 3, 0.0, Usage(), Memory(), error=inner)
    result = await _call(_raising(inner))
    assert result.content == "Error: t failed: StepLimitReached: no answer after 3 steps"


async def test_an_async_tool_is_cut_off_at_its_timeout() -> None:
    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    result = await _call(wait, timeout=0.05)
    assert (result.content, result.is_error) == ("Error: t did not finish within 0.05 s", True)


async def test_a_sync_tool_is_left_behind_at_its_timeout() -> None:
    leave = threading.Event()

    def wait() -> None:
        """Wait for ever."""
        leave.wait()

    result = await _call(wait, timeout=0.05)
    assert result.content == "Error: t did not finish within 0.05 s"
    leave.set()


async def test_cancelling_the_caller_is_not_a_failed_tool() -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        """Wait for ever."""
        entered.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(_call(wait))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def _failing(times: int, error: BaseException) -> tuple[Callable[[], Any], list[int]]:
    """A tool that fails so often and then does not, and its tries."""
    tries: list[int] = []

    async def work() -> str:
        """Work."""
        tries.append(len(tries))
        if len(tries) <= times:
            raise error
        return "done"

    return work, tries


@pytest.mark.parametrize(
    "error", [ValueError("no luck"), TimeoutError("slow"), asyncio.CancelledError()]
)
async def test_a_call_that_failed_is_made_again_as_often_as_it_may(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    work, tries = _failing(2, error)
    result = await _call(work, retries=2)
    assert (result.content, result.is_error, len(tries)) == ("done", False, 3)
    assert caplog.records == []


async def test_the_model_sees_one_error_after_all_attempts_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work, tries = _failing(9, ValueError("no luck"))
    result = await _call(work, retries=2)
    assert (result.content, len(tries)) == ("Error: t failed: ValueError: no luck", 3)
    assert len(caplog.records) == 1


async def test_a_call_that_ran_out_of_time_is_made_again() -> None:
    tries: list[int] = []

    async def work() -> str:
        """Work."""
        tries.append(1)
        if len(tries) == 1:
            await asyncio.Event().wait()
        return "done"

    result = await _call(work, timeout=0.05, retries=1)
    assert (result.content, len(tries)) == ("done", 2)


async def test_an_error_that_the_model_must_fix_is_reported_at_once() -> None:
    work, tries = _failing(9, ToolRetry("use ISO dates"))
    assert (await _call(work, retries=5)).content == "Try again: use ISO dates"
    assert len(tries) == 1
    assert "there is no such argument" in (await _call(work, {"a": 1}, retries=5)).content
    assert len(tries) == 1


async def test_a_cancelled_call_is_not_made_again() -> None:
    entered = asyncio.Event()
    tries: list[int] = []

    async def wait() -> None:
        """Wait for ever."""
        tries.append(1)
        entered.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(_call(wait, retries=5))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(tries) == 1


def test_fewer_than_no_retries_are_refused() -> None:
    work, _ = _failing(0, ValueError())
    with pytest.raises(ToolDefinitionError, match="tool 't': retries must be 0 or more, got -1"):
        Tool.from_function(work, name="t", retries=-1)


@dataclass
class Row:
    amount: Decimal


class Record(BaseModel):
    day: date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        ({"a": [1, 2.5]}, '{"a":[1,2.5]}'),
        ([Row(Decimal("1.50"))], '[{"amount":"1.50"}]'),
        (Row(Decimal("1.50")), '{"amount":"1.50"}'),
        (Record(day=date(2026, 1, 31)), '{"day":"2026-01-31"}'),
        ("Zürich", "Zürich"),
        ({"x": "Zürich"}, '{"x":"Zürich"}'),
        ({"x": float("nan")}, '{"x":"NaN"}'),
        (b"bytes", '"bytes"'),
    ],
)
def test_the_text_of_a_result_for_a_model(value: object, text: str) -> None:
    assert as_text(value) == text


def test_a_result_without_a_json_form_is_read_as_its_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd one"

    assert json.loads(as_text({"x": Odd()})) == {"x": "odd one"}

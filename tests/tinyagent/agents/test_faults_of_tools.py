"""What a tool may do that it should not: an observation for the model, or a clear end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Never

import pytest

from tinyagent import (
    OpenAIModel,
    ReactAgent,
    RunResult,
    ScriptedModel,
    Tool,
    ToolRetry,
    UsageLimitReached,
    UsageLimits,
    scripted_call,
)
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing import MockServer

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
CALL = ModelResponse(None, (RawToolCall("1", "work", "{}"),))


@pytest.fixture
def release() -> Generator[threading.Event]:
    """Lets threads that wait for it go when the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def _run(ask: Ask, work: Callable[..., Any], **options: Any) -> RunResult[Any]:
    tool = Tool.from_function(work, name="work", timeout=options.pop("timeout", None))
    async with MockServer([CALL, "It failed."]) as server:
        return await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [tool], **options))


def _observed(result: RunResult[Any]) -> str:
    """What the model read of the tool."""
    assert (result.state, result.output) == ("completed", "It failed.")
    (observed,) = result.steps[0].results
    assert observed.is_error
    return str(observed.content)


async def test_a_tool_that_raises_is_reported_and_its_traceback_logged(
    ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    def work() -> Never:
        """Work."""
        raise LookupError("no such account")

    result = await _run(ask, work)
    assert _observed(result) == "Error: work failed: LookupError: no such account"
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.exc_info is not None
    assert "Traceback" not in _observed(result)


async def test_advice_of_a_tool_reaches_the_model(ask: Ask) -> None:
    def work() -> Never:
        """Work."""
        raise ToolRetry("give the year too")

    assert _observed(await _run(ask, work)) == "Try again: give the year too"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(1), "Error: work failed: SystemExit: 1"),
        (asyncio.CancelledError(), "Error: work cancelled itself"),
        (TimeoutError(), "Error: work failed: TimeoutError: "),
        (RecursionError("deep"), "Error: work failed: RecursionError: deep"),
        (MemoryError(), "Error: work failed: MemoryError: "),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_does_not_end_the_run_by_what_it_raises(
    ask: Ask, error: BaseException, message: str, *, is_async: bool
) -> None:
    def work() -> Never:
        """Work."""
        raise error

    async def work_async() -> Never:
        """Work."""
        raise error

    assert _observed(await _run(ask, work_async if is_async else work)) == message


async def test_an_async_tool_that_never_ends_is_cut_off_at_its_timeout(ask: Ask) -> None:
    cancelled: list[bool] = []

    async def work() -> None:
        """Work."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    result = await _run(ask, work, timeout=0.1)
    assert _observed(result) == "Error: work did not finish within 0.1 s"
    assert cancelled == [True]


async def test_a_sync_tool_that_never_ends_is_left_behind_at_its_timeout(
    ask: Ask, release: threading.Event
) -> None:
    def work() -> None:
        """Work."""
        release.wait()

    result = await _run(ask, work, timeout=0.1)
    assert _observed(result) == "Error: work did not finish within 0.1 s"


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_never_ends_is_ended_by_the_time_of_the_run(
    ask: Ask, release: threading.Event, *, is_async: bool
) -> None:
    def work() -> None:
        """Work."""
        release.wait()

    async def work_async() -> None:
        """Work."""
        await asyncio.Event().wait()

    limits = UsageLimits(wall_seconds=0.3)
    result = await _run(ask, work_async if is_async else work, middleware=[limits])
    assert result.state == "usage_limit_reached"
    assert isinstance(result.error, UsageLimitReached)
    assert "0.3 s had passed while waiting for the tool 'work'" in str(result.error)


async def test_a_run_inside_a_tool_ends_for_itself(ask: Ask) -> None:
    inner = ReactAgent(ScriptedModel(lambda _: scripted_call("missing")), max_steps=2)

    async def work() -> str:
        """Ask another agent."""
        return str(await inner.run("help"))

    observed = _observed(await _run(ask, work))
    assert observed.startswith("Error: work failed: StepLimitReached: no answer after 2 steps")


async def test_a_result_without_a_json_form_is_reported_as_its_text(ask: Ask) -> None:
    def work() -> object:
        """Work."""
        return {"lock": threading.Lock(), "bytes": b"\xff"}

    async with MockServer([CALL, "done"]) as server:
        tool = Tool.from_function(work, name="work")
        result = await ask(ReactAgent(OpenAIModel("m", base_url=server.base_url), [tool]))
    assert result.output == "done"

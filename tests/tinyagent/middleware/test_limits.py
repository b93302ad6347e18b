from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import (
    NoProgress,
    ReactAgent,
    ScriptedModel,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
    UsageLimitReached,
    UsageLimits,
    scripted_call,
)
from tinyagent.core import ModelRequest, ModelResponse, RunControl

REQUEST = ModelRequest(())


def count(number: int) -> str:
    """Count."""
    return f"counted {number}"


def _calling_for_ever(side_by_side: int = 1) -> ScriptedModel:
    """A model that makes progress, and no answer."""
    numbers = itertools.count()
    return ScriptedModel(
        lambda _: [scripted_call("count", number=next(numbers)) for _ in range(side_by_side)]
    )


async def _run(model: ScriptedModel, limits: UsageLimits, max_steps: int = 50) -> Any:
    agent = ReactAgent(model, [count], middleware=[limits], max_steps=max_steps)
    return await agent.run("count", return_result=True)


@given(limit=st.integers(0, 8), side_by_side=st.integers(1, 3))
def test_no_request_is_made_beyond_the_limit(limit: int, side_by_side: int) -> None:
    model = _calling_for_ever(side_by_side)
    result = asyncio.run(_run(model, UsageLimits(requests=limit)))
    assert len(model.requests) == limit
    assert result.state == "usage_limit_reached"
    assert result.usage.requests == limit


@given(limit=st.integers(0, 8), side_by_side=st.integers(1, 5))
def test_no_tool_call_is_made_beyond_the_limit(limit: int, side_by_side: int) -> None:
    made: list[int] = []

    async def tally(number: int) -> str:
        """Count."""
        made.append(number)
        return f"counted {number}"

    tool = Tool.from_function(tally, name="count")
    model, limits = _calling_for_ever(side_by_side), UsageLimits(tool_calls=limit)
    agent = ReactAgent(model, [tool], middleware=[limits], max_steps=50)
    result = asyncio.run(agent.run("count", return_result=True))
    assert result.state == "usage_limit_reached"
    assert len(made) <= limit
    assert len(made) >= limit - limit % side_by_side


async def test_the_tokens_of_the_run_are_counted_before_each_request() -> None:
    response = ModelResponse(None, (scripted_call("count", number=1),), Usage(1, 30, 10))
    model = ScriptedModel(lambda _: response)
    result = await _run(model, UsageLimits(total_tokens=100))
    assert len(model.requests) == 3
    assert str(result.error) == (
        "the run has used its total_tokens: 120 of 100"
        " (raise it with UsageLimits(total_tokens=...))"
    )


async def test_a_model_that_takes_too_long_is_cut_off() -> None:
    meter = UsageLimits(wall_seconds=0.05).steer(RunControl("go", 1, {}))

    async def never(_: ModelRequest) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    with pytest.raises(UsageLimitReached, match=r"0\.05 s had passed while waiting for the model"):
        await meter.model_call(REQUEST, never)


async def test_a_tool_that_takes_too_long_is_cut_off() -> None:
    meter = UsageLimits(wall_seconds=0.05).steer(RunControl("go", 1, {}))

    async def never(_: ToolCall) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    with pytest.raises(UsageLimitReached, match="while waiting for the tool 'slow'"):
        await meter.tool_call(ToolCall("1", "slow"), never)


async def test_a_time_out_of_the_call_itself_is_not_taken_for_the_limit() -> None:
    meter = UsageLimits().steer(RunControl("go", 1, {}))

    async def slow(_: ModelRequest) -> ModelResponse:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await meter.model_call(REQUEST, slow)


@pytest.mark.parametrize("kind", ["model_call", "tool_call"])
async def test_no_call_is_begun_when_the_time_is_over(kind: str) -> None:
    begun: list[object] = []
    context = RunControl("go", 1, {}, started=time.monotonic() - 10)
    call: Callable[[Any, Any], Awaitable[Any]] = getattr(
        UsageLimits(wall_seconds=5).steer(context), kind
    )

    async def begin(argument: object) -> None:
        begun.append(argument)

    argument = REQUEST if kind == "model_call" else ToolCall("1", "t")
    with pytest.raises(UsageLimitReached, match="wall_seconds: 5 s"):
        await call(argument, begin)
    assert not begun


async def test_runs_side_by_side_do_not_share_a_count() -> None:
    agent = ReactAgent(
        ScriptedModel(lambda r: "ok" if len(r.messages) > 5 else scripted_call("count", number=1)),
        [count],
        middleware=[UsageLimits(requests=3, tool_calls=2)],
    )
    results = await asyncio.gather(*(agent.run("count") for _ in range(20)))
    assert {result.output for result in results} == {"ok"}


async def test_an_agent_that_is_given_no_limits_has_them_all_the_same() -> None:
    model = _calling_for_ever()
    result = await ReactAgent(model, [count], max_steps=10_000).run("count", return_result=True)
    assert result.state == "usage_limit_reached"
    assert len(model.requests) == UsageLimits().requests


async def _same(times: int, limits: UsageLimits, **call: Any) -> list[ToolResult]:
    """The results of the same call made so often."""
    meter = limits.steer(RunControl("go", 1, {}))
    made = ToolCall("1", "look", call)

    async def look(call: ToolCall) -> ToolResult:
        return ToolResult(call, "nothing")

    return [await meter.tool_call(made, look) for _ in range(times)]


async def test_the_third_repetition_is_remarked_on_next_to_the_result() -> None:
    results = await _same(5, UsageLimits())
    assert {result.content for result in results} == {"nothing"}
    assert [bool(result.note) for result in results] == [False, False, True, False, False]
    assert results[2].note == (
        "[The same call to look has given the same result 3 times. Do something else, or give"
        " your answer.]"
    )


@pytest.mark.parametrize("limit", [4, 6])
async def test_the_last_time_ends_the_run(limit: int) -> None:
    limits = UsageLimits(same_results=limit)
    assert len(await _same(limit - 1, limits, a=1, b=2)) == limit - 1
    with pytest.raises(
        NoProgress, match=f"the same call to look gave the same result {limit} times"
    ):
        await _same(limit, limits, a=1, b=2)


async def test_a_model_that_repeats_itself_is_warned_and_then_stopped() -> None:
    model = ScriptedModel(lambda _: scripted_call("count", number=1))
    result = await _run(model, UsageLimits())
    assert result.state == "usage_limit_reached"
    assert isinstance(result.error, NoProgress)
    assert len(model.requests) == UsageLimits().same_results
    results = [m.content for m in result.memory.messages if m.role == "tool"]
    assert [text.startswith("counted 1\n[The same call to count") for text in results] == [
        False, False, True, False, False, False,
    ]  # fmt: skip
    assert results[-1] == "Error: not finished: the run ended"


async def test_after_the_warning_the_model_may_only_answer() -> None:
    model = ScriptedModel(
        lambda request: (
            "It is 1." if request.format.tool_choice == "none" else scripted_call("count", number=1)
        )
    )
    result = await _run(model, UsageLimits())
    assert (result.output, len(model.requests)) == ("It is 1.", 5)
    assert [tool["function"]["name"] for tool in model.requests[-1].format.tools] == ["count"]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=15))
def test_other_arguments_and_other_results_are_progress(results: list[str]) -> None:
    context = RunControl("go", 1, {})
    meter = UsageLimits(same_results=100).steer(context)

    async def go() -> None:
        for at, text in enumerate(results):

            async def give(call: ToolCall, text: str = text) -> ToolResult:
                return ToolResult(call, text)

            result = await meter.tool_call(ToolCall("1", "look"), give)
            assert bool(result.note) is (results[: at + 1].count(text) == 3)
            so_far = results[: at + 1]
            assert context.answer_only is any(so_far.count(result) > 3 for result in so_far)

    asyncio.run(go())


async def test_arguments_that_only_a_middleware_can_make_are_compared_too() -> None:
    results = await _same(3, UsageLimits(), day=date(2026, 1, 31))
    assert [bool(result.note) for result in results] == [False, False, True]

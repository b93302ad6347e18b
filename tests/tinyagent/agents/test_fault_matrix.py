"""Each fault by name, in each mode, blocking and streamed: mended, or a typed end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import pytest

from tinyagent import (
    OpenAIModel,
    RawToolCall,
    ReactAgent,
    RunResult,
    TinyAgentError,
    scripted_call,
)
from tinyagent.testing import FAULTS, MockServer, fault
from tinyagent.testing.faults import Mode, Scene

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
CALL = RawToolCall("1", "add", scripted_call("add", a=1, b=2).arguments)
PROSE = "prose where a schema was asked"

pytestmark = [
    pytest.mark.parametrize("mode", get_args(Mode)),
    pytest.mark.parametrize("name", FAULTS),
]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _agent(server: MockServer, name: str, mode: Mode) -> ReactAgent[Any]:
    return ReactAgent(
        OpenAIModel("mock", base_url=server.base_url),
        [add],
        tool_calling_mode=mode,
        output_type=int if name == PROSE else None,
    )


async def test_a_fault_is_mended_and_the_answer_made_from_the_tools_result(
    ask: Ask, name: str, mode: Mode
) -> None:
    async with MockServer(fault(name, CALL, mode=mode)) as server, asyncio.timeout(20):
        result = await ask(_agent(server, name, mode))
    assert result.error is None
    assert result.state == "completed"
    assert result.output == (3 if name == PROSE else "3")
    assert "3" in [done.content for step in result.steps for done in step.results]


async def test_a_fault_that_never_ends_is_a_typed_end_and_no_answer(
    ask: Ask, name: str, mode: Mode
) -> None:
    def again(body: dict[str, Any]) -> Any:
        return FAULTS[name](Scene(CALL, mode, stream=bool(body.get("stream"))))[-1]

    async with MockServer(again) as server, asyncio.timeout(20):
        result = await ask(_agent(server, name, mode))
    assert result.state in {"step_limit_reached", "usage_limit_reached", "error"}
    assert isinstance(result.error, TinyAgentError)
    assert (result.output, result.final_answer) == (None, None)
    assert len(server.requests) <= 10

"""Each fault by name, in each mode, blocking and streamed: corrected, or a typed end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest
from anthropic import AsyncAnthropic

from tinyagent import (
    AnthropicModel,
    Model,
    OpenAIModel,
    ReactAgent,
    RunResult,
    TinyAgentError,
    scripted_call,
)
from tinyagent.core import RawToolCall
from tinyagent.models import OpenAIResponsesModel
from tinyagent.testing import FAULTS, MockServer, fault
from tinyagent.testing.apis import Api
from tinyagent.testing.faults import Mode, Scene

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]
CALL = RawToolCall("1", "add", scripted_call("add", a=1, b=2).arguments)
PROSE = "prose where a schema was asked"

pytestmark = [
    pytest.mark.parametrize("mode", get_args(Mode)),
    pytest.mark.parametrize("name", FAULTS),
    pytest.mark.parametrize("api", get_args(Api)),
]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def _agent(
    server: MockServer, name: str, mode: Mode, api: Api
) -> AsyncGenerator[ReactAgent[Any]]:
    wanted = int if name == PROSE else None
    async with AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        models: dict[Api, Callable[[], Model]] = {
            "chat": lambda: OpenAIModel("mock", base_url=server.base_url),
            "responses": lambda: OpenAIResponsesModel("mock", base_url=server.base_url),
            "messages": lambda: AnthropicModel("mock", client=client),
        }
        yield ReactAgent(models[api](), [add], tool_calling_mode=mode, output_type=wanted)


async def test_a_fault_is_corrected_and_the_answer_made_from_the_tools_result(
    ask: Ask, name: str, mode: Mode, api: Api
) -> None:
    script = fault(name, CALL, mode=mode, api=api)
    async with (
        asyncio.timeout(60),
        MockServer(script) as server,
        _agent(server, name, mode, api) as agent,
    ):
        result = await ask(agent)
    assert result.error is None
    assert result.state == "completed"
    assert result.output == (3 if name == PROSE else "3")
    assert "3" in [done.content for step in result.steps for done in step.results]


async def test_a_fault_that_never_ends_is_a_typed_end_and_no_answer(
    ask: Ask, name: str, mode: Mode, api: Api
) -> None:
    def again(body: dict[str, Any]) -> Any:
        return FAULTS[name](Scene(CALL, mode, stream=bool(body.get("stream")), api=api))[-1]

    async with (
        asyncio.timeout(60),
        MockServer(again) as server,
        _agent(server, name, mode, api) as agent,
    ):
        result = await ask(agent)
    assert result.state in {"step_limit_reached", "usage_limit_reached", "error"}
    assert isinstance(result.error, TinyAgentError)
    assert (result.output, result.final_answer) == (None, None)
    assert len(server.requests) <= 11  # ten steps, and one for an answer at the limit

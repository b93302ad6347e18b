from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from tinyagent import ReactAgent, RunFinished, RunResult

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]


async def _by_run(agent: ReactAgent[Any]) -> RunResult[Any]:
    return await agent.run("go", return_result=True)


async def _by_stream(agent: ReactAgent[Any]) -> RunResult[Any]:
    async with aclosing(agent.stream("go")) as stream:
        events = [event async for event in stream]
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last.result


@pytest.fixture(params=[_by_run, _by_stream], ids=["run", "stream"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Each way of running an agent to its end."""
    way: Ask = request.param
    return way

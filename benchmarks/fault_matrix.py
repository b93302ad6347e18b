"""The outcome of each fault of a model or its server: each API, each mode, blocking and streamed.

A cell is good when the run ends with the right answer, or in a state that says it has none.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import aclosing
from itertools import product
from typing import Any, get_args
from unittest.mock import patch

from tinyagent import (
    AnthropicModel,
    Model,
    OpenAIModel,
    ReactAgent,
    RunFinished,
    RunResult,
    scripted_call,
    tool,
)
from tinyagent.models import OpenAIResponsesModel
from tinyagent.testing import FAULTS, MockServer, fault
from tinyagent.testing.apis import Api
from tinyagent.testing.faults import Mode

WAYS = ("blocking", "streamed")
COLUMNS = [*product(get_args(Mode), WAYS)]
SECONDS = 20
ANSWER = 3


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def _finish(agent: ReactAgent[Any], *, streamed: bool) -> RunResult[Any]:
    if not streamed:
        return await agent.run("1 + 2?", return_result=True)
    async with aclosing(agent.stream("1 + 2?")) as events:
        async for event in events:
            if isinstance(event, RunFinished):
                return event.result
    raise RuntimeError("the stream has no end")


def _connect(server: MockServer, api: Api) -> Model:
    if api == "messages":
        with patch.dict(os.environ, ANTHROPIC_BASE_URL=server.url):
            return AnthropicModel("mock", api_key="k")
    made = OpenAIResponsesModel if api == "responses" else OpenAIModel
    return made("mock", base_url=server.base_url)


async def cell(name: str, mode: Mode, way: str, api: Api) -> str:
    """The outcome of one fault; begins with `BAD` if it is neither an answer nor a typed end."""
    wanted = int if name == "prose where a schema was asked" else str
    script = fault(name, scripted_call("add", a=1, b=2), mode=mode, api=api)
    async with MockServer(script) as server:
        agent = ReactAgent(_connect(server, api), [add], tool_calling_mode=mode, output_type=wanted)
        async with asyncio.timeout(SECONDS):
            result = await _finish(agent, streamed=way == "streamed")
        return judge(result, wanted(ANSWER), len(server.requests))


def judge(result: RunResult[Any], wanted: object, requests: int) -> str:
    """The text of a cell."""
    if result.state != "completed":
        return type(result.error).__name__ if result.error else f"BAD: {result.state}, no error"
    if result.output != wanted:
        return f"BAD: answered {result.output!r}"
    return f"answered in {requests} requests"


async def matrix_rows(api: Api) -> list[list[str]]:
    """A row for each fault: its name, then its cells in the order of `COLUMNS`."""
    cells = await asyncio.gather(
        *(cell(name, mode, way, api) for name in FAULTS for mode, way in COLUMNS),
        return_exceptions=True,
    )
    texts = [f"BAD: {text!r}" if isinstance(text, BaseException) else text for text in cells]
    width = len(COLUMNS)
    return [[name, *texts[at * width : (at + 1) * width]] for at, name in enumerate(FAULTS)]


def print_matrix() -> bool:
    """Print a Markdown table for each API; return whether every cell passes."""
    good = [_print_api(api) for api in get_args(Api)]  # all are printed
    return all(good)


def _print_api(api: Api) -> bool:
    rows = asyncio.run(matrix_rows(api))
    print(f"| fault, {api} |", " | ".join(f"{mode}, {way}" for mode, way in COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for row in rows:
        print("|", " | ".join(row), "|")
    bad = sum(text.startswith("BAD") for row in rows for text in row)
    good = "Every fault is corrected or ends in a typed error."
    print(f"\n{bad} cells are bad.\n" if bad else f"\n{good}\n")
    return not bad


if __name__ == "__main__":
    sys.exit(not print_matrix())

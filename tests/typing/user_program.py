# pyright: strict
"""What a user writes, as the type checkers see it; it is checked, and run too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import assert_type

from tinyagent import (
    Approval,
    Decision,
    Event,
    Memory,
    Middleware,
    Model,
    ReactAgent,
    RunContext,
    RunFinished,
    RunResult,
    ScriptedModel,
    TextDelta,
    Tool,
    ToolCall,
    UsageLimits,
    scripted_call,
    tool,
)
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse


@dataclass
class Invoice:
    """A typed answer."""

    number: str
    total: int


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="lookup", requires_approval=True, timeout=2.0, retries=1, sequential=True)
async def look_up(key: str, context: RunContext) -> dict[str, str]:
    """Look a key up."""
    return {key: context.run_id}


def plain(text: str) -> str:
    """A function that is given as it is."""
    return text


class Counting(Middleware):
    """A middleware of the user's own."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Event) -> None:
        self.seen += isinstance(event, RunFinished)


async def ask(call: ToolCall) -> Decision:
    return Decision(approved=call.name == "lookup")


async def typed_answers() -> None:
    model: Model = ScriptedModel(['{"number": "A-1", "total": 3}'])
    agent = ReactAgent(model, [add, look_up, plain], output_type=Invoice)
    assert_type(agent, ReactAgent[Invoice])
    result = await agent.run("Read the invoice", max_steps=3)
    named: RunResult[Invoice] = result
    assert_type(named.output, Invoice)
    assert_type(result.output, Invoice)
    assert_type(result.memory, Memory)
    assert_type(result.output.total, int)
    text = ReactAgent(ScriptedModel(["Hello."]))
    assert_type(text, ReactAgent[str])
    assert_type((await text.run("Hi")).output, str)
    lists = ReactAgent(ScriptedModel(["[1]"]), output_type=list[int])
    assert_type((await lists.run("Hi")).output, list[int])


async def streaming() -> None:
    agent = ReactAgent(
        ScriptedModel([scripted_call("lookup", key="a"), "Done."]),
        [look_up],
        middleware=[UsageLimits(requests=5), Approval(ask), Counting()],
        temperature=0.0,
    )
    async for event in agent.stream("Look a up"):
        match event:
            case TextDelta(text=text):
                assert_type(text, str)
            case RunFinished(result=result):
                assert result.state == "completed", result.error
            case _:
                pass


class Echo:
    """A model of the user's own."""

    name = "echo"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.messages[-1].text)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        response = await self.complete(request)
        yield ModelDelta(response.content or "")
        yield response


async def own_model() -> None:
    result = await ReactAgent(Echo()).run("Say it back")
    assert str(result) == "Say it back"


assert_type(add, Tool)

if __name__ == "__main__":
    asyncio.run(typed_answers())
    asyncio.run(streaming())
    asyncio.run(own_model())

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
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
    Message,
    Middleware,
    Model,
    ReactAgent,
    RunContext,
    RunFinished,
    RunResult,
    ScriptedModel,
    TextDelta,
    TinyCodeAgent,
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


@dataclass
class Shop:
    """What tools need, from whoever starts the run."""

    apples: int


@tool
async def stock(context: RunContext[Shop], shelf: int = 1) -> int:
    """Count the apples on a shelf."""
    assert_type(context, RunContext[Shop])
    assert_type(context.deps, Shop)
    return context.deps.apples * shelf


class Auditing(Middleware):
    """A middleware that needs the same."""

    def bind(self, run: RunContext[Shop]) -> Middleware:
        assert_type(run.deps.apples, int)
        return self


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


async def deps() -> None:
    model = ScriptedModel(lambda _: "[1]")
    agent = ReactAgent(
        model, [stock, add], output_type=list[int], deps_type=Shop, middleware=[Auditing()]
    )
    assert_type(agent, ReactAgent[list[int], Shop])
    result = await agent.run("Count", deps=Shop(3))
    assert_type(result.output, list[int])
    assert_type(result.messages, tuple[Message, ...])
    async for _ in agent.stream("Count", deps=Shop(3)):
        pass
    agent.run("Count", deps="no shop").close()  # type: ignore[arg-type]
    agent.stream("Count", deps=3)  # type: ignore[arg-type]
    words = ReactAgent(model, deps_type=Shop)
    assert_type(words, ReactAgent[str, Shop])
    bare = ReactAgent(model)
    assert_type(bare, ReactAgent[str, None])
    await bare.run("Count", deps=Shop(3))  # type: ignore[arg-type]
    coder = TinyCodeAgent(model, [stock], deps_type=Shop, instructions="Count twice.")
    assert_type(coder, TinyCodeAgent[str, Shop])
    coder.run("Count", deps=Shop(3)).close()
    coder.run("Count", deps=3).close()  # type: ignore[arg-type]
    coder.best_of("Count", 2, "True", deps=3).close()  # type: ignore[arg-type]


def named(one: ReactAgent[Invoice], two: ReactAgent[Invoice, Shop]) -> None:
    assert_type(one.run_sync("Read").output, Invoice)
    two.run_sync("Read", deps=3)  # type: ignore[arg-type]


SUBSCRIPTS = (ReactAgent[Invoice], ReactAgent[Invoice, Shop], RunContext[Shop], RunResult[Invoice])


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
    asyncio.run(deps())

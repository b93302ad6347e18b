"""What a caller gives a run for its tools: `run(task, deps=...)`."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from tinyagent import (
    Event,
    Middleware,
    ReactAgent,
    RunContext,
    RunFinished,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    ToolCall,
    ToolDefinitionError,
    ToolResult,
    scripted_call,
)
from tinyagent.core import CallerError, RunControl

MARK = "of the shop only"


@dataclass
class Shop:
    apples: int
    note: str = MARK


class Bakery(Shop):
    pass


class Countable(Protocol):
    apples: int


async def stock(context: RunContext[Shop]) -> int:
    """Count the apples."""
    return context.deps.apples


def counted(context: RunContext[Countable]) -> int:
    """Count what can be counted."""
    return context.deps.apples


def perhaps(run: RunContext[Shop | None]) -> str:
    """Say whether there is a shop."""
    return "closed" if run.deps is None else "open"


def relaying(name: str = "stock", **arguments: Any) -> ScriptedModel:
    """A model that makes one call, and answers with its result."""
    return ScriptedModel(
        lambda request: (
            request.messages[-1].text
            if request.messages[-1].role == "tool"
            else scripted_call(name, **arguments)
        )
    )


def coder(**options: Any) -> TinyCodeAgent[str, Shop]:
    model = ScriptedModel(lambda _: "```python\nfinal_answer(str(stock()))\n```")
    return TinyCodeAgent(model, [stock], deps_type=Shop, **options)


async def _by_stream(events: AsyncGenerator[Event, None]) -> Any:
    async for event in events:
        if isinstance(event, RunFinished):
            return event.result
    raise AssertionError


async def test_tools_receive_the_deps_of_their_own_run() -> None:
    agent = ReactAgent(relaying(), [stock], deps_type=Shop)
    assert (await agent.run("go", deps=Shop(3))).output == "3"
    assert (await _by_stream(agent.stream("go", deps=Shop(5)))).output == "5"
    assert (await coder(sandbox=Sandbox("local")).run("go", deps=Shop(7))).output == "7"


def test_run_sync_takes_deps_too() -> None:
    agent = ReactAgent(relaying(), [stock], deps_type=Shop)
    assert agent.run_sync("go", deps=Shop(3)).output == "3"


async def test_all_candidates_receive_the_deps() -> None:
    best = await coder().best_of("go", 2, lambda result: result.output == "7", deps=Shop(7))
    assert [each.output for each in best.candidates] == ["7", "7"]


async def test_an_agent_as_a_tool_passes_the_deps_of_the_outer_run_on() -> None:
    inner = ReactAgent(relaying(), [stock], deps_type=Shop)
    middle = ReactAgent(relaying("clerk", task="?"), [inner.as_tool("clerk", "Counts.")])
    tools = [middle.as_tool("chief", "Asks the clerk.")]
    outer = ReactAgent(relaying("chief", task="?"), tools, deps_type=Shop)
    assert (await outer.run("go", deps=Shop(3))).output == "3"
    with pytest.raises(CallerError, match="need deps of type Shop"):
        await outer.run("go")


class Watching(Middleware):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def bind(self, run: RunContext[Shop]) -> Middleware:
        self.seen.append(run.deps.apples)
        return self


async def test_middleware_sees_the_deps() -> None:
    watching = Watching()
    agent = ReactAgent(ScriptedModel(["done"]), middleware=[watching], deps_type=Shop)
    await agent.run("go", deps=Shop(3))
    assert watching.seen == [3]


@pytest.mark.parametrize(
    "agent",
    [
        ReactAgent(relaying(), [stock]),
        ReactAgent(ScriptedModel(["done"]), deps_type=Shop),
        coder(sandbox=Sandbox("local")),
    ],
    ids=["a tool", "the agent", "a code agent"],
)
async def test_a_run_without_the_deps_that_are_needed_does_not_begin(agent: Any) -> None:
    with pytest.raises(CallerError, match=r"need deps of type Shop, .* pass deps="):
        await agent.run("go", return_result=True)
    with pytest.raises(CallerError):
        await anext(agent.stream("go"))


async def test_a_tool_that_can_do_without_deps_may_have_none() -> None:
    agent = ReactAgent(relaying("perhaps"), [perhaps], deps_type=Shop)
    assert (await agent.run("go", deps=Shop(1))).output == "open"
    assert (await ReactAgent(relaying("perhaps"), [perhaps]).run("go")).output == "closed"


@pytest.mark.parametrize("agent", [ReactAgent, TinyCodeAgent])
def test_a_tool_that_needs_other_deps_than_the_agent_has_is_refused(agent: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"'stock' takes a RunContext\[Shop\].* is dict"):
        agent(ScriptedModel([]), [stock], deps_type=dict)
    inner = ReactAgent(ScriptedModel([]), [stock]).as_tool("clerk", "Counts.")
    with pytest.raises(ToolDefinitionError, match="'clerk' takes"):
        agent(ScriptedModel([]), [inner], deps_type=dict)


@pytest.mark.parametrize("deps_type", [Shop, Bakery])
async def test_a_tool_may_ask_for_a_base_class_or_a_protocol(deps_type: type[Shop]) -> None:
    for name, tool in (("stock", stock), ("counted", counted)):
        agent = ReactAgent(relaying(name), [tool], deps_type=deps_type)
        assert (await agent.run("go", deps=deps_type(3))).output == "3"


class Noting(Middleware):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_event(self, event: Event) -> None:
        self.seen.append(repr(event))

    async def tool_call(self, call: ToolCall, call_next: Any) -> ToolResult:
        result: ToolResult = await call_next(call)
        self.seen.append(repr((call, result)))
        return result


async def test_deps_are_in_no_prompt_event_log_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tinyagent")
    contexts: list[str] = []

    async def fails(context: RunContext[Shop]) -> str:
        """Fail."""
        contexts.append(repr(context))
        raise ValueError("closed")

    noting, model = Noting(), relaying("fails")
    agent = ReactAgent(model, [fails, stock], middleware=[noting], deps_type=Shop)
    result = await agent.run("go", deps=Shop(3))
    contexts.append(repr(RunControl("go", 1, {}, deps=Shop(3))))
    seen = [caplog.text, repr(result), repr(model.requests), *contexts, *noting.seen]
    assert "closed" in caplog.text
    assert len(seen) > 8
    assert not [text for text in seen if MARK in text or "Shop(" in text]

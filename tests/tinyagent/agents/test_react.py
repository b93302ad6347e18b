from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from tinyagent import (
    Middleware,
    OpenAIModel,
    ReactAgent,
    RunContext,
    RunResult,
    ScriptedModel,
    Tool,
    ToolCall,
    ToolFinished,
    ToolResult,
    ToolStarted,
    UsageLimitReached,
    UsageLimits,
    scripted_call,
)
from tinyagent.core import ModelRequest, ModelResponse, RawToolCall, ReactStep
from tinyagent.middleware.base import ModelCall, ToolCallHandler
from tinyagent.testing import MockServer

Ask = Callable[[ReactAgent[Any]], Awaitable[RunResult[Any]]]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_step_is_call_result_and_the_next_request() -> None:
    call = scripted_call("add", call_id="x", a=1, b=2)
    model = ScriptedModel([ModelResponse("Let me add.", (call,)), "It is 3."])
    result = await ReactAgent(model, [add]).run("1 + 2?")
    asked, answered = result.memory.messages[2:4]
    assert (asked.role, asked.content) == ("assistant", "Let me add.")
    assert asked.tool_calls == (ToolCall("x", "add", {"a": 1, "b": 2}),)
    assert (answered.role, answered.content, answered.tool_call_id) == ("tool", "3", "x")
    (step,) = result.steps
    assert (step.number, step.content, step.results[0].content) == (1, "Let me add.", "3")
    assert model.requests[1].messages == result.memory.messages[:4]


async def test_every_request_offers_the_tools() -> None:
    model = ScriptedModel([scripted_call("add", a=1, b=2), "3"])
    await ReactAgent(model, [add]).run("go")
    assert [r.format.tools[0]["function"]["name"] for r in model.requests] == ["add", "add"]


async def test_the_events_of_a_run_in_their_order() -> None:
    model = ScriptedModel([scripted_call("add", a=1, b=2), "", "It is 3."])
    events = [event async for event in ReactAgent(model, [add]).stream("go")]
    assert [type(event).__name__ for event in events] == [
        "RunStarted",
        "StepStarted", "ModelRequested", "ModelResponded", "ToolStarted", "ToolFinished",
        "StepFinished",
        "StepStarted", "ModelRequested", "ModelResponded", "ReplyRejected", "StepFinished",
        "StepStarted", "ModelRequested", "TextDelta", "TextDelta", "TextDelta", "ModelResponded",
        "StepFinished",
        "RunFinished",
    ]  # fmt: skip
    steps = [event.step for event in events if hasattr(event, "step")]
    assert steps == sorted(steps)


async def test_calls_of_one_answer_run_side_by_side_and_keep_their_order(ask: Ask) -> None:
    together, first_done = asyncio.Barrier(3), asyncio.Event()

    async def fetch(name: str) -> str:
        """Fetch it; the last call comes back first."""
        await together.wait()
        if name == "c":
            first_done.set()
        await first_done.wait()
        return name

    calls = [scripted_call("fetch", name=name) for name in "abc"]
    result = await ask(ReactAgent(ScriptedModel([calls, "done"]), [fetch]))
    assert [r.content for r in result.steps[0].results] == ["a", "b", "c"]
    assert [m.content for m in result.memory.messages[3:6]] == ["a", "b", "c"]


async def test_sync_tools_run_side_by_side_too(ask: Ask) -> None:
    together = threading.Barrier(3, timeout=30)

    def fetch(name: str) -> str:
        """Fetch it."""
        together.wait()
        return name

    calls = [scripted_call("fetch", name=name) for name in "abc"]
    result = await ask(ReactAgent(ScriptedModel([calls, "done"]), [fetch]))
    assert [r.content for r in result.steps[0].results] == ["a", "b", "c"]


async def test_overlapping_calls_are_distinguished_by_their_ids() -> None:
    together = asyncio.Barrier(2)

    async def fetch(name: str) -> str:
        """Fetch it."""
        await together.wait()
        return name

    calls = [scripted_call("fetch", name=name) for name in "ab"]
    agent = ReactAgent(ScriptedModel([calls, "done"]), [fetch])
    events = [event async for event in agent.stream("go")]
    begun = {e.call.id: e.call.arguments["name"] for e in events if isinstance(e, ToolStarted)}
    ended = {e.result.call.id: e.result.content for e in events if isinstance(e, ToolFinished)}
    assert len(begun) == 2
    assert begun == ended


async def test_a_limit_reached_by_one_call_ends_the_others(ask: Ask) -> None:
    cancelled: list[str] = []

    async def wait(name: str) -> None:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(name)
            raise

    before = asyncio.all_tasks()
    calls = [scripted_call("wait", name=name) for name in "abc"]
    limits = UsageLimits(tool_calls=2)
    result = await ask(ReactAgent(ScriptedModel([calls]), [wait], middleware=[limits]))
    assert result.state == "usage_limit_reached"
    assert isinstance(result.error, UsageLimitReached)
    assert "the run has used its tool_calls: 2 of 2" in str(result.error)
    assert sorted(cancelled) == ["a", "b"]
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
    roles = [message.role for message in result.memory.messages]
    # No call without its result.
    assert roles == ["system", "user", "assistant", "tool", "tool", "tool"]


@pytest.mark.parametrize("side_by_side", [1, 3])
async def test_cancelling_a_run_cancels_its_tools_and_leaves_nothing_behind(
    side_by_side: int,
) -> None:
    entered = asyncio.Barrier(side_by_side + 1)
    cancelled: list[bool] = []

    async def wait() -> None:
        """Wait for ever."""
        try:
            await entered.wait()
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    before = asyncio.all_tasks()
    agent = ReactAgent(ScriptedModel([[scripted_call("wait")] * side_by_side]), [wait])
    run = asyncio.create_task(agent.run("go"))
    await entered.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert cancelled == [True] * side_by_side
    assert asyncio.all_tasks() == before


async def test_cancelling_who_listens_to_a_stream_cancels_the_run() -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait for ever."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def listen() -> None:
        agent = ReactAgent(ScriptedModel([scripted_call("wait")]), [wait])
        async with aclosing(agent.stream("go")) as events:
            async for _ in events:
                pass

    before = asyncio.all_tasks()
    listener = asyncio.create_task(listen())
    await entered.wait()
    listener.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listener
    assert cancelled.is_set()
    assert asyncio.all_tasks() == before


async def test_leaving_a_stream_over_the_wire_lets_the_connection_go() -> None:
    long = ModelResponse("word " * 1000)
    before = asyncio.all_tasks()
    async with MockServer([long]) as server:
        agent = ReactAgent(OpenAIModel("m", base_url=server.base_url))
        async with aclosing(agent.stream("go")) as events:
            async for event in events:
                if type(event).__name__ == "TextDelta":
                    break
    assert asyncio.all_tasks() == before


async def test_a_sync_tool_that_is_left_behind_holds_nobody_up() -> None:
    entered, leave = threading.Event(), threading.Event()

    def wait() -> None:
        """Wait for ever."""
        entered.set()
        leave.wait()

    before = asyncio.all_tasks()
    agent = ReactAgent(ScriptedModel([scripted_call("wait")]), [wait])
    run = asyncio.create_task(agent.run("go"))
    await asyncio.to_thread(entered.wait)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == before
    leave.set()


class Noting(Middleware):
    """Notes what passes, for each run apart."""

    def __init__(self, name: str, log: list[str], run: RunContext | None = None) -> None:
        self.name, self.log, self.run = name, log, run

    def bind(self, run: RunContext) -> Noting:
        self.log.append(f"{self.name} bound to {run.task}")
        return Noting(self.name, self.log, run)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        assert self.run is not None
        self.log.append(f"{self.name} model step {self.run.step}")
        return await call_next(request)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        self.log.append(f"{self.name} tool {call.name}")
        return await call_next(call)


async def test_middleware_is_bound_once_a_run_and_called_from_outside_in() -> None:
    log: list[str] = []
    model = ScriptedModel([scripted_call("add", a=1, b=2), "3"])
    agent = ReactAgent(model, [add], middleware=[Noting("outer", log), Noting("inner", log)])
    await agent.run("go")
    assert log == [
        "outer bound to go", "inner bound to go",
        "outer model step 1", "inner model step 1",
        "outer tool add", "inner tool add",
        "outer model step 2", "inner model step 2",
    ]  # fmt: skip


class Cached(Middleware):
    """Answers in place of the model and the tools."""

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        del call_next
        if len(request.messages) > 2:
            return ModelResponse("from the cache")
        return ModelResponse(None, (RawToolCall("1", "missing", "{}"),))

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        del call_next
        return ToolResult(call, "from the cache too")


async def test_middleware_may_answer_in_place_of_the_model_and_the_tools(ask: Ask) -> None:
    model = ScriptedModel([])
    result = await ask(ReactAgent(model, middleware=[Cached()]))
    assert result.output == "from the cache"
    assert result.steps == (
        ReactStep(1, "", (ToolResult(ToolCall("1", "missing"), "from the cache too"),)),
    )
    assert model.requests == []


async def test_a_sequential_tool_runs_alone_and_in_its_place() -> None:
    log: list[str] = []

    async def free(name: str) -> str:
        """Run next to others."""
        log.append(f"{name} begins")
        await asyncio.sleep(0)
        log.append(f"{name} ends")
        return name

    alone = Tool.from_function(free, name="alone", sequential=True)
    order = [("free", "a"), ("free", "b"), ("alone", "c"), ("alone", "d"), ("free", "e")]
    calls = [scripted_call(tool, name=name) for tool, name in order]
    result = await ReactAgent(ScriptedModel([calls, "done"]), [free, alone]).run("go")
    assert [r.content for r in result.steps[0].results] == list("abcde")
    assert log == [
        "a begins", "b begins", "a ends", "b ends",
        "c begins", "c ends", "d begins", "d ends", "e begins", "e ends",
    ]  # fmt: skip


def long_text() -> str:
    """Give a long text."""
    return "".join(f"{number:6}" for number in range(10_000))


async def test_a_long_result_is_cut_and_read_on_even_by_a_call_written_as_text() -> None:
    def answer(request: ModelRequest) -> Any:
        last = request.messages[-1]
        match = re.search(r'handle="(\w+)", offset=(\d+)', last.text)
        if match is not None:
            arguments = {"handle": match[1], "offset": int(match[2]), "limit": 12}
            return json.dumps({"name": "read_result", "arguments": arguments})
        written = json.dumps({"name": "long_text", "arguments": {}})
        return last.content if last.role == "tool" else written

    model = ScriptedModel(answer)
    result = await ReactAgent(model, [long_text]).run("go")
    assert json.loads(result.output)["text"] == long_text()[10_000:10_012]
    offered = [[t["function"]["name"] for t in r.format.tools] for r in model.requests]
    assert offered == [["long_text"], ["long_text", "read_result"], ["long_text", "read_result"]]
    assert len(result.memory.messages[3].content) < 21_000
    assert len(result.steps[0].results[0].content) == 60_000


async def test_reading_on_is_not_offered_while_there_is_nothing_to_read() -> None:
    model = ScriptedModel([scripted_call("read_result", handle="x"), "done"])
    result = await ReactAgent(model, [add]).run("go")
    assert result.steps[0].results[0].content == (
        "Error: there is no tool 'read_result'; Tools: add"
    )


async def test_a_memory_continues_under_this_agents_own_prompt() -> None:
    first = await ReactAgent(ScriptedModel(["Hello."]), instructions="Be kind.").run("Hi")
    model = ScriptedModel(["7"])
    agent = ReactAgent(model, output_type=int, instructions="Be short.")
    result = await agent.run("How many?", memory=first.memory)
    assert result.output == 7
    system = [m.content for m in model.requests[0].messages if m.role == "system"]
    assert len(system) == 1
    assert "Be short." in system[0]
    assert "JSON Schema" in system[0]
    assert "Be kind." not in system[0]


async def test_calls_that_were_made_are_remembered_when_a_limit_ends_the_run() -> None:
    calls = [RawToolCall(str(n), "add", json.dumps({"a": n, "b": 0})) for n in range(3)]
    agent = ReactAgent(ScriptedModel([calls]), [add], middleware=[UsageLimits(tool_calls=2)])
    result = await agent.run("go", return_result=True)
    assert result.state == "usage_limit_reached"
    made = {r.call.id: r.is_error for step in result.steps for r in step.results}
    assert sorted(made) == ["0", "1", "2"]
    assert made["2"]
    tools = [m for m in result.memory.messages if m.role == "tool"]
    assert [m.tool_call_id for m in tools] == ["0", "1", "2"]
    assert tools[2].content == "Error: not finished: the run ended"

"""A code agent's run as events, streamed; and left in its middle."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable
from contextlib import aclosing
from typing import Any, NamedTuple

import pytest
from tests.support.coding import block, coder, each_level, events_of, result_of
from tests.support.execution import SPARE_SECONDS, sandbox_processes
from tests.support.waits import soon
from tests.tinyagent.execution.network.origin import served_locally

from tinyagent import (
    CodeFinished,
    CodeStarted,
    Event,
    Middleware,
    OutputDelta,
    RunFinished,
    RunStarted,
    Sandbox,
    ScriptedModel,
    StepFinished,
    StepStarted,
    TextDelta,
    TinyCodeAgent,
    ToolFinished,
    ToolStarted,
    TrustLevel,
)
from tinyagent.core import (
    ModelRequested,
    ModelResponded,
    NetworkRequest,
    NetworkRequestFinished,
    ReplyRejected,
    SignalGiven,
)


async def stock(item: str) -> int:
    """Look up how many of an item are left."""
    return len(item)


@each_level
async def test_events_come_in_the_order_in_which_things_happen(level: TrustLevel) -> None:
    model = ScriptedModel(
        [
            block("explore('stock')\nprint(stock('pears'))"),
            "no code",
            block("final_answer('done')"),
        ]
    )
    events = await events_of(TinyCodeAgent(model, [stock], sandbox=Sandbox(level=level)))
    assert [type(event) for event in events if not isinstance(event, TextDelta)] == [
        RunStarted,
        StepStarted, ModelRequested, ModelResponded,
        CodeStarted, SignalGiven, ToolStarted, ToolFinished, OutputDelta, CodeFinished,
        StepFinished,
        StepStarted, ModelRequested, ModelResponded, ReplyRejected, StepFinished,
        StepStarted, ModelRequested, ModelResponded, CodeStarted, CodeFinished, StepFinished,
        RunFinished,
    ]  # fmt: skip
    assert [event.step for event in events if isinstance(event, StepStarted)] == [1, 2, 3]
    assert {event.step for event in events if isinstance(event, OutputDelta)} == {1}


@each_level
async def test_the_code_comes_as_it_is_written_and_the_output_as_it_is_printed(
    level: TrustLevel,
) -> None:
    seen: list[str] = []

    async def gate(number: int) -> int:
        """Hold the code until what it printed before has been seen."""
        await soon(lambda: f"before {number}" in "".join(seen))
        return number

    reply = block("for number in (1, 2):\n    print('before', number)\n    gate(number)")
    model = ScriptedModel([reply, block("final_answer('ok')")])
    written: list[str] = []
    async with aclosing(
        TinyCodeAgent(model, [gate], sandbox=Sandbox(level=level)).stream("go")
    ) as events:
        async for event in events:
            match event:
                case TextDelta(step=1, text=text):
                    written.append(text)
                case OutputDelta(text=text):
                    seen.append(text)
                case CodeFinished(step=1, result=result):
                    assert result.output == "".join(seen) == "before 1\nbefore 2\n"
                case _:
                    pass
    assert "".join(written) == reply
    assert len(written) > 5


async def test_network_requests_come_as_they_happen() -> None:
    seen: list[NetworkRequest] = []

    async def gate(number: int) -> None:
        """Hold the code until its requests have been seen."""
        await soon(lambda: len(seen) == number)

    with served_locally() as port:
        code = f"""
            import urllib.error, urllib.request
            urllib.request.urlopen("http://localhost:{port}/items?token=x", b"hello").read()
            gate(1)
            for url in ("http://evil.com/", "http://localhost:{port}/status?code=404"):
                try:
                    urllib.request.urlopen(url)
                except urllib.error.URLError:
                    pass
            gate(3)
            final_answer(3)
        """
        agent = TinyCodeAgent(coder(code), [gate], sandbox=Sandbox(network=[f"localhost:{port}"]))
        async with aclosing(agent.stream("go")) as events:
            async for event in events:
                match event:
                    case NetworkRequestFinished(step=1, request=request):
                        seen.append(request)
                    case CodeFinished(result=result):
                        assert result.error is None
                        assert list(result.requests) == seen
                    case _:
                        pass
    assert [(each.method, each.path, each.allowed, each.status, each.sent) for each in seen] == [
        ("POST", "/items", True, 200, 5),
        ("LOOKUP", "", False, None, 0),
        ("GET", "/status", True, 404, 0),
    ]
    assert [bool(each.received) for each in seen] == [True, False, True]
    assert "evil.com is not on this sandbox's network list" in seen[1].reason


@each_level
async def test_code_events_tell_the_code_and_its_result(level: TrustLevel) -> None:
    events = await events_of(
        TinyCodeAgent(coder("6 * 7", "final_answer('x')"), sandbox=Sandbox(level=level))
    )
    assert [event.code for event in events if isinstance(event, CodeStarted)] == [
        "6 * 7",
        "final_answer('x')",
    ]
    first, second = [event.result for event in events if isinstance(event, CodeFinished)]
    assert (first.value, first.value_text, first.is_final) == (42, "42", False)
    assert (second.is_final, second.final_value) == (True, "x")


@each_level
async def test_run_and_stream_come_to_the_same(level: TrustLevel) -> None:
    codes = ["x = 2", "observe('two')\nprint(x)", "final_answer(x + 1, why='sum')"]
    run = await TinyCodeAgent(coder(*codes), output_type=int, sandbox=Sandbox(level=level)).run(
        "go"
    )
    agent = TinyCodeAgent(coder(*codes), output_type=int, sandbox=Sandbox(level=level))
    streamed = result_of(await events_of(agent))
    assert streamed.output == run.output == 3
    assert [step.observation for step in streamed.steps] == [step.observation for step in run.steps]
    assert streamed.final_answer is not None
    assert streamed.final_answer.metadata == {"why": "sum"}


async def wait() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


HANGING = {
    "a loop": "while True:\n    pass",
    "a loop that catches": "while True:\n    try: sum(range(99))\n    except Exception: pass",
    "an async tool": "wait()",
    "a tool called in a loop": "while True:\n    stock('x')",
}


@each_level
@pytest.mark.parametrize("code", HANGING.values(), ids=HANGING.keys())
@pytest.mark.parametrize("way", ["cancel", "leave"])
async def test_a_run_that_is_left_leaves_no_thread_and_no_process(
    level: TrustLevel, code: str, way: str
) -> None:
    def agent(code: str) -> TinyCodeAgent[str]:
        return TinyCodeAgent(coder(code), [stock, wait], sandbox=Sandbox(level=level))

    await agent("final_answer(1)").run("warm up")
    before = await _settled()
    running = asyncio.Event()

    async def follow() -> None:
        """Leave the stream when the code runs; or stay, and be cancelled."""
        async with aclosing(agent(f"print('on')\n{code}").stream("go")) as events:
            async for event in events:
                if isinstance(event, OutputDelta):
                    running.set()
                    if way == "leave":
                        break

    task = asyncio.create_task(follow())
    await running.wait()
    if way == "cancel":
        task.cancel()
    await asyncio.wait([task], timeout=SPARE_SECONDS)
    assert task.done()
    assert task.cancelled() is (way == "cancel")
    await soon(lambda: _holdings() == before, SPARE_SECONDS)


@pytest.mark.parametrize("way", ["run", "stream"])
async def test_a_cancelled_run_says_so_in_its_last_event(way: str) -> None:
    listener = _Listener()
    agent = TinyCodeAgent(coder("wait()"), [wait], middleware=[listener])

    async def stream() -> None:
        async with aclosing(agent.stream("go")) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(stream() if way == "stream" else _forget(agent.run("go")))
    await listener.waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = result_of(listener.seen)
    assert (last.state, last.output, last.error) == ("cancelled", None, None)
    assert [step.code for step in last.steps] == ["wait()"]


@each_level
async def test_runs_that_end_well_leave_nothing_either(level: TrustLevel) -> None:
    agent = TinyCodeAgent(
        ScriptedModel(lambda _: block("final_answer(1)")), sandbox=Sandbox(level=level)
    )
    await agent.run("warm up")
    before = await _settled()
    await asyncio.gather(*(agent.run("go") for _ in range(8)))
    await soon(lambda: _holdings() == before)


class _Listener(Middleware):
    """Keeps the events it gets."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.waits = asyncio.Event()

    def on_event(self, event: Event) -> None:
        self.seen.append(event)
        if isinstance(event, ToolStarted):
            self.waits.set()


async def _forget(result: Awaitable[object]) -> None:
    await result


class _Holdings(NamedTuple):
    """What a run may leave behind."""

    tasks: set[asyncio.Task[Any]]
    processes: set[int]
    descriptors: int
    threads: list[str]


async def _settled() -> _Holdings:
    """What this process holds when what earlier runs have left is gone."""
    await soon(lambda: not _holdings().threads)
    processes = -1
    while processes != len(now := sandbox_processes()):
        processes = len(now)
        await asyncio.sleep(0.05)
    return _holdings()


def _holdings() -> _Holdings:
    threads = [thread.name for thread in threading.enumerate()]
    return _Holdings(
        asyncio.all_tasks(),
        sandbox_processes(),
        len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a count is all that is wanted
        [name for name in threads if name in {"tinyagent-code", "tinyagent-tool"}],
    )

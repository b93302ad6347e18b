"""One agent object and 200 runs at once: no cross-talk, and nothing of a cancelled run stays."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import aclosing
from typing import Any

from tinyagent import (
    Memory,
    OpenAIModel,
    ReactAgent,
    RunContext,
    RunFinished,
    RunResult,
    TextDelta,
    ToolFinished,
)
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.models.endpoint import sessions
from tinyagent.testing import MockServer, Reply
from tinyagent.testing.apis import completion_sse

RUNS = 200
SILENT = Reply(b"", ending="hang")
HALF = Reply(
    completion_sse(ModelResponse("half an answer"))[:300],
    content_type="text/event-stream",
    ending="hang",
)


def _memory(number: int) -> Memory:
    """The memory of an earlier conversation, other in each run."""
    memory = Memory()
    memory.add("system", "You tell what you know.")
    memory.add("user", f"My secret is {number}.")
    memory.add("assistant", "I shall remember.")
    return memory


def _call(name: str, **arguments: Any) -> ModelResponse:
    return ModelResponse(None, (RawToolCall("call_1", name, json.dumps(arguments)),))


async def test_200_runs_of_one_agent_do_not_mix() -> None:
    together = asyncio.Barrier(RUNS)

    async def ask(key: int, run: RunContext) -> str:
        """Ask for the fact that belongs to a key."""
        await together.wait()
        return f"fact {key} of {run.task}"

    def answer(body: dict[str, Any]) -> ModelResponse:
        secret, _, task, *rest = [message["content"] for message in body["messages"][1:]]
        facts = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if len(facts) < 2:
            return _call("ask", key=int(task.split()[-1]) + len(facts) * 1_000)
        assert rest[1::2] == facts
        return ModelResponse(" | ".join([secret, *facts]))

    async with MockServer(answer) as server:
        agent = ReactAgent(OpenAIModel("m", base_url=server.base_url), [ask])

        async def stream(number: int) -> RunResult[str]:
            async with aclosing(agent.stream(f"task {number}", memory=_memory(number))) as events:
                seen = [event async for event in events]
            contents = [event.result.content for event in seen if isinstance(event, ToolFinished)]
            last = seen[-1]
            assert isinstance(last, RunFinished)
            assert contents == [done.content for step in last.result.steps for done in step.results]
            return last.result

        results = await asyncio.gather(
            *(
                stream(n) if n % 2 else agent.run(f"task {n}", memory=_memory(n))
                for n in range(RUNS)
            )
        )
    for number, result in enumerate(results):
        assert result.output == (
            f"My secret is {number}. | fact {number} of task {number}"
            f" | fact {number + 1_000} of task {number}"
        )
        assert len(result.memory) == 9
        assert result.usage.requests == 3
    assert len({result.memory.messages[-1].content for result in results}) == RUNS


class Middle:
    """Tools and a server that hold each run in its middle, and count who has come there.

    The first four of eight runs are cancelled: one waits in an async tool, one in a thread, one
    for the model and one for the rest of its stream. The others wait in tools and are let go.
    """

    def __init__(self) -> None:
        self.arrived = asyncio.Semaphore(0)
        self.threads: list[threading.Thread] = []
        self.cancelled: list[int] = []
        self._loop = asyncio.get_running_loop()
        self._let_go, self._let_threads_go = asyncio.Event(), threading.Event()

    async def wait(self, number: int) -> str:
        """Wait on the loop."""
        self.arrived.release()
        try:
            await self._let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return f"waited {number}"

    def block(self, number: int) -> str:
        """Wait in a thread."""
        self.threads.append(threading.current_thread())
        self._loop.call_soon_threadsafe(self.arrived.release)
        self._let_threads_go.wait()
        return f"blocked {number}"

    def answer(self, body: dict[str, Any]) -> ModelResponse | Reply:
        """The server's side."""
        task, *results = [m["content"] for m in body["messages"] if m["role"] in {"user", "tool"}]
        number = int(task)
        if number % 8 == 2:
            self.arrived.release()
            return SILENT
        if number % 8 == 3:
            return HALF
        tool = "block" if number % 4 == 1 else "wait"
        return ModelResponse(results[-1]) if results else _call(tool, number=number)

    async def run(self, agent: ReactAgent[str], number: int) -> str:
        """One run; every fourth is a stream."""
        if number % 4 < 3:
            return (await agent.run(str(number))).output
        async with aclosing(agent.stream(str(number))) as events:
            async for event in events:
                if isinstance(event, TextDelta) and number % 8 == 3 and event.text == "half":
                    self.arrived.release()
                if isinstance(event, RunFinished):
                    return str(event.result)
        raise AssertionError("the stream has no end")

    def let_go(self) -> None:
        """Let all tools end."""
        self._let_go.set()
        self._let_threads_go.set()


def _sockets() -> list[str]:
    """The sockets that this process has open."""
    sockets: list[str] = []
    for entry in os.scandir("/proc/self/fd"):
        try:
            sockets.append(os.readlink(entry.path))  # noqa: PTH115 - a link to no path
        except FileNotFoundError:  # what listed them
            continue
    return sorted(target for target in sockets if target.startswith("socket:"))


def _tool_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "tinyagent-tool"}


async def _cancel_half_of_the_runs() -> None:
    middle, before = Middle(), asyncio.all_tasks()
    async with MockServer(middle.answer) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        agent = ReactAgent(model, [middle.wait, middle.block])
        runs = [asyncio.create_task(middle.run(agent, number)) for number in range(RUNS)]
        for _ in runs:
            await middle.arrived.acquire()

        gone = [task for number, task in enumerate(runs) if number % 8 < 4]
        for task in gone:
            task.cancel()
        await asyncio.wait(gone)
        assert [task.cancelled() for task in gone] == [True] * 100
        assert sorted(middle.cancelled) == list(range(0, RUNS, 8))
        connector: Any = (await sessions.get()).connector
        assert not connector._acquired  # no connection is held by a run that is gone
        assert _tool_threads() == set(middle.threads)  # those whose tool still runs

        middle.let_go()
        kept = await asyncio.gather(*(task for task in runs if task not in gone))
        assert kept == [
            f"{'blocked' if number % 4 == 1 else 'waited'} {number}"
            for number in range(RUNS)
            if number % 8 >= 4
        ]
    for thread in middle.threads:
        thread.join()
    assert not _tool_threads()
    assert asyncio.all_tasks() == before


def test_cancelling_100_of_200_runs_leaves_nothing_of_them_behind() -> None:
    sockets = _sockets()
    asyncio.run(asyncio.wait_for(_cancel_half_of_the_runs(), 50))
    assert _sockets() == sockets

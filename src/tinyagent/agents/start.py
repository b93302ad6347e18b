"""How a caller runs an agent: to its end, as a stream of events, or as a tool of another agent."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from tinyagent.agents.delegate import agent_tool
from tinyagent.agents.run import Run
from tinyagent.core.errors import CallerError
from tinyagent.core.events import Event
from tinyagent.core.messages import Task
from tinyagent.core.results import PartlySubscripted, RunResult
from tinyagent.options import checks_options
from tinyagent.tools.tool import Tool

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=str)
    D = TypeVar("D", default=None)
else:
    from typing import TypeVar

    T = TypeVar("T")
    D = TypeVar("D")

R = TypeVar("R", bound=Run[Any])
M = TypeVar("M")
S = TypeVar("S")


class Startable(ABC, PartlySubscripted, Generic[R, M, S, T, D]):
    """An agent that has a run to start and drives it to its end."""

    _deps_type: Any
    """The type of the `deps` that its runs need; None if they need none."""

    @checks_options()
    async def run(
        self,
        task: Task,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: M | None = None,
        deps: D | None = None,
    ) -> RunResult[T, M, S]:
        """Work on `task` until there is an answer.

        Args:
            task: What to do, in words; or words, images and documents in a list.
            max_steps: Replaces the agent's step limit.
            return_result: Return the result of a run that ended without an answer instead of
                raising its error.
            memory: The memory of an earlier result, to continue that conversation.
            deps: For the tools and the middleware, as `context.deps`; the model never sees it.

        Raises:
            CallerError: The agent or one of its tools needs `deps`, and there is none.
            RunEnded: A limit was reached, the model declined, or its answer was cut off or never
                matched its type.
            ModelError: The model's server failed.

        Each error carries the `result` of the run up to there.
        """
        result = await self._drive(self._start(task, max_steps, memory, deps))
        if result.error is None or return_result:
            return result
        raise result.error

    @checks_options()
    def run_sync(
        self,
        task: Task,
        *,
        max_steps: int | None = None,
        return_result: bool = False,
        memory: M | None = None,
        deps: D | None = None,
    ) -> RunResult[T, M, S]:
        """`run` for programs without an event loop.

        Raises:
            CallerError: An event loop is running already; await `run` there.
        """
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise CallerError(
                "run_sync() was called inside a running event loop; use: await agent.run(...)"
            )
        run = self.run(
            task, max_steps=max_steps, return_result=return_result, memory=memory, deps=deps
        )
        return asyncio.run(run)

    @checks_options()
    async def stream(
        self,
        task: Task,
        *,
        max_steps: int | None = None,
        memory: M | None = None,
        deps: D | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The run as events while it happens; the last is always `RunFinished`.

        Leaving the loop early, or cancelling the task, cancels the run. To be sure that it has
        ended when you leave early, use `contextlib.aclosing(agent.stream(...))`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        run = self._start(task, max_steps, memory, deps, events.put_nowait)
        driver = asyncio.create_task(self._drive(run))
        driver.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await driver
        finally:
            driver.cancel()
            await asyncio.wait([driver])

    def as_tool(self, name: str, description: str) -> Tool:
        """This agent as a tool that takes a task in words and returns the answer.

        Its tools get the `deps` of the outer run.

        Args:
            name: The name by which the outer model calls it.
            description: What it can do, for the outer model.
        """
        run = partial(self.run, return_result=True)
        return replace(agent_tool(run, name, description), deps_type=self._deps_type)

    @abstractmethod
    def _start(
        self,
        task: Task,
        max_steps: int | None,
        memory: M | None,
        deps: D | None,
        listener: Callable[[Event], None] | None = None,
    ) -> R:
        """A new run.

        Raises:
            CallerError: It needs `deps`.
        """

    @abstractmethod
    async def _drive(self, run: R) -> RunResult[T, M, S]:
        """Run the loop to its end, and report how it ended."""

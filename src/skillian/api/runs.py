"""Turns under way in this process: each in a task of its own, read along by any number."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, aclosing, contextmanager

from skillian.api.problems import ProblemError
from skillian.api.schemas import MAX_MESSAGE
from skillian.chat.approvals import Approvals
from skillian.chat.durable_turns import DurableTurns
from skillian.chat.turns import TurnRunner
from skillian.skills.skill import in_session
from skillian.storage import TurnEvent
from tinyagent import Decision

logger = logging.getLogger("skillian")


class Slots:
    """How much work may be under way at once.

    Args:
        limit: that many.

    Attributes:
        free: how much more.
    """

    def __init__(self, limit: int) -> None:
        self.free = limit

    def check(self) -> None:
        """Return if there is a free slot.

        Raises:
            ProblemError: all are taken (503).
        """
        if not self.free:
            detail = "As much is under way as this server takes on; try again."
            raise ProblemError(503, "overloaded", detail, {"Retry-After": "1"})

    def take(self) -> None:
        """Take a slot; raises as `check`."""
        self.check()
        self.free -= 1

    def give_back(self) -> None:
        """Give a slot back."""
        self.free += 1

    @contextmanager
    def taken(self) -> Generator[None]:
        """Hold a slot during the block; raises as `check`."""
        self.take()
        try:
            yield
        finally:
            self.give_back()


class Run:
    """A turn under way, and what it has told so far.

    It goes on as long as somebody reads it, and some seconds more.

    Args:
        source: the turn's events, as they come.
    """

    def __init__(self, source: AsyncGenerator[TurnEvent, None]) -> None:
        self._source = source
        self._events: list[TurnEvent] = []
        self._news = asyncio.Event()
        self._ended = False
        self._readers = 0
        self._timer: asyncio.TimerHandle | None = None
        self.task = asyncio.create_task(self._work())

    @property
    def has_begun(self) -> bool:
        """Whether its question is stored."""
        return bool(self._events)

    async def first(self) -> TurnEvent | None:
        """The first event; None where the turn was cancelled before it. Raises as `events`."""
        async with aclosing(self.events()) as events:
            return await anext(events, None)

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        """All events from the first on, until the turn ends; raises what ended it."""
        position = 0
        while True:
            news = self._news
            while position < len(self._events):
                yield self._events[position]
                position += 1
            if self._ended:
                break
            await news.wait()
        await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.result()

    @contextmanager
    def read(self, grace: float) -> Generator[None]:
        """Keep the turn going during the block, and `grace` seconds after the last of them."""
        self._readers += 1
        if self._timer is not None:
            self._timer.cancel()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers and not self._ended:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(grace, self.task.cancel)

    async def _work(self) -> None:
        try:
            async with aclosing(self._source) as events:
                async for event in events:
                    self._events.append(event)
                    self._tell()
        finally:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class Runs:
    """All turns under way.

    Args:
        turns: runs them.
        slots: each takes one, if it is worked on here; to read along takes none.
        approvals: the calls that wait for a person.
    """

    def __init__(
        self, turns: TurnRunner | DurableTurns, slots: Slots, approvals: Approvals
    ) -> None:
        self._turns = turns
        self._is_durable = isinstance(turns, DurableTurns)
        self._slots = slots
        self._approvals = approvals
        self._runs: defaultdict[str, set[Run]] = defaultdict(set)
        self._cancelling: set[asyncio.Task[None]] = set()

    def start(self, session_id: str, owner: str, message: str) -> Run:
        """Start a turn, to be read at once.

        Raises:
            ProblemError: the message is too long (413), or too many are under way (503).
        """
        if len(message) > MAX_MESSAGE:
            detail = f"A message has at most {MAX_MESSAGE} characters; this one has {len(message)}."
            raise ProblemError(413, "message_too_long", detail)
        if not self._is_durable:
            self._slots.take()
        with in_session(session_id):
            run = Run(self._turns.run_turn(session_id, owner, message))
        self._runs[session_id].add(run)
        run.task.add_done_callback(self._forget(session_id, run))
        return run

    @contextmanager
    def read(self, session_id: str, grace: float) -> Generator[None]:
        """Read all turns of a session along: they go on during the block."""
        with ExitStack() as stack:
            for run in tuple(self._runs.get(session_id, ())):
                stack.enter_context(run.read(grace))
            yield

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> None:
        """Say yes or no to a call that waits for it.

        Raises:
            ProblemError: none of this id waits: in this process, unless turns are durable (404).
        """
        if isinstance(self._turns, DurableTurns):
            is_answered = await self._turns.answer(session_id, call_id, decision)
        else:
            is_answered = self._approvals.answer(session_id, call_id, decision)
        if not is_answered:
            detail = "No such call waits for an approval (any more)."
            raise ProblemError(404, "approval_not_found", detail)

    def cancel(self, session_id: str) -> None:
        """Cancel all turns of a session, wherever they are."""
        runs = self._runs.get(session_id, ())
        for run in runs:
            if not (self._is_durable and run.has_begun):  # else it reads of its own end
                run.task.cancel()
        if self._is_durable or not runs:
            task = asyncio.create_task(self._turns.cancel(session_id))
            self._cancelling.add(task)
            task.add_done_callback(self._cancelled)

    async def aclose(self) -> None:
        """Cancel all turns, and wait until each is written down as such; durable ones go on."""
        tasks = [run.task for runs in self._runs.values() for run in runs]
        for task in tasks:
            task.cancel()
        tasks += self._cancelling
        if tasks:
            await asyncio.wait(tasks)

    def _cancelled(self, task: asyncio.Task[None]) -> None:
        self._cancelling.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a turn could not be cancelled: %s", error, exc_info=error)

    def _forget(self, session_id: str, run: Run) -> Callable[[asyncio.Task[None]], None]:
        def forget(task: asyncio.Task[None]) -> None:
            if not self._is_durable:
                self._slots.give_back()
            self._runs[session_id].discard(run)
            if not self._runs[session_id]:
                del self._runs[session_id]
            if not task.cancelled():
                task.exception()  # is raised to whoever reads; there may be nobody left

        return forget

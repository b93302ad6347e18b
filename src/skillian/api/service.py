"""The parts of the service that the routes share, and the turns that its clients read."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from skillian.api.comparisons import Comparisons
from skillian.api.limits import Slots
from skillian.api.problems import ProblemError
from skillian.api.runs import Runs
from skillian.api.saved import SavedComparisons
from skillian.chat.stateless import Recall
from skillian.chat.turns import StreamingAgent, Turns, TurnWork
from skillian.data.services import DataServices
from skillian.settings import Settings
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import in_session
from skillian.storage import SessionStore, TurnEvent
from skillian.uploads.store import UploadStore
from tinyagent import Decision

logger = logging.getLogger("skillian")

MAX_MESSAGE = 20_000
"""The maximum length of a message, in characters."""


class OpenTurn:
    """A turn whose events are read in this process, and the events so far.

    Reading continues while there is a reader, and some seconds longer. For what happens to the turn
    when reading ends, see `Turns.run`.

    Args:
        source: The events of the turn.
    """

    def __init__(self, source: AsyncGenerator[TurnEvent, None]) -> None:
        self._source = source
        self._events: list[TurnEvent] = []
        self._news = asyncio.Event()
        self._ended = False
        self._readers = 0
        self._timer: asyncio.TimerHandle | None = None
        self.task = asyncio.create_task(self._read())

    @property
    def has_begun(self) -> bool:
        """Whether its question is stored."""
        return bool(self._events)

    async def first(self) -> TurnEvent | None:
        """The first event; None if the turn was cancelled before it. Raises as `events` does."""
        async with aclosing(self.events()) as events:
            return await anext(events, None)

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        """All events from the first on, until the turn ends; raises the error that ended it."""
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
        """Keep the turn open during the block, and `grace` seconds after the last reader."""
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

    async def _read(self) -> None:
        try:
            async with aclosing(self._source) as events:
                async for event in events:
                    self._events.append(event)
                    self._wake_readers()
        finally:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            self._wake_readers()

    def _wake_readers(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class OpenTurns:
    """All open turns of this process.

    Args:
        turns: Runs them.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._open: defaultdict[str, set[OpenTurn]] = defaultdict(set)
        self._cancelling: set[asyncio.Task[None]] = set()

    def start(self, session_id: str, owner: str, message: str) -> OpenTurn:
        """Start a turn; the caller must read it at once.

        Raises:
            ProblemError: The message is too long (413).
        """
        if len(message) > MAX_MESSAGE:
            detail = f"A message has at most {MAX_MESSAGE} characters; this one has {len(message)}."
            raise ProblemError(413, "message_too_long", detail)
        with in_session(session_id):
            turn = OpenTurn(self._turns.run(session_id, owner, message))
        self._open[session_id].add(turn)
        turn.task.add_done_callback(self._forget(session_id, turn))
        return turn

    @contextmanager
    def read(self, session_id: str, grace: float) -> Generator[None]:
        """Keep all open turns of a session open during the block."""
        with ExitStack() as stack:
            for turn in tuple(self._open.get(session_id, ())):
                stack.enter_context(turn.read(grace))
            yield

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> None:
        """Approve or refuse a call that waits for it.

        Raises:
            ProblemError: No call of this id waits (404).
        """
        if not await self._turns.answer(session_id, call_id, decision):
            raise ProblemError(404, "approval_not_found", "No such call is waiting for approval.")

    def cancel(self, session_id: str) -> None:
        """Cancel all turns of a session, in all processes."""
        for turn in self._open.get(session_id, ()):
            if not turn.has_begun:  # the others read the event that ends them
                turn.task.cancel()
        task = asyncio.create_task(self._turns.cancel(session_id))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelled)

    async def aclose(self) -> None:
        """Stop reading all turns, and wait until this has taken effect."""
        tasks = [turn.task for turns in self._open.values() for turn in turns]
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

    def _forget(self, session_id: str, turn: OpenTurn) -> Callable[[asyncio.Task[None]], None]:
        def forget(task: asyncio.Task[None]) -> None:
            self._open[session_id].discard(turn)
            if not self._open[session_id]:
                del self._open[session_id]
            if not task.cancelled():
                task.exception()  # raised to the readers; there may be none

        return forget


@dataclass
class Service:
    """One server's parts, open from its start to its end.

    Attributes:
        settings: The server's settings.
        data: The engines for the sources.
        skills: The skills.
        store: Sessions and their messages.
        work: Works on turns.
        slots: The limit on the work in progress.
        turns: The turns that clients of this process wait for.
        comparisons: Comparisons without a model.
        runs: Comparisons in the background, and turns.
        uploads: Uploaded files.
        saved: Saved comparisons.
        recall: Tool results of conversations that their clients keep.
    """

    settings: Settings
    data: DataServices
    skills: SkillRegistry
    store: SessionStore
    work: TurnWork
    slots: Slots
    turns: OpenTurns
    comparisons: Comparisons
    runs: Runs
    uploads: UploadStore
    saved: SavedComparisons
    recall: Recall = field(default_factory=Recall)

    @property
    def agent(self) -> StreamingAgent:
        """The agent that answers; replaced when the values in the sources change."""
        return self.work.agent


async def the_service(request: Request) -> Service:
    """The service that this application serves."""
    service: Service = request.app.state.service
    return service


async def the_owner(request: Request) -> str:
    """The digest of the request's key; empty if there are no keys."""
    owner: str = request.state.owner
    return owner


TheService = Annotated[Service, Depends(the_service)]
TheOwner = Annotated[str, Depends(the_owner)]
SessionId = Annotated[str, Field(max_length=100, examples=["0f8e6c5a3b2d4f7e9a1c0b8d6e4f2a10"])]


class Body(BaseModel):
    """The body of a request; members that are not declared are refused."""

    model_config = ConfigDict(extra="forbid")

"""SessionStore: what was said, and what happened, kept across restarts and processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, select

from skillian.storage.comparisons import ComparisonStore
from skillian.storage.connect import connect
from skillian.storage.database import Database, T, Work
from skillian.storage.errors import SessionBusy, SessionNotFound
from skillian.storage.handed import HANDED_SECONDS, HandedTurn, cancel_turn
from skillian.storage.migrations import migrate
from skillian.storage.records import Draft, JsonObject, Progress, TurnEvent
from skillian.storage.schema import events, sessions
from skillian.storage.sessions import Sessions, record_of
from skillian.storage.turn_rows import (
    Change,
    Messages,
    event_of,
    events_of_turn,
    is_stale,
    last_turn,
    said_messages,
)
from skillian.storage.turns import LEASE_SECONDS, Turn, mark_broken
from skillian.storage.waiting import Waiting

TURN_SECONDS = 600.0
MAX_EVENTS = 1000
"""How many events are read at once."""

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 0.25


@asynccontextmanager
async def open_store(
    url: str, *, lease_seconds: float = LEASE_SECONDS
) -> AsyncGenerator[SessionStore]:
    """The session store in this database, its tables brought up to date.

    Args:
        url: `sqlite:///FILE` or `postgresql://…`.
        lease_seconds: after how long a turn counts as broken whose process is not heard of.

    Raises:
        StoreUrlError: the URL is neither, or a newer skillian has written there.
        StoreUnavailable: the database does not answer.
    """
    database = connect(url)
    try:
        await database.open()
        await migrate(database)
        yield SessionStore(database, lease_seconds)
    finally:
        await database.aclose()


class SessionStore(Sessions):
    """Sessions, their messages and events; any method may raise `StoreUnavailable`.

    `get`, `rename` and `delete` check the owner; the others take the id of a session that was
    got. An id that is not there has no messages and no events.

    Attributes:
        comparisons: Results of comparisons.
    """

    def __init__(self, database: Database, lease_seconds: float) -> None:
        super().__init__(database)
        self.comparisons = ComparisonStore(database)
        self._waiting = Waiting()
        self._lease = lease_seconds
        self._process = uuid4().hex

    async def messages(self, session_id: str) -> list[JsonObject]:
        """What was said, oldest first; of a turn under way, what was asked."""
        said, _ = await self._fresh(
            session_id, lambda connection: said_messages(connection, session_id)
        )
        return said

    async def events(
        self, session_id: str, after: int = 0, limit: int = MAX_EVENTS
    ) -> list[TurnEvent]:
        """The first events with a number above `after`, in order."""
        return list((await self.progress(session_id, after, limit)).events)

    async def events_of(self, session_id: str, turn: int) -> list[TurnEvent]:
        """All events of a turn so far, in order."""
        return list(
            await self._database.read(lambda found: events_of_turn(found, session_id, turn))
        )

    async def progress(self, session_id: str, after: int = 0, limit: int = MAX_EVENTS) -> Progress:
        """The events after a number, and whether a turn is under way that may add more."""
        query = select(events).where(events.c.session_id == session_id, events.c.number > after)
        query = query.order_by(events.c.number).limit(limit)

        def work(connection: Connection) -> tuple[TurnEvent, ...]:
            rows = connection.execute(query)
            return tuple(event_of(row) for row in rows)

        found, last = await self._fresh(session_id, work)
        if last is None or last.state != "running":
            return Progress(found, is_running=False, is_here=False)
        return Progress(found, is_running=True, is_here=last.holder.startswith(self._process))

    @asynccontextmanager
    async def turn(
        self,
        session_id: str,
        messages: Messages = (),
        drafts: Sequence[Draft] = (),
        *,
        seconds: float = TURN_SECONDS,
    ) -> AsyncGenerator[Turn]:
        """Hold the session's turn, across all processes, during the block.

        `messages` and `drafts` open it, stored at the moment in which it is ours. A block that
        ends without `finish` or `break_off` was cancelled, and the turn says so.

        Raises:
            SessionNotFound: there is no such session.
            SessionBusy: the turns in front took longer than `seconds`.
            MessageTooLong: one of the texts is.
        """
        held = Turn(self._database, session_id, self._holder(), self._lease)
        held.on_change = lambda: self._waiting.tell(session_id)
        deadline = asyncio.get_running_loop().time() + seconds
        async with self._waiting.in_line(session_id, seconds):
            keeper: asyncio.Task[None] | None = None
            try:
                await _taken(held, Change(messages, drafts), deadline, seconds)
                keeper = asyncio.create_task(held.keep())
                yield held
            finally:
                if keeper is not None:
                    keeper.cancel()
                    await asyncio.wait([keeper])
                await held.abandon()

    @asynccontextmanager
    async def taken_over(
        self, session_id: str, number: int, is_ours: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[HandedTurn]:
        """Hold a turn that was handed over, or whose process died, as `HandedTurn.take_over` says.

        A block that ends without `finish` or `break_off` leaves it to be taken over again.
        """
        held = HandedTurn(self._database, session_id, self._holder(), HANDED_SECONDS)
        held.on_change = lambda: self._waiting.tell(session_id)
        await held.take_over(number, is_ours)
        keeper = asyncio.create_task(held.keep())
        try:
            yield held
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])

    async def running_turn(self, session_id: str) -> int | None:
        """The number of the session's turn under way."""
        last = await self._database.read(lambda connection: last_turn(connection, session_id))
        return int(last.number) if last is not None and last.state == "running" else None

    async def cancel_turn(self, session_id: str, number: int | None = None) -> int | None:
        """Break off the session's turn under way, whoever holds it; gives its number.

        Args:
            session_id: the session.
            number: only this turn.
        """
        work = partial(cancel_turn, self._database, session_id, number)
        cancelled = await self._database.write(work)
        self._waiting.tell(session_id)
        return cancelled

    def alarm(self, session_id: str) -> asyncio.Event:
        """An event that is set when this process next writes into the session."""
        return self._waiting.alarm(session_id)

    async def export(self, session_id: str) -> JsonObject:
        """All that is shown of a session as one JSON object: `session` and `messages`.

        Raises:
            SessionNotFound: there is no such session.
        """
        rows = await self._rows(select(sessions).where(sessions.c.id == session_id))
        if not rows:
            raise SessionNotFound
        record = record_of(rows[0]).to_dict()
        del record["owner"]  # the digest of a key is nobody's business
        return {"session": record, "messages": await self.messages(session_id)}

    def _holder(self) -> str:
        return f"{self._process}:{uuid4().hex}"

    async def _fresh(self, session_id: str, work: Work[T]) -> tuple[T, Row[Any] | None]:
        """What `work` reads, and the last turn; one whose holder has died is marked first."""

        def look(connection: Connection) -> tuple[T | None, Row[Any] | None]:
            # The turn comes first: of one that has ended, all is read after it.
            last = last_turn(connection, session_id)
            if is_stale(last, self._database.now(connection)):
                return None, last
            return work(connection), last

        while True:
            found, last = await self._database.read(look)
            if found is not None:
                return found, last
            if last is not None:
                await self._database.write(partial(mark_broken, self._database, last))
                self._waiting.tell(session_id)


async def _taken(held: Turn, opening: Change, deadline: float, seconds: float) -> None:
    wait = _FIRST_WAIT
    while not await held.take(opening):
        if asyncio.get_running_loop().time() + wait > deadline:
            raise SessionBusy(seconds)
        await asyncio.sleep(wait)
        wait = min(wait * 1.5, _LONGEST_WAIT)

"""SessionStore: what was said, and what happened, kept across restarts and processes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import Row, Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from skillian.storage.comparisons import ComparisonStore
from skillian.storage.database import Database, as_text
from skillian.storage.errors import SessionBusy, SessionNotFound
from skillian.storage.migrations import migrate
from skillian.storage.records import Draft, JsonObject, Progress, SessionRecord, TurnEvent, as_title
from skillian.storage.schema import events, sessions, turns
from skillian.storage.turn_rows import Change, Messages, is_stale, last_turn, shown_messages
from skillian.storage.turns import LEASE_SECONDS, Turn, mark_broken
from skillian.storage.waiting import Waiting

T = TypeVar("T")

TURN_SECONDS = 600.0
MAX_EVENTS = 1000
"""How many events are read at once."""

_ID = re.compile(r"[0-9a-f]{32}")
_PURGED_AT_ONCE = 100  # so that others can write in between
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
    database = Database(url)
    try:
        await database.open()
        await migrate(database)
        yield SessionStore(database, lease_seconds)
    finally:
        await database.aclose()


class SessionStore:
    """Sessions, their messages and events; any method may raise `StoreUnavailable`.

    `get`, `rename` and `delete` check the owner; the others take the id of a session that was
    got. An id that is not there has no messages and no events.

    Attributes:
        comparisons: Results of comparisons.
    """

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self.comparisons = ComparisonStore(database)
        self._database = database
        self._lease = lease_seconds
        self._process = uuid4().hex
        self._waiting = Waiting()

    async def create(self, owner: str, title: str = "") -> SessionRecord:
        """A new session; without a title the first message will be it."""

        async def work(connection: AsyncConnection) -> SessionRecord:
            now = as_text(await self._database.now(connection))
            record = SessionRecord(uuid4().hex, owner, as_title(title), now, now)
            await connection.execute(insert(sessions), record.to_dict())
            return record

        return await self._database.write(work)

    async def list(self, owner: str, offset: int = 0, limit: int = 50) -> list[SessionRecord]:
        """The owner's sessions, the one used last first."""
        query = select(sessions).where(sessions.c.owner == owner).offset(offset).limit(limit)
        rows = await self._rows(query.order_by(sessions.c.updated.desc(), sessions.c.id))
        return [SessionRecord(**row._mapping) for row in rows]  # noqa: SLF001 - its public name

    async def count(self, owner: str) -> int:
        """How many sessions the owner has."""
        counted = select(func.count()).select_from(sessions).where(sessions.c.owner == owner)
        return int((await self._rows(counted))[0][0])

    async def get(self, owner: str, session_id: str) -> SessionRecord:
        """The owner's session of this id.

        Raises:
            SessionNotFound: there is none, or it is another owner's.
        """
        rows = await self._rows(select(sessions).where(*_owned(owner, session_id)))
        if not rows:
            raise SessionNotFound
        return SessionRecord(**rows[0]._mapping)  # noqa: SLF001 - its public name

    async def rename(self, owner: str, session_id: str, title: str) -> SessionRecord:
        """Give a session another title; raises as `get`."""

        async def work(connection: AsyncConnection) -> int:
            renamed = update(sessions).where(*_owned(owner, session_id))
            return (await connection.execute(renamed.values(title=as_title(title)))).rowcount

        if not await self._database.write(work):
            raise SessionNotFound
        return await self.get(owner, session_id)

    async def delete(self, owner: str, session_id: str) -> None:
        """Delete a session with all that was said; a turn under way is lost. Raises as `get`."""

        async def work(connection: AsyncConnection) -> int:
            gone = await connection.execute(delete(sessions).where(*_owned(owner, session_id)))
            return gone.rowcount

        if not await self._database.write(work):
            raise SessionNotFound
        self._waiting.tell(session_id)

    async def messages(self, session_id: str) -> list[JsonObject]:
        """What was said, oldest first; of a turn under way, what was asked."""
        said, _ = await self._fresh(
            session_id, lambda connection: shown_messages(connection, session_id)
        )
        return said

    async def events(
        self, session_id: str, after: int = 0, limit: int = MAX_EVENTS
    ) -> list[TurnEvent]:
        """The first events with a number above `after`, in order."""
        return list((await self.progress(session_id, after, limit)).events)

    async def progress(
        self, session_id: str, after: int = 0, limit: int = MAX_EVENTS
    ) -> Progress:
        """The events after a number, and whether a turn is under way that may add more."""
        query = select(events).where(events.c.session_id == session_id, events.c.number > after)
        query = query.order_by(events.c.number).limit(limit)

        async def work(connection: AsyncConnection) -> tuple[TurnEvent, ...]:
            rows = await connection.execute(query)
            return tuple(
                TurnEvent(row.number, row.turn, row.type, json.loads(row.body)) for row in rows
            )

        found, last = await self._fresh(session_id, work)
        runs = last is not None and last.state == "running"
        is_here = runs and last is not None and str(last.holder).startswith(self._process)
        return Progress(found, runs, is_here)

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
        held = Turn(self._database, session_id, f"{self._process}:{uuid4().hex}", self._lease)
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
                await held.abandon()

    def alarm(self, session_id: str) -> asyncio.Event:
        """An event that is set when this process next writes into the session."""
        return self._waiting.alarm(session_id)

    async def purge(self, older_than: timedelta) -> int:
        """Delete sessions not used for that long, and expired comparisons; gives how many sessions.

        A session whose turn is under way stays.
        """
        await self.comparisons.purge()
        total, gone = 0, _PURGED_AT_ONCE
        while gone == _PURGED_AT_ONCE:
            gone = await self._database.write(
                lambda connection: self._purge_some(connection, older_than)
            )
            total += gone
        return total

    async def export(self, session_id: str) -> JsonObject:
        """All that is shown of a session as one JSON object: `session` and `messages`.

        Raises:
            SessionNotFound: there is no such session.
        """
        rows = await self._rows(select(sessions).where(sessions.c.id == session_id))
        if not rows:
            raise SessionNotFound
        record = {key: value for key, value in rows[0]._mapping.items() if key != "owner"}  # noqa: SLF001 - its public name
        return {"session": record, "messages": await self.messages(session_id)}

    async def ping(self) -> None:
        """Return if the database answers; raises `StoreUnavailable` otherwise."""
        await self._rows(select(1))

    async def _purge_some(self, connection: AsyncConnection, older_than: timedelta) -> int:
        now = await self._database.now(connection)
        before = as_text(now - older_than)
        runs = select(turns.c.session_id).where(
            turns.c.state == "running", turns.c.lease_until > as_text(now)
        )
        old = select(sessions.c.id).where(sessions.c.updated < before, sessions.c.id.not_in(runs))
        chosen = old.limit(_PURGED_AT_ONCE).scalar_subquery()
        return (await connection.execute(delete(sessions).where(sessions.c.id.in_(chosen)))).rowcount

    async def _fresh(
        self, session_id: str, work: Callable[[AsyncConnection], Awaitable[T]]
    ) -> tuple[T, Row[Any] | None]:
        """What `work` reads, and the last turn; one whose holder has died is marked first."""

        async def look(connection: AsyncConnection) -> tuple[T | None, Row[Any] | None]:
            # The turn comes first: of one that has ended, all is read after it.
            last = await last_turn(connection, session_id)
            if is_stale(last, await self._database.now(connection)):
                return None, last
            return await work(connection), last

        while True:
            found, last = await self._database.read(look)
            if found is not None:
                return found, last
            if last is not None:
                stale = last
                await self._database.write(
                    lambda connection: mark_broken(self._database, connection, stale)
                )
                self._waiting.tell(session_id)

    async def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        async def work(connection: AsyncConnection) -> Sequence[Row[Any]]:
            return (await connection.execute(query)).all()

        return await self._database.read(work)


def _owned(owner: str, session_id: str) -> tuple[Any, ...]:
    # What cannot be an id is not asked for: some texts are refused by some databases.
    known = session_id if _ID.fullmatch(session_id) else ""
    return sessions.c.id == known, sessions.c.owner == owner


async def _taken(held: Turn, opening: Change, deadline: float, seconds: float) -> None:
    wait = _FIRST_WAIT
    while not await held.take(opening):
        if asyncio.get_running_loop().time() + wait > deadline:
            raise SessionBusy(seconds)
        await asyncio.sleep(wait)
        wait = min(wait * 1.5, _LONGEST_WAIT)

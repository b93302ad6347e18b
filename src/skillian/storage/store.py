"""SessionStore: sessions with their messages and events, kept across restarts and processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakSet, WeakValueDictionary

from sqlalchemy import Connection, Row, make_url, select
from sqlalchemy.exc import ArgumentError

from skillian.storage.comparisons import ComparisonStore
from skillian.storage.database import Database, PostgresDatabase, SqliteDatabase, T, Work
from skillian.storage.errors import SessionBusy, SessionNotFound, StoreUrlError
from skillian.storage.jobs import JobStore
from skillian.storage.leases import LEASE_SECONDS, UNTIL_TAKEN_OVER, Leases
from skillian.storage.saved import SavedStore
from skillian.storage.schema import events, migrate, sessions
from skillian.storage.sessions import Sessions, record_of
from skillian.storage.turn_rows import (
    Change,
    Draft,
    JsonObject,
    Messages,
    SessionProgress,
    TurnEvent,
    event_of,
    events_of_turn,
    last_turn,
    readable_messages,
)
from skillian.storage.turns import (
    HANDED_OVER_SECONDS,
    HeldTurn,
    cancel_turn,
    mark_broken,
)


class Waiting:
    """Queues and alarms by session; a session that nobody waits for takes no room."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._alarms: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    @asynccontextmanager
    async def in_line(self, session_id: str, seconds: float) -> AsyncGenerator[None]:
        """Hold the session among the tasks of this process, first come first served.

        Raises:
            SessionBusy: The tasks ahead took longer than `seconds`.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        try:
            async with asyncio.timeout(seconds):
                await lock.acquire()
        except TimeoutError:
            raise SessionBusy(seconds) from None
        try:
            yield
        finally:
            lock.release()

    def alarm(self, session_id: str) -> asyncio.Event:
        """An event that is set when this process next changes the session."""
        return self._alarms.setdefault(session_id, asyncio.Event())

    def notify(self, session_id: str) -> None:
        """Set the alarm of a session that has changed."""
        alarm = self._alarms.pop(session_id, None)
        if alarm is not None:
            alarm.set()


TURN_SECONDS = 600.0
MAX_EVENTS = 1000
"""The maximum number of events that one query reads."""

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 0.25


@asynccontextmanager
async def open_store(
    url: str, *, lease_seconds: float = LEASE_SECONDS
) -> AsyncGenerator[SessionStore]:
    """The session store in this database, its tables brought up to date.

    Args:
        url: `sqlite:///FILE` or `postgresql://…`.
        lease_seconds: After how long without a write a turn counts as broken.

    Raises:
        StoreUrlError: The URL is neither, or a newer version of skillian has written there.
        StoreUnavailable: The database does not answer.
    """
    database = connect(url)
    try:
        await database.open()
        await migrate(database)
        yield SessionStore(database, lease_seconds)
    finally:
        await database.aclose()


def connect(url: str) -> Database:
    """The database at this URL, before its first use.

    Args:
        url: `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…`.

    Raises:
        StoreUrlError: It is neither.
        StoreUnavailable: The file cannot be opened.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = make_url("none://")
    kind = parsed.get_backend_name()
    if kind in {"postgresql", "postgres"}:
        return PostgresDatabase(parsed)
    if kind == "sqlite" and parsed.database and not parsed.query:
        return SqliteDatabase(parsed)
    raise StoreUrlError(
        "the session store's URL is not one of sqlite:///FILE, without options, and"
        " postgresql://USER:PASSWORD@HOST/DATABASE; set DATABASE_URL to one of these"
    )


class SessionStore(Sessions):
    """Sessions, their messages and events; any method may raise `StoreUnavailable`.

    `get`, `rename` and `delete` check the owner; the other methods take the id of a session that
    was checked before. An unknown id has no messages and no events.

    Attributes:
        comparisons: Results of comparisons.
        jobs: Comparisons in the background.
    """

    def __init__(self, database: Database, lease_seconds: float) -> None:
        super().__init__(database)
        self.comparisons = ComparisonStore(database)
        self.jobs = JobStore(database)
        self.saved = SavedStore(database)
        self._waiting = Waiting()
        self._lease = lease_seconds
        self._leases = Leases(lease_seconds)
        self._process = uuid4().hex
        self._held: WeakSet[HeldTurn] = WeakSet()

    async def messages(self, session_id: str) -> list[JsonObject]:
        """The messages, oldest first; of a running turn, only its question."""
        value, _ = await self._fresh(
            session_id, lambda connection: readable_messages(connection, session_id)
        )
        return value

    async def events(
        self, session_id: str, after: int = 0, limit: int = MAX_EVENTS
    ) -> list[TurnEvent]:
        """The first events with a number above `after`, in order."""
        return list((await self.progress(session_id, after, limit)).events)

    async def events_of(self, session_id: str, turn: int) -> list[TurnEvent]:
        """All events of a turn so far, in order."""
        return list(
            await self._database.read(
                lambda connection: events_of_turn(connection, session_id, turn)
            )
        )

    async def progress(
        self, session_id: str, after: int = 0, limit: int = MAX_EVENTS
    ) -> SessionProgress:
        """The events after a number, and whether a running turn may add more."""
        query = select(events).where(events.c.session_id == session_id, events.c.number > after)
        query = query.order_by(events.c.number).limit(limit)

        def work(connection: Connection) -> tuple[TurnEvent, ...]:
            return tuple(event_of(row) for row in connection.execute(query))

        value, last = await self._fresh(session_id, work)
        if last is None or last.state != "running":
            return SessionProgress(value, is_running=False, is_here=False)
        return SessionProgress(
            value, is_running=True, is_here=last.holder.startswith(self._process)
        )

    @asynccontextmanager
    async def turn(
        self,
        session_id: str,
        messages: Messages = (),
        drafts: Sequence[Draft] = (),
        *,
        seconds: float = TURN_SECONDS,
    ) -> AsyncGenerator[HeldTurn]:
        """Hold the session's turn, across all processes, during the block.

        `messages` and `drafts` open it; they are stored in the transaction that takes it. A block
        that ends without `finish`, `break_off` or `hand_over` cancels the turn.

        Raises:
            SessionNotFound: There is no such session.
            SessionBusy: The turns ahead of it took longer than `seconds`.
            MessageTooLong: One of the texts is too long.
        """
        turn = self._new_turn(session_id, self._lease)
        deadline = asyncio.get_running_loop().time() + seconds
        async with self._waiting.in_line(session_id, seconds):
            keeper: asyncio.Task[None] | None = None
            try:
                await _taken(turn, Change(messages, drafts), deadline, seconds)
                keeper = asyncio.create_task(turn.keep())
                yield turn
            finally:
                if keeper is not None:
                    keeper.cancel()
                    await asyncio.wait([keeper])
                await turn.abandon()

    @asynccontextmanager
    async def taken_over(
        self, session_id: str, number: int, is_ours: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[HeldTurn]:
        """Hold a turn that was handed over, or whose process died, as `HeldTurn.take_over` does.

        A block that ends without `finish` or `break_off` leaves it to be taken over again.
        """
        turn = self._new_turn(session_id, HANDED_OVER_SECONDS, UNTIL_TAKEN_OVER)
        await turn.take_over(number, is_ours)
        keeper = asyncio.create_task(turn.keep())
        try:
            yield turn
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])

    async def running_turn(self, session_id: str) -> int | None:
        """The number of the session's running turn, if there is one."""
        last = await self._database.read(lambda connection: last_turn(connection, session_id))
        return int(last.number) if last is not None and last.state == "running" else None

    async def cancel_turn(self, session_id: str, number: int | None = None) -> int | None:
        """Break off the session's running turn, whichever process holds it; returns its number.

        Its holder stops immediately in this process, and within seconds in another one.

        Args:
            session_id: The session.
            number: Only this turn.
        """
        work = partial(cancel_turn, self._database, session_id, number)
        cancelled = await self._database.write(work)
        if cancelled is not None:
            self._stop(session_id)
        return cancelled

    async def delete(self, owner: str, session_id: str) -> None:
        """Delete a session with its messages; a running turn stops. Raises as `get` does."""
        await super().delete(owner, session_id)
        self._stop(session_id)

    def alarm(self, session_id: str) -> asyncio.Event:
        """An event that is set when this process next writes into the session."""
        return self._waiting.alarm(session_id)

    async def export(self, session_id: str) -> JsonObject:
        """All that is shown of a session as one JSON object: `session` and `messages`.

        Raises:
            SessionNotFound: There is no such session.
        """
        rows = await self._rows(select(sessions).where(sessions.c.id == session_id))
        if not rows:
            raise SessionNotFound
        record = record_of(rows[0]).to_dict()
        del record["owner"]  # the digest of a key is not exported
        return {"session": record, "messages": await self.messages(session_id)}

    def _new_turn(self, session_id: str, lease: float, kind: str = "") -> HeldTurn:
        holder = f"{self._process}:{uuid4().hex}{kind}"
        turn = HeldTurn(self._database, self._leases, session_id, holder, lease)
        turn.on_change = lambda: self._waiting.notify(session_id)
        self._held.add(turn)
        return turn

    def _stop(self, session_id: str) -> None:
        """Notify this process's holders and readers of the session's turn that it has ended."""
        for turn in [turn for turn in self._held if turn.session_id == session_id and turn.number]:
            turn.lose()
        self._waiting.notify(session_id)

    async def _fresh(self, session_id: str, work: Work[T]) -> tuple[T, Row[Any] | None]:
        """What `work` reads, and the last turn; a turn whose holder has died is marked first."""

        def look(connection: Connection) -> tuple[T | None, Row[Any] | None]:
            # The turn comes first: everything about a turn that has ended is read after its end.
            last = last_turn(connection, session_id)
            if self._leases.is_over(last, self._database.now(connection)):
                return None, last
            return work(connection), last

        while True:
            value, last = await self._database.read(look)
            if value is not None:
                return value, last
            if last is not None:
                await self._database.write(partial(mark_broken, self._database, last))
                self._waiting.notify(session_id)


async def _taken(turn: HeldTurn, opening: Change, deadline: float, seconds: float) -> None:
    wait = _FIRST_WAIT
    while not await turn.take(opening):
        if asyncio.get_running_loop().time() + wait > deadline:
            raise SessionBusy(seconds)
        await asyncio.sleep(wait)
        wait = min(wait * 1.5, _LONGEST_WAIT)

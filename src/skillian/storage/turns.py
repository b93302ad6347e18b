"""A turn of a session: held by one process at a time, under a lease that its writes renew.

Every write of a turn renews its lease by compare-and-set, in the transaction of what it writes.
A process that was taken for dead but still works cannot write into a turn that another has ended
or taken over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from skillian.storage.database import Database, as_text
from skillian.storage.errors import SessionNotFound, StoreUnavailable, TurnLost
from skillian.storage.leases import HANDED_OVER, LEASE_SECONDS, Leases
from skillian.storage.schema import messages, sessions, turns
from skillian.storage.sessions import as_title
from skillian.storage.turn_rows import (
    CANCELLED,
    DIED,
    Change,
    Draft,
    JsonObject,
    Messages,
    TurnEvent,
    TurnKey,
    add,
    broken,
    change,
    events_of_turn,
    last_turn,
    pass_on,
    shown_messages,
)

HANDED_OVER_SECONDS = 8 * 86400.0
"""How long a turn waits to be taken over, or for an answer; after that it counts as broken."""

HISTORY_TURNS = 100
"""How many turns before it a turn reads, so that those of a long session cost no more."""

_RENEWED_AFTER = 0.3  # of the lease, but of no more than LEASE_SECONDS
_AGAIN_SECONDS = 0.5


class HeldTurn:
    """A turn that this process may write into, from `take` or `take_over` until it ends.

    Made by `SessionStore.turn` and `SessionStore.taken_over`.

    Attributes:
        session_id: Whose turn it is.
        number: Which turn of the session it is, from 1; 0 before it is taken.
        question: Its message.
        history: The messages of the `HISTORY_TURNS` turns before it.
        stored: The events of it that were stored when it was taken or taken over.
        messages_stored: The number of its messages stored then, without its question.
        is_lost: Whether another process has taken or ended it: it can no longer be written.
        on_lost: Called when it is lost.
        on_change: Called when something was written.
    """

    def __init__(
        self, database: Database, leases: Leases, session_id: str, holder: str, lease: float
    ) -> None:
        self.number = 0
        self.question = ""
        self.history: list[JsonObject] = []
        self.stored: tuple[TurnEvent, ...] = ()
        self.messages_stored = 0
        self.is_lost = False
        self.on_lost: Callable[[], object] = lambda: None
        self.on_change: Callable[[], object] = lambda: None
        self._database = database
        self._leases = leases
        self.session_id = session_id
        self._holder = holder
        self._lease = timedelta(seconds=lease)
        self._has_ended = False
        self._renewed = 0.0

    async def take(self, opening: Change) -> bool:
        """Begin the turn with what opens it; False while another turn runs.

        Raises:
            SessionNotFound: There is no such session.
            MessageTooLong: One of the texts is too long.
        """
        self._renewed = monotonic()
        is_taken = await self._database.write(lambda connection: self._take(connection, opening))
        if is_taken:
            self.on_change()
        return is_taken

    async def take_over(self, number: int, is_ours: Callable[[], Awaitable[bool]]) -> None:
        """Hold a turn that another holder has left; that holder cannot write into it any more.

        Args:
            number: Which turn of the session.
            is_ours: Whether the work on it belongs to this process. It is called between reading
                the holder and replacing it, so that a process that lost the work in between
                cannot take the turn.

        Raises:
            TurnLost: It has ended, or the work on it belongs to another process.
        """
        while True:
            row = await self._database.read(lambda connection: self._running(connection, number))
            if row is None or not await is_ours():
                raise TurnLost
            self._renewed = monotonic()
            if await self._database.write(partial(self._seize, row)):
                return

    async def write(
        self, added: Messages = (), drafts: Sequence[Draft] = ()
    ) -> tuple[TurnEvent, ...]:
        """Add messages and events, all or none; returns the events with their numbers.

        Messages other than a user's are shown when the turn is done.

        Raises:
            TurnLost: The turn is no longer ours.
            MessageTooLong: One of the texts is too long.
        """
        return await self._change(Change(added, drafts))

    async def finish(
        self, added: Messages = (), drafts: Sequence[Draft] = ()
    ) -> tuple[TurnEvent, ...]:
        """End the turn with its last messages and events; all of it is shown from now on."""
        return await self._change(Change(added, (*drafts, Draft("turn_ended", {})), "done"))

    async def break_off(self, kind: str, reason: str) -> tuple[TurnEvent, ...]:
        """End the turn without an answer; only its question and `reason` are shown."""
        return await self._change(broken(kind, reason))

    async def abandon(self) -> None:
        """Break the turn off as cancelled, unless it has ended or was never taken."""
        if self.number and not self._has_ended:
            # If this cannot be written, the turn counts as broken when its lease ends.
            with suppress(TurnLost, StoreUnavailable):
                await self.break_off("cancelled", CANCELLED)

    async def hand_over(self, seconds: float) -> None:
        """Leave the turn to whichever process takes it over within this many seconds."""

        def work(connection: Connection) -> bool:
            until = as_text(self._database.now(connection) + timedelta(seconds=seconds))
            return pass_on(connection, self._key, f"{HANDED_OVER}{self._holder}", until)

        # If it cannot be passed on, it has been taken over already.
        await self._database.write(work)
        self._has_ended = True

    async def keep(self) -> None:
        """Renew the lease until cancelled, or until the turn is lost."""
        lease = self._lease.total_seconds()
        while not (self.is_lost or self._has_ended):
            due = self._renewed + min(lease, LEASE_SECONDS) * _RENEWED_AFTER - monotonic()
            if due > 0:  # other writes renew it too
                await asyncio.sleep(due)
                continue
            try:
                await self._change(Change())
            except TurnLost:
                return
            except StoreUnavailable:
                if monotonic() > self._renewed + lease:
                    self.lose()
                await asyncio.sleep(_AGAIN_SECONDS)

    def lose(self) -> None:
        """Note that the turn belongs to this process no more, unless it has ended."""
        if not (self.is_lost or self._has_ended):
            self.is_lost = True
            self.on_lost()

    def _take(self, connection: Connection, opening: Change) -> bool:
        # The lock makes concurrent processes see each other's turns.
        query = select(sessions.c.title).where(sessions.c.id == self.session_id)
        title = connection.scalar(query.with_for_update())
        if title is None:
            raise SessionNotFound
        before = last_turn(connection, self.session_id)
        now = self._database.now(connection)
        if before is not None and self._leases.is_over(before, now):
            mark_broken(self._database, before, connection)
            before = last_turn(connection, self.session_id)
        if before is not None and before.state == "running":
            return False
        self.number = 1 if before is None else before.number + 1
        self.history = self._before(connection)
        last_message, last_event = (
            (0, 0) if before is None else (before.last_message, before.last_event)
        )
        last = (last_message + len(opening.messages), last_event + len(opening.drafts))
        row = {
            "session_id": self.session_id,
            "number": self.number,
            "state": "running",
            "holder": self._holder,
            "lease_until": as_text(now + self._lease),
            "last_message": last[0],
            "last_event": last[1],
        }
        connection.execute(insert(turns), row)
        self.stored = add(connection, self._key, opening, last)
        self.question = next(
            (each["content"] for each in opening.messages if each["role"] == "user"), ""
        )
        touched = update(sessions).where(sessions.c.id == self.session_id)
        connection.execute(
            touched.values(updated=as_text(now), title=title or as_title(self.question))
        )
        return True

    def _running(self, connection: Connection, number: int) -> Row[Any] | None:
        """The row of this turn while it runs."""
        query = select(turns).where(
            turns.c.session_id == self.session_id,
            turns.c.number == number,
            turns.c.state == "running",
        )
        return connection.execute(query).one_or_none()

    def _seize(self, row: Row[Any], connection: Connection) -> bool:
        until = as_text(self._database.now(connection) + self._lease)
        before = TurnKey(self.session_id, row.number, row.holder)
        if not pass_on(connection, before, self._holder, until):
            return False  # it has ended, or another process was first
        self.number = row.number
        self.stored = events_of_turn(connection, self.session_id, self.number)
        self.question = str(self.stored[0].data["message"])
        query = select(messages.c.shown).where(
            messages.c.session_id == self.session_id, messages.c.turn == self.number
        )
        flags = connection.scalars(query).all()
        # Of a running turn only the question is shown.
        self.messages_stored = len(flags) - sum(flags)
        visible = self._before(connection)
        self.history = visible[: len(visible) - sum(flags)]
        return True

    def _before(self, connection: Connection) -> list[JsonObject]:
        return shown_messages(connection, self.session_id, self.number - HISTORY_TURNS)

    async def _change(self, what: Change) -> tuple[TurnEvent, ...]:
        def work(connection: Connection) -> tuple[TurnEvent, ...]:
            now = self._database.now(connection)
            return change(connection, self._key, what, now, now + self._lease)

        began = monotonic()
        try:
            lasting = bool(what.messages) or what.ends
            written = await self._database.write(work, lasting=lasting)
        except TurnLost:
            self.lose()
            raise
        self._renewed = began
        self._has_ended = self._has_ended or what.ends
        if written:
            self.on_change()
        return written

    @property
    def _key(self) -> TurnKey:
        return TurnKey(self.session_id, self.number, self._holder)


def mark_broken(database: Database, turn: Row[Any], connection: Connection) -> None:
    """End a turn whose holder has died, unless it was renewed since `turn` was read."""
    _lock_session(connection, turn.session_id)
    query = select(turns.c.lease_until).where(
        turns.c.session_id == turn.session_id, turns.c.number == turn.number
    )
    if connection.scalar(query.with_for_update()) != turn.lease_until:
        return
    key = TurnKey(turn.session_id, turn.number, turn.holder)
    now = database.now(connection)
    with suppress(TurnLost):  # it has ended in the meantime
        change(connection, key, broken("died", DIED), now, now)


def cancel_turn(
    database: Database, session_id: str, number: int | None, connection: Connection
) -> int | None:
    """Break off the session's running turn, whichever process holds it; returns its number.

    Args:
        database: Whose clock counts.
        session_id: The session.
        number: Only this turn; None for any.
        connection: To the database.
    """
    _lock_session(connection, session_id)
    last = last_turn(connection, session_id)
    if last is None or last.state != "running" or number not in (None, last.number):
        return None
    now = database.now(connection)
    key = TurnKey(session_id, last.number, last.holder)
    change(connection, key, broken("cancelled", CANCELLED), now, now)
    return int(last.number)


def _lock_session(connection: Connection, session_id: str) -> None:
    """Lock the session's row, always before a turn's: `change` does the same."""
    connection.execute(select(sessions.c.id).where(sessions.c.id == session_id).with_for_update())

"""A turn of a session: held by one process at a time, under a lease that it keeps renewing.

Every write of a turn renews its lease by compare-and-set, in the transaction of what it writes.
So a process that was thought dead and was not cannot write into a turn that others have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from skillian.storage.database import Database, as_text
from skillian.storage.errors import SessionNotFound, StoreUnavailable, TurnLost
from skillian.storage.records import Draft, JsonObject, TurnEvent, as_title
from skillian.storage.schema import sessions, turns
from skillian.storage.turn_rows import (
    CANCELLED,
    DIED,
    Change,
    Held,
    Messages,
    add,
    broken,
    change,
    is_stale,
    last_turn,
    pass_on,
    shown_messages,
)

LEASE_SECONDS = 10.0
_RENEWED_AFTER = 0.3  # of the lease, but of no more than LEASE_SECONDS
_AGAIN_SECONDS = 0.5


class Turn:
    """One turn, from `take` to `finish` or `break_off`; made by `SessionStore.turn`.

    Attributes:
        number: Which turn of the session it is, from 1.
        history: The messages before it.
        opened: The events that were stored when it was taken.
        is_lost: Whether it was taken away: nothing can be written any more.
        on_lost: Called when that shows.
        on_change: Called when something was written.
    """

    def __init__(self, database: Database, session_id: str, holder: str, lease: float) -> None:
        self.number = 0
        self.history: list[JsonObject] = []
        self.opened: tuple[TurnEvent, ...] = ()
        self.is_lost = False
        self.on_lost: Callable[[], object] = lambda: None
        self.on_change: Callable[[], object] = lambda: None
        self._database = database
        self._session_id = session_id
        self._holder = holder
        self._lease = timedelta(seconds=lease)
        self._has_ended = False
        self._renewed = 0.0

    async def take(self, opening: Change) -> bool:
        """Begin the turn with what opens it; false while another one runs.

        Raises:
            SessionNotFound: there is no such session.
            MessageTooLong: one of the texts is.
        """
        self._renewed = monotonic()
        taken = await self._database.write(lambda connection: self._take(connection, opening))
        if taken:
            self.on_change()
        return taken

    async def write(
        self, added: Messages = (), drafts: Sequence[Draft] = ()
    ) -> tuple[TurnEvent, ...]:
        """Add messages and events, all or none; gives the events with their numbers.

        Messages other than a user's are shown when the turn is done.

        Raises:
            TurnLost: the turn is no longer ours.
            MessageTooLong: one of the texts is.
        """
        return await self._change(Change(added, drafts))

    async def finish(
        self, added: Messages = (), drafts: Sequence[Draft] = ()
    ) -> tuple[TurnEvent, ...]:
        """End the turn with its last messages and events; all of it is shown from now on."""
        return await self._change(Change(added, (*drafts, Draft("turn_ended", {})), "done"))

    async def break_off(self, kind: str, reason: str) -> tuple[TurnEvent, ...]:
        """End the turn without an answer: what was asked and `reason` are all that is shown."""
        return await self._change(broken(kind, reason))

    async def abandon(self) -> None:
        """Break the turn off as cancelled, unless it has ended or was never taken."""
        if self.number and not self._has_ended:
            # Where it cannot be told, others see it when the lease ends.
            with suppress(TurnLost, StoreUnavailable):
                await self.break_off("cancelled", CANCELLED)

    async def hand_over(self, seconds: float) -> None:
        """Leave the turn to whoever takes it over within so many seconds."""

        def work(connection: Connection) -> bool:
            until = as_text(self._database.now(connection) + timedelta(seconds=seconds))
            return pass_on(connection, self._held, f"handed:{self._holder}", until)

        # Where it cannot be passed on, it has been taken over already.
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
                    self._lose()
                await asyncio.sleep(_AGAIN_SECONDS)

    def _take(self, connection: Connection, opening: Change) -> bool:
        # The lock makes those who come at once see each other.
        query = select(sessions.c.title).where(sessions.c.id == self._session_id)
        title = connection.scalar(query.with_for_update())
        if title is None:
            raise SessionNotFound
        before = last_turn(connection, self._session_id)
        now = self._database.now(connection)
        if before is not None and is_stale(before, now):
            mark_broken(self._database, before, connection)
            before = last_turn(connection, self._session_id)
        if before is not None and before.state == "running":
            return False
        self.history = shown_messages(connection, self._session_id)
        self.number = 1 if before is None else before.number + 1
        messages, happened = (0, 0) if before is None else (before.last_message, before.last_event)
        last = (messages + len(opening.messages), happened + len(opening.drafts))
        row = {
            "session_id": self._session_id,
            "number": self.number,
            "state": "running",
            "holder": self._holder,
            "lease_until": as_text(now + self._lease),
            "last_message": last[0],
            "last_event": last[1],
        }
        connection.execute(insert(turns), row)
        self.opened = add(connection, self._held, opening, last)
        said = next((one["content"] for one in opening.messages if one["role"] == "user"), "")
        touched = update(sessions).where(sessions.c.id == self._session_id)
        connection.execute(touched.values(updated=as_text(now), title=title or as_title(said)))
        return True

    async def _change(self, what: Change) -> tuple[TurnEvent, ...]:
        def work(connection: Connection) -> tuple[TurnEvent, ...]:
            now = self._database.now(connection)
            return change(connection, self._held, what, now, now + self._lease)

        asked = monotonic()
        try:
            lasting = bool(what.messages) or what.ends
            written = await self._database.write(work, lasting=lasting)
        except TurnLost:
            self._lose()
            raise
        self._renewed = asked
        self._has_ended = self._has_ended or what.ends
        if written:
            self.on_change()
        return written

    @property
    def _held(self) -> Held:
        return Held(self._session_id, self.number, self._holder)

    def _lose(self) -> None:
        if not (self.is_lost or self._has_ended):
            self.is_lost = True
            self.on_lost()


def mark_broken(database: Database, turn: Row[Any], connection: Connection) -> None:
    """End a turn whose holder has died, unless it has been heard of since `turn` was read."""
    # As `change` does: first the session, then the turn.
    connection.execute(
        select(sessions.c.id).where(sessions.c.id == turn.session_id).with_for_update()
    )
    query = select(turns.c.lease_until).where(
        turns.c.session_id == turn.session_id, turns.c.number == turn.number
    )
    if connection.scalar(query.with_for_update()) != turn.lease_until:
        return
    held = Held(turn.session_id, turn.number, turn.holder)
    now = database.now(connection)
    with suppress(TurnLost):  # it has ended by itself
        change(connection, held, broken("died", DIED), now, now)

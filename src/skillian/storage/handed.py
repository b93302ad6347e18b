"""A turn that changes hands: it goes on elsewhere when the process that worked on it dies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Any

from sqlalchemy import Connection, Row, select

from skillian.storage.database import Database, as_text
from skillian.storage.errors import TurnLost
from skillian.storage.records import JsonObject, TurnEvent
from skillian.storage.schema import messages, sessions, turns
from skillian.storage.turn_rows import (
    CANCELLED,
    Held,
    broken,
    change,
    events_of_turn,
    last_turn,
    pass_on,
    shown_messages,
)
from skillian.storage.turns import Turn

HANDED_SECONDS = 8 * 86400.0
"""How long a turn waits to be taken over, or for an answer; then it counts as broken."""


class HandedTurn(Turn):
    """A turn as it was left by whoever held it before.

    Attributes:
        question: Its message.
        stored: Its events so far.
        kept: How many messages of it are stored beside its question.
    """

    question = ""
    stored: tuple[TurnEvent, ...] = ()
    kept = 0

    async def take_over(self, number: int, is_ours: Callable[[], Awaitable[bool]]) -> None:
        """Hold the turn from now on; whoever held it cannot write into it any more.

        Args:
            number: which turn of the session.
            is_ours: whether the work on it is this process's; asked between a look at the turn and
                the take-over, so that who has lost the work meanwhile cannot take the turn.

        Raises:
            TurnLost: it has ended, or is others' work.
        """
        while True:
            seen = await self._database.read(lambda connection: self._holder_of(connection, number))
            if seen is None or not await is_ours():
                raise TurnLost
            self._renewed = monotonic()
            if await self._database.write(partial(self._seize, seen)):
                return

    def _holder_of(self, connection: Connection, number: int) -> Row[Any] | None:
        query = select(turns).where(
            turns.c.session_id == self._session_id,
            turns.c.number == number,
            turns.c.state == "running",
        )
        return connection.execute(query).one_or_none()

    def _seize(self, seen: Row[Any], connection: Connection) -> bool:
        until = as_text(self._database.now(connection) + self._lease)
        before = Held(self._session_id, seen.number, seen.holder)
        if not pass_on(connection, before, self._holder, until):
            return False  # it has ended, or somebody else was first
        self.number = seen.number
        self.stored = events_of_turn(connection, self._session_id, self.number)
        [opened, *_] = self.stored
        self.question = str(opened.data["message"])
        self.history = self._history(connection)
        return True

    def _history(self, connection: Connection) -> list[JsonObject]:
        """What was shown before the turn; sets `kept`."""
        query = select(messages.c.shown).where(
            messages.c.session_id == self._session_id, messages.c.turn == self.number
        )
        of_turn = connection.scalars(query).all()
        self.kept = len(of_turn) - sum(of_turn)  # its question alone is shown yet
        shown = shown_messages(connection, self._session_id)
        return shown[: len(shown) - sum(of_turn)]


def cancel_turn(
    database: Database, session_id: str, number: int | None, connection: Connection
) -> int | None:
    """Break off the session's turn under way, whoever holds it, if it is this; gives its number."""
    # As `change` does: first the session, then the turn.
    connection.execute(select(sessions.c.id).where(sessions.c.id == session_id).with_for_update())
    last = last_turn(connection, session_id)
    if last is None or last.state != "running" or number not in (None, last.number):
        return None
    now = database.now(connection)
    held = Held(session_id, last.number, last.holder)
    change(connection, held, broken("cancelled", CANCELLED), now, now)
    return int(last.number)

"""The rows of turns. The last turn of a session says all there is to know of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from skillian.storage.database import as_text
from skillian.storage.errors import TurnLost
from skillian.storage.records import Draft, JsonObject, TurnEvent, to_json
from skillian.storage.schema import events, messages, sessions, turns

CANCELLED = "This turn was cancelled before it had an answer."
DIED = "This turn was broken off: the process that worked on it ended. Please ask again."

Messages = Sequence[Mapping[str, Any]]

# Runs several times a second in each turn: building it takes longer than running it.
_CHANGE = (
    update(turns)
    .where(turns.c.session_id == bindparam("its_session"))
    .where(turns.c.number == bindparam("its_number"))
    .where(turns.c.holder == bindparam("its_holder"), turns.c.state == "running")
    .values(
        state=bindparam("state"),
        lease_until=bindparam("lease_until"),
        last_message=turns.c.last_message + bindparam("new_messages"),
        last_event=turns.c.last_event + bindparam("new_events"),
    )
    .returning(turns.c.last_message, turns.c.last_event)
)
_ADD_MESSAGES, _ADD_EVENTS = insert(messages), insert(events)


@dataclass(frozen=True, slots=True)
class Held:
    """A running turn and who holds it."""

    session_id: str
    number: int
    holder: str


@dataclass(frozen=True, slots=True)
class Change:
    """What is written into a running turn at once; `state` is the turn's from then on."""

    messages: Messages = ()
    drafts: Sequence[Draft] = ()
    state: str = "running"

    @property
    def ends(self) -> bool:
        """Whether it is the turn's last."""
        return self.state != "running"


def broken(kind: str, reason: str) -> Change:
    """Return the end of a turn that has no answer."""
    said = {"role": "assistant", "content": reason, "broken": True}
    failed = Draft("turn_failed", {"type": kind, "message": reason})
    return Change((said,), (failed, Draft("turn_ended", {})), "broken")


def last_turn(connection: Connection, session_id: str) -> Row[Any] | None:
    """Return the row of the session's last turn."""
    query = select(turns).where(turns.c.session_id == session_id)
    return connection.execute(query.order_by(turns.c.number.desc()).limit(1)).one_or_none()


def is_stale(turn: Row[Any] | None, now: datetime) -> bool:
    """Whether the turn runs, as far as is written, and its holder has not been heard of."""
    return turn is not None and turn.state == "running" and turn.lease_until < as_text(now)


def change(
    connection: Connection, held: Held, what: Change, now: datetime, lease_until: datetime
) -> tuple[TurnEvent, ...]:
    """Write into a running turn and renew its lease; gives the events with their numbers.

    Raises:
        TurnLost: it does not run any more, or somebody else holds it.
        MessageTooLong: one of the texts is.
    """
    if what.ends:  # the session's row is always locked before the turn's
        connection.execute(
            update(sessions).where(sessions.c.id == held.session_id).values(updated=as_text(now))
        )
    values = {
        "its_session": held.session_id,
        "its_number": held.number,
        "its_holder": held.holder,
        "state": what.state,
        "lease_until": as_text(lease_until),
        "new_messages": len(what.messages),
        "new_events": len(what.drafts),
    }
    last = connection.execute(_CHANGE, values).one_or_none()
    if last is None:
        raise TurnLost
    return add(connection, held, what, (last.last_message, last.last_event))


def pass_on(connection: Connection, held: Held, holder: str, lease_until: str) -> bool:
    """Give a running turn to another holder; false if it does not run or is not held so."""
    passed = (
        update(turns)
        .where(turns.c.session_id == held.session_id, turns.c.number == held.number)
        .where(turns.c.holder == held.holder, turns.c.state == "running")
        .values(holder=holder, lease_until=lease_until)
    )
    return connection.execute(passed).rowcount == 1


def add(
    connection: Connection, held: Held, what: Change, last: tuple[int, int]
) -> tuple[TurnEvent, ...]:
    """Add a change's messages and events; `last` are the numbers of the last of each."""
    of_turn = {"session_id": held.session_id, "turn": held.number}
    first_message, first_event = last[0] - len(what.messages) + 1, last[1] - len(what.drafts) + 1
    if what.messages:
        # A turn that breaks off says so, whatever else of it stays unseen.
        shown = {"shown": int(what.state == "broken")}
        rows = [
            {**of_turn, **shown, "position": number, "body": to_json("the message", message)}
            | ({"shown": 1} if message["role"] == "user" else {})
            for number, message in enumerate(what.messages, first_message)
        ]
        connection.execute(_ADD_MESSAGES, rows)
    if what.drafts:
        rows = [
            {**of_turn, "number": number, "type": one.type, "body": to_json("the event", one.data)}
            for number, one in enumerate(what.drafts, first_event)
        ]
        connection.execute(_ADD_EVENTS, rows)
    return tuple(
        TurnEvent(number, held.number, one.type, dict(one.data))
        for number, one in enumerate(what.drafts, first_event)
    )


def event_of(row: Row[Any]) -> TurnEvent:
    """Return the event that a row of the table is."""
    return TurnEvent(row.number, row.turn, row.type, json.loads(row.body))


def events_of_turn(connection: Connection, session_id: str, turn: int) -> tuple[TurnEvent, ...]:
    """Return all events of a turn so far, in order."""
    query = select(events).where(events.c.session_id == session_id, events.c.turn == turn)
    return tuple(event_of(row) for row in connection.execute(query.order_by(events.c.number)))


def said_messages(connection: Connection, session_id: str) -> list[JsonObject]:
    """Return the same without the parts of messages, which are for the model that made them."""
    shown = shown_messages(connection, session_id)
    return [{key: value for key, value in one.items() if key != "parts"} for one in shown]


def shown_messages(connection: Connection, session_id: str) -> list[JsonObject]:
    """Return what is shown of a session, oldest first: of a turn not done, what was asked."""
    rows = connection.scalars(
        select(messages.c.body)
        .join(
            turns,
            (turns.c.session_id == messages.c.session_id) & (turns.c.number == messages.c.turn),
        )
        .where(messages.c.session_id == session_id)
        .where((messages.c.shown == 1) | (turns.c.state == "done"))
        .order_by(messages.c.position)
    )
    return [json.loads(body) for body in rows]

"""The rows of turns and their values. The row of the last turn holds the session's whole state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from skillian.storage.database import as_text
from skillian.storage.errors import MessageTooLong, TurnLost
from skillian.storage.schema import events, messages, sessions, turns

MAX_BYTES = 4 * 1024 * 1024
"""How large the JSON of one message or event may be."""
CANCELLED = "This turn was cancelled before it had an answer."
DIED = "This turn was broken off: the process that worked on it ended. Please ask again."

JsonObject = dict[str, Any]
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
_LAST_TURN = (
    select(turns)
    .where(turns.c.session_id == bindparam("its_session"))
    .order_by(turns.c.number.desc())
    .limit(1)
)
_SHOWN_MESSAGES = (
    select(messages.c.body)
    .join(
        turns,
        (turns.c.session_id == messages.c.session_id) & (turns.c.number == messages.c.turn),
    )
    .where(messages.c.session_id == bindparam("its_session"))
    .where(messages.c.turn >= bindparam("first_turn"))
    .where((messages.c.shown == 1) | (turns.c.state == "done"))
    .order_by(messages.c.position)
)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event without a number."""

    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """An event of a turn. `number` counts from 1 within the session."""

    number: int
    turn: int
    type: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """The events of a session after a number, and whether more may come.

    `is_here` means that this process holds the running turn.
    """

    events: tuple[TurnEvent, ...]
    is_running: bool
    is_here: bool


@dataclass(frozen=True, slots=True)
class TurnKey:
    """A running turn and its holder."""

    session_id: str
    number: int
    holder: str


@dataclass(frozen=True, slots=True)
class Change:
    """What one write adds to a running turn; `state` is the turn's state afterwards."""

    messages: Messages = ()
    drafts: Sequence[Draft] = ()
    state: str = "running"

    @property
    def ends(self) -> bool:
        """Whether it is the turn's last change."""
        return self.state != "running"


def broken(kind: str, reason: str) -> Change:
    """The change that ends a turn without an answer."""
    message = {"role": "assistant", "content": reason, "broken": True}
    failed = Draft("turn_failed", {"type": kind, "message": reason})
    return Change((message,), (failed, Draft("turn_ended", {})), "broken")


def last_turn(connection: Connection, session_id: str) -> Row[Any] | None:
    """The row of the session's last turn."""
    return connection.execute(_LAST_TURN, {"its_session": session_id}).one_or_none()


def change(
    connection: Connection, key: TurnKey, what: Change, now: datetime, lease_until: datetime
) -> tuple[TurnEvent, ...]:
    """Write into a running turn and renew its lease; returns the events with their numbers.

    Raises:
        TurnLost: It has ended, or another process holds it.
        MessageTooLong: One of the texts is too long.
    """
    if what.ends:  # the session's row is always locked before the turn's
        connection.execute(
            update(sessions).where(sessions.c.id == key.session_id).values(updated=as_text(now))
        )
    values = {
        "its_session": key.session_id,
        "its_number": key.number,
        "its_holder": key.holder,
        "state": what.state,
        "lease_until": as_text(lease_until),
        "new_messages": len(what.messages),
        "new_events": len(what.drafts),
    }
    last = connection.execute(_CHANGE, values).one_or_none()
    if last is None:
        raise TurnLost
    return add(connection, key, what, (last.last_message, last.last_event))


def pass_on(connection: Connection, key: TurnKey, holder: str, lease_until: str) -> bool:
    """Give a running turn to another holder; False if it has ended or has another holder."""
    passed = (
        update(turns)
        .where(turns.c.session_id == key.session_id, turns.c.number == key.number)
        .where(turns.c.holder == key.holder, turns.c.state == "running")
        .values(holder=holder, lease_until=lease_until)
    )
    return connection.execute(passed).rowcount == 1


def add(
    connection: Connection, key: TurnKey, what: Change, last: tuple[int, int]
) -> tuple[TurnEvent, ...]:
    """Add the messages and events of a change; `last` holds the number of the last of each."""
    of_turn = {"session_id": key.session_id, "turn": key.number}
    first_message, first_event = last[0] - len(what.messages) + 1, last[1] - len(what.drafts) + 1
    if what.messages:
        # Always shown: questions, and the message that says why a turn ended without an answer.
        rows = [
            {
                **of_turn,
                "shown": int(what.state == "broken" or message["role"] == "user"),
                "position": number,
                "body": to_json("the message", message),
            }
            for number, message in enumerate(what.messages, first_message)
        ]
        connection.execute(_ADD_MESSAGES, rows)
    if what.drafts:
        rows = [
            {
                **of_turn,
                "number": number,
                "type": draft.type,
                "body": to_json("the event", draft.data),
            }
            for number, draft in enumerate(what.drafts, first_event)
        ]
        connection.execute(_ADD_EVENTS, rows)
    return tuple(
        TurnEvent(number, key.number, draft.type, dict(draft.data))
        for number, draft in enumerate(what.drafts, first_event)
    )


def event_of(row: Row[Any]) -> TurnEvent:
    """The event in a row of the table."""
    return TurnEvent(row.number, row.turn, row.type, json.loads(row.body))


def events_of_turn(connection: Connection, session_id: str, turn: int) -> tuple[TurnEvent, ...]:
    """All events of a turn so far, in order."""
    query = select(events).where(events.c.session_id == session_id, events.c.turn == turn)
    return tuple(event_of(row) for row in connection.execute(query.order_by(events.c.number)))


def readable_messages(connection: Connection, session_id: str) -> list[JsonObject]:
    """The shown messages without their parts, which only the model that made them reads."""
    return [
        {name: value for name, value in message.items() if name != "parts"}
        for message in shown_messages(connection, session_id)
    ]


def shown_messages(
    connection: Connection, session_id: str, first_turn: int = 0
) -> list[JsonObject]:
    """The shown messages of a session, oldest first; of a turn that is not done, its question."""
    values = {"its_session": session_id, "first_turn": first_turn}
    rows = connection.scalars(_SHOWN_MESSAGES, values)
    return [json.loads(body) for body in rows]


def to_json(what: str, value: Mapping[str, Any]) -> str:
    """The JSON of a message or an event, in ASCII, which every database stores unchanged.

    Raises:
        MessageTooLong: It has more than `MAX_BYTES`.
    """
    text = json.dumps(value, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise MessageTooLong(what, len(text), MAX_BYTES)
    return text

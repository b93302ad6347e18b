"""What the session store takes and gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from skillian.storage.errors import MessageTooLong

MAX_BYTES = 4 * 1024 * 1024
"""How large the JSON of one message or event may be."""
MAX_TITLE = 80

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session. `created` and `updated` are UTC in ISO 8601; `updated` is its last turn's time."""

    id: str
    owner: str
    title: str
    created: str
    updated: str

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no number yet."""

    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happened in a turn. `number` counts up from 1 within the session."""

    number: int
    turn: int
    type: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Progress:
    """The events of a session after some number, and whether more of them may come.

    `is_here` says that the running turn is held by this very process.
    """

    events: tuple[TurnEvent, ...]
    is_running: bool
    is_here: bool


def to_json(what: str, value: Mapping[str, Any]) -> str:
    """Return the JSON of a message or an event, in ASCII, which every database stores as it is.

    Raises:
        MessageTooLong: it has more than `MAX_BYTES`.
    """
    text = json.dumps(value, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise MessageTooLong(what, len(text), MAX_BYTES)
    return text


def as_title(text: str) -> str:
    """Return what can be shown of a text on one line of at most `MAX_TITLE` characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: MAX_TITLE * 8])
    return " ".join(line.split())[:MAX_TITLE].rstrip()

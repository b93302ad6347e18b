"""The values that the session store takes and returns."""

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
    """A session. `created` and `updated`, the time of its last turn, are UTC in ISO 8601."""

    id: str
    owner: str
    title: str
    created: str
    updated: str

    def to_dict(self) -> JsonObject:
        """The JSON form."""
        return asdict(self)


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
class Progress:
    """The events of a session after a number, and whether more may come.

    `is_here` means that this process holds the running turn.
    """

    events: tuple[TurnEvent, ...]
    is_running: bool
    is_here: bool


def to_json(what: str, value: Mapping[str, Any]) -> str:
    """The JSON of a message or an event, in ASCII, which every database stores unchanged.

    Raises:
        MessageTooLong: It has more than `MAX_BYTES`.
    """
    text = json.dumps(value, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise MessageTooLong(what, len(text), MAX_BYTES)
    return text


def as_title(text: str) -> str:
    """The printable characters of a text on one line of at most `MAX_TITLE` characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: MAX_TITLE * 8])
    return " ".join(line.split())[:MAX_TITLE].rstrip()

"""AgentMemory: the scratchpad of a code agent during one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import Repr
from typing import Any, Literal

from tinyagent.core.untrusted import cut_middle

_LINE_CHARS = 500
_HEADER = "Your notes so far, oldest first:"
_NEW_HEADER = "Noted:"


@dataclass(frozen=True, slots=True)
class _Note:
    """A note. `key` is empty unless a value was stored under it."""

    kind: Literal["stored", "observed", "failed"]
    key: str
    value: Any

    def to_line(self) -> str:
        """The note on one line of about 500 characters at most."""
        text = f"{self.key} = {_look(self.value)}" if self.kind == "stored" else self.value
        return " ".join(cut_middle(f"- {self.kind}: {text}", _LINE_CHARS).split())


class AgentMemory:
    """The notes of the code of one run: values under keys, observations, failed attempts."""

    __slots__ = ("_entries", "_new")

    def __init__(self) -> None:
        self._entries: list[_Note] = []
        self._new: list[_Note] = []

    def store(self, key: str, value: Any) -> None:
        """Store `value` under `key`, replacing any earlier value.

        Raises:
            TypeError: The key is not a string.
        """
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a model calls
            raise TypeError(f"the key must be a string, got {type(key).__name__}")
        self._entries = [entry for entry in self._entries if not _holds(entry, key)]
        self._new = [entry for entry in self._new if not _holds(entry, key)]
        self._add(_Note("stored", key, value))

    def recall(self, key: str, default: Any = None) -> Any:
        """The value stored under `key`, or `default`."""
        return next((entry.value for entry in self._entries if _holds(entry, key)), default)

    def observe(self, msg: str) -> None:
        """Note an observation."""
        self._add(_Note("observed", "", str(msg)))

    def fail(self, msg: str) -> None:
        """Note a failed attempt, so that it is not repeated."""
        self._add(_Note("failed", "", str(msg)))

    def to_context(self, max_chars: int = 4_000) -> str:
        """The newest notes in at most `max_chars` characters, and how many are left out.

        Empty if there is no note.
        """
        return _listed(_HEADER, self._entries, max_chars)

    def news(self, max_chars: int = 4_000) -> str:
        """The notes since the last call of this method, as `to_context` lists them."""
        new, self._new = self._new, []
        return _listed(_NEW_HEADER, new, max_chars)

    def clear(self) -> None:
        """Forget everything."""
        self._entries = []
        self._new = []

    def _add(self, note: _Note) -> None:
        self._entries.append(note)
        self._new.append(note)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"AgentMemory({len(self._entries)} notes)"


def _listed(header: str, entries: Sequence[_Note], max_chars: int) -> str:
    """The newest entries, oldest first, under a header; empty if there are none."""
    if not entries:
        return ""
    shown: list[str] = []
    room = max_chars - len(header) - len(_left_out(len(entries))) - 1
    for entry in reversed(entries):
        line = entry.to_line()
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    missing = len(entries) - len(shown)
    head = [header, _left_out(missing)] if missing else [header]
    return "\n".join([*head, *reversed(shown)])[: max(max_chars, 0)]


def _holds(entry: _Note, key: str) -> bool:
    return entry.kind == "stored" and entry.key == key


def _left_out(count: int) -> str:
    return f"({count} older notes are left out; recall(key) still returns what was stored)"


def _look(value: Any) -> str:
    """The repr of any value, in bounded length."""
    bounded = Repr()
    bounded.maxlevel = 4
    bounded.maxstring = bounded.maxother = 1_000
    bounded.maxlist = bounded.maxtuple = bounded.maxset = bounded.maxdict = 20
    try:
        return bounded.repr(value)
    except (ValueError, TypeError, RecursionError):  # an int of 5,000 digits has no text
        return f"<{type(value).__name__}>"

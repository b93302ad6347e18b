"""Findings: single differences that can be recognised again in the next run."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

State = Literal["new", "known", "fixed"]

MAX_FINDINGS = 1000
"""How many findings of a run are tracked one by one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference, without its values: the same difference is the same finding tomorrow.

    Attributes:
        kind: Its class, such as `major_diff` or `only_in_a`.
        subject: The measure or column that differs; empty if whole rows are missing.
        key: The values of the key, as in a JSON report; empty for a finding about a whole column.
        sides: What both sides are called in words; not part of its identity.
    """

    kind: str
    subject: str
    key: Mapping[str, object]
    sides: tuple[str, str] = ("a", "b")

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that identify the finding within its comparison."""
        parts = [self.kind, self.subject, sorted(self.key.items())]
        text = json.dumps(parts, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def text(self) -> str:
        """The finding in words, such as `amount differs for id=7`."""
        where = ", ".join(f"{name}={value}" for name, value in self.key.items())
        words = _WORDS.get(self.kind, self.kind.replace("_", " "))
        if self.kind in _SIDES:
            words = f"{words} {self.sides[_SIDES[self.kind]]}"
        return " ".join(part for part in (self.subject, words, where and f"for {where}") if part)


_WORDS = {
    "major_diff": "differs",
    "minor_diff": "differs slightly",
    "differing": "differs",
    "missing_in_a": "missing in",
    "missing_in_b": "missing in",
    "only_in_a": "only in",
    "only_in_b": "only in",
    "rows": "different numbers of rows",
    "duplicate": "duplicate key",
    "schema": "schema differs",
}
_SIDES = {"missing_in_a": 0, "missing_in_b": 1, "only_in_a": 0, "only_in_b": 1}


@dataclass(frozen=True, slots=True)
class Tracked:
    """A finding in the history.

    Attributes:
        id: As `Finding.id`.
        text: As `Finding.text`.
        since: When the run that first had it began, in UTC (ISO 8601).
        fixed: When the run that no longer had it began; None as long as runs have it.
        note: What the team knows about it; None if nobody has noted anything.
        due: The day after which it counts as new again in spite of its note.
    """

    id: str
    text: str
    since: str
    fixed: str | None
    note: str | None
    due: date | None

    def state(self, today: date) -> State:
        """Its state on this day."""
        if self.fixed is not None:
            return "fixed"
        is_known = self.note is not None and (self.due is None or today <= self.due)
        return "known" if is_known else "new"

    def to_dict(self, today: date) -> dict[str, object]:
        """The finding for JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "state": self.state(today),
            "since": self.since,
            "fixed": self.fixed,
            "note": self.note,
            "due": None if self.due is None else self.due.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run's findings compare with the runs before it.

    Attributes:
        new: Findings without a note, and those whose due date has passed.
        known: Findings with a note.
        fixed: Findings of the run before that are gone.
        untracked: How many findings there are beyond `MAX_FINDINGS`; they count as new.
    """

    new: tuple[Tracked, ...]
    known: tuple[Tracked, ...]
    fixed: tuple[Tracked, ...]
    untracked: int = 0

    @property
    def has_new(self) -> bool:
        """Whether anything counts as new."""
        return bool(self.new or self.untracked)

    @property
    def sentence(self) -> str:
        """The counts in words, such as `2 new, 1 known, 1 fixed.`."""
        new = len(self.new) + self.untracked
        return f"{new:,} new, {len(self.known):,} known, {len(self.fixed):,} fixed."

    def to_dict(self, today: date) -> dict[str, object]:
        """The standing for JSON."""
        groups = {"new": self.new, "known": self.known, "fixed": self.fixed}
        lists = {name: [one.to_dict(today) for one in group] for name, group in groups.items()}
        return {**lists, "untracked": self.untracked}

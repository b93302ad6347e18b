"""Findings: single differences that can be recognised again in the next run."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

State = Literal["new", "open", "known", "fixed"]

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
        sizes: How large it is: |b - a| of each measure that differs, or its count under an empty
            name; empty if it has no size. Not part of its identity.
    """

    kind: str
    subject: str
    key: Mapping[str, object]
    sides: tuple[str, str] = ("a", "b")
    sizes: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that identify the finding within its comparison."""
        parts = [self.kind, self.subject, sorted(self.key.items())]
        text = json.dumps(parts, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def text(self) -> str:
        """The finding in words, such as `amount differs for id=7`."""
        where = ", ".join(
            f"{name} is NULL" if value is None else f"{name}={value}"
            for name, value in self.key.items()
        )
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
        runs: How many runs in a row have had it.
        sizes: As `Finding.sizes` of the last run that had it.
        noted: The sizes for which the note was made.
    """

    id: str
    text: str
    since: str
    fixed: str | None
    note: str | None
    due: date | None
    runs: int
    sizes: Mapping[str, Decimal]
    noted: Mapping[str, Decimal]

    def state(self, today: date) -> State:
        """Its state on this day."""
        if self.fixed is not None:
            return "fixed"
        if self.note is None:
            return "new" if self.runs == 1 else "open"
        is_overdue = self.due is not None and today > self.due
        return "new" if is_overdue or self.growth else "known"

    @property
    def growth(self) -> str:
        """What grew since the note, such as `amount grew from 3 to 775`; empty if nothing did.

        Only growth by more than the size for which the note was made counts.
        """
        return ", ".join(
            f"{name} grew from {before:,f} to {self.sizes[name]:,f}".lstrip()
            for name, before in self.noted.items()
            if name in self.sizes and self.sizes[name] > 2 * before
        )

    @property
    def sentence(self) -> str:
        """Its text, and what grew since the note."""
        return f"{self.text}; {self.growth}" if self.growth else self.text

    def to_dict(self, today: date) -> dict[str, object]:
        """The finding for JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "state": self.state(today),
            "growth": self.growth or None,
            "since": self.since,
            "fixed": self.fixed,
            "note": self.note,
            "due": None if self.due is None else self.due.isoformat(),
            "sizes": {name: str(size) for name, size in self.sizes.items()},
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run's findings compare with the runs before it.

    Nobody can say which findings beyond `MAX_FINDINGS` are the same as before, so they are never
    known: as many as the run before had count as open, and any more as new.

    Attributes:
        new: Findings that the run before did not have, and those whose note no longer holds.
        open: Findings that the run before had, too, and that nobody has noted.
        known: Findings with a note.
        fixed: Findings of the run before that are gone.
        untracked_new: How many findings beyond `MAX_FINDINGS` count as new.
        untracked_open: How many of them count as open.
    """

    new: tuple[Tracked, ...] = ()
    open: tuple[Tracked, ...] = ()
    known: tuple[Tracked, ...] = ()
    fixed: tuple[Tracked, ...] = ()
    untracked_new: int = 0
    untracked_open: int = 0

    @property
    def is_accepted(self) -> bool:
        """Whether all findings are known."""
        return not (self.new_count or self.open_count)

    @property
    def is_empty(self) -> bool:
        """Whether there are no findings, and none were fixed."""
        return self.is_accepted and not (self.known or self.fixed)

    @property
    def new_count(self) -> int:
        """How many findings are new."""
        return len(self.new) + self.untracked_new

    @property
    def open_count(self) -> int:
        """How many findings are open."""
        return len(self.open) + self.untracked_open

    @property
    def sentence(self) -> str:
        """The counts in words, such as `2 new, 3 open, 1 known, 1 fixed.`."""
        counts = {
            "new": self.new_count,
            "open": self.open_count,
            "known": len(self.known),
            "fixed": len(self.fixed),
        }
        return ", ".join(f"{count:,} {state}" for state, count in counts.items()) + "."

    def to_dict(self, today: date) -> dict[str, object]:
        """The standing for JSON."""
        groups = {"new": self.new, "open": self.open, "known": self.known, "fixed": self.fixed}
        lists = {name: [one.to_dict(today) for one in group] for name, group in groups.items()}
        return {**lists, "untracked": self.untracked_new + self.untracked_open}

"""What a question says, in the language of the tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from skillian.offline.language.tokens import Token

Direction = Literal["", "most", "least"]


@dataclass(slots=True)
class Reading:
    """What a question says, in the language of the tools.

    `members` are dimensions whose members are asked for, `cleared` those with all values, `those`
    those of the last question; `replaced` has what it had, measures under "", and `removed` the
    groups and measures that go. `says` are the kinds of tokens that show what is requested;
    `ordinal` is the position of a group, from 0. Without what is `unread` a call would answer
    another question; `instead` has other words for it. `parts` are the clauses that are read, and
    `refused` those that are in the grammar and mean nothing; `tokens` are all.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    members: list[str] = field(default_factory=list[str])
    filters: dict[str, Any] = field(default_factory=dict[str, Any])
    cleared: list[str] = field(default_factory=list[str])
    thresholds: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    units: list[str] = field(default_factory=list[str])
    count: int | None = None
    direction: Direction = ""
    ordered_by: list[str] = field(default_factory=list[str])
    is_singular: bool = False
    says: dict[str, str] = field(default_factory=dict[str, str])
    lacking: str = ""
    only_in: str = ""
    ordinal: int = 0
    replaced: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    removed: list[str] = field(default_factory=list[str])
    those: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])
    instead: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    parts: list[tuple[str, Sequence[Token]]] = field(
        default_factory=list[tuple[str, Sequence[Token]]]
    )
    refused: list[Sequence[Token]] = field(default_factory=list[Sequence[Token]])
    tokens: Sequence[Token] = ()

    @property
    def named(self) -> list[str]:
        """The dimensions that it names apart from conditions: members, then groups."""
        return list(dict.fromkeys((*self.members, *self.breakdown)))

    @property
    def names_data(self) -> set[str]:
        """What it names that changes a call."""
        names = ("measures", "breakdown", "filters", "cleared", "thresholds", "direction", "count")
        return {
            name for name in (*names, "ordered_by", "removed", "replaced") if getattr(self, name)
        }

    @property
    def is_comparison(self) -> bool:
        """Whether it asks for a comparison."""
        says = self.says.keys()
        return bool(says & {"compare", "same", "gap"}) or ("exists" in says and not self.members)

"""What a comparison is about: whole rows, or measures; and the words in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """What a comparison is about.

    Attributes:
        unit: What is counted.
        equal: The verdict on what is equal.
        differ: The verdict on what differs.
        foreign: The fields of a question that only the other subject has.
        reason: Why it has none of them, after their names.
    """

    unit: str
    equal: str
    differ: str
    foreign: Sequence[str]
    reason: str


ROWS = Subject("rows", "Equal", "Rows differ", ("align_on", "thresholds"), "needs `measures`")
MEASURES = Subject(
    "groups",
    "They match",
    "They differ",
    ("key", "columns", "map", "ignore", "accept", "rules", "multiset"),
    "compares whole rows, without `measures`",
)


def subject_of(measures: object) -> Subject:
    """The subject of a question with these measures, if it has any."""
    return MEASURES if measures else ROWS

"""What a comparison is about: whole rows, or measures; how the two differ, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Status = Literal["match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b"]
STATUSES: tuple[Status, ...] = get_args(Status)
RowClass = Literal["differing", "only_in_a", "only_in_b", "duplicate"]

STATUS: dict[Status, str] = {
    "match": "match",
    "minor_diff": "minor",
    "major_diff": "major",
    "missing_in_a": "only in b",
    "missing_in_b": "only in a",
}
"""The classes of groups, in words."""
ROW_CLASSES: dict[RowClass, str] = {
    "differing": "differs",
    "only_in_a": "only in a",
    "only_in_b": "only in b",
    "duplicate": "duplicate key",
}
"""The classes of rows that differ, in words, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What a comparison is about.

    Attributes:
        kind: Its name in JSON.
        words: What is compared.
        unit: What is counted.
        equal: The verdict on what is equal.
        differ: The verdict on what differs.
        classes: The classes of what is counted, in words.
        json_names: The names of a result in JSON; see `Record`.
        counts: The part of a result that has the counts which people read.
        details: What a JSON report always has besides the result.
        adds_schema: Whether sentences on the schemas follow those of a result, which has none.
        judges_declared: Whether differences of the schemas of declared sources are findings.
        takes_files: Whether uploaded files, which nobody declares, can be compared.
        foreign: What is asked of the other subject only: fields of a question, and `why`.
        reason: Why it has none of them, after their names.
        declared: The fields with names that sources declare, and what each of them declares.
        changeable: The parts of the scope of an answer that a reader can change.
    """

    kind: str
    words: str
    unit: str
    equal: str
    differ: str
    classes: Mapping[str, str]
    json_names: str
    counts: str
    details: Sequence[str]
    adds_schema: bool
    judges_declared: bool
    takes_files: bool
    foreign: Sequence[str]
    reason: str
    declared: Mapping[str, Literal["measure", "dimension"]]
    changeable: Sequence[str]

    def finding_classes(self, *, minor: bool) -> tuple[str, ...]:
        """The classes of what differs, with minor differences or without."""
        accepted = {"match"} if minor else {"match", "minor_diff"}
        return tuple(each for each in self.classes if each not in accepted)


ROWS = Subject(
    kind="rows",
    words="whole rows",
    unit="rows",
    equal="Equal",
    differ="Rows differ",
    classes=dict(ROW_CLASSES.items()),
    json_names="kind source_a source_b equal key rows columns coverage not_compared schema samples"
    " proposals sentences notes filters proof cache_key",
    counts="rows",
    details=(),
    adds_schema=False,
    judges_declared=True,
    takes_files=True,
    foreign=("align_on", "thresholds"),
    reason="needs `measures`; without it whole rows are compared, by `key`",
    declared={},
    changeable=("sources", "filters"),
)
MEASURES = Subject(
    kind="measures",
    words="measures",
    unit="groups",
    equal="They match",
    differ="They differ",
    classes=dict(STATUS.items()),
    json_names="kind source_a source_b summary top_differences interpretation=sentences cache_key"
    " proof schema",
    counts="summary.classes",
    details=("explanation", "rows"),
    adds_schema=True,
    judges_declared=False,
    takes_files=False,
    foreign=("key", "columns", "map", "ignore", "accept", "rules", "multiset", "why"),
    reason="compares whole rows, without `measures`",
    declared={"measures": "measure", "align_on": "dimension", "filters": "dimension"},
    changeable=("sources", "measures", "filters", "groups", "limits"),
)


def words_for(measures: Iterable[str]) -> str:
    """The names of the measures that are compared, or that whole rows are."""
    return ", ".join(measures) or ROWS.words


def subject_of(measures: object) -> Subject:
    """The subject of a question or a result with these measures, if it has any."""
    return MEASURES if measures else ROWS

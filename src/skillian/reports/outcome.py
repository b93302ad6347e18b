"""The outcome of a comparison: everything that its report shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # what only one kind of comparison loads
    from skillian.data.comparison.explain.explanation import Explanation
    from skillian.data.comparison.page import ComparisonRows
    from skillian.data.comparison.rows import DrillDown, GroupRow
    from skillian.data.declare.saved import SavedComparison
    from skillian.data.results.result import ComparisonResult
    from skillian.data.schema.diff import SchemaDifference
    from skillian.data.tables.why.results import Why
    from skillian.history.findings import Standing

Verdict = Literal["equal", "findings", "failed"]

VERDICTS: tuple[Verdict, ...] = ("equal", "findings", "failed")
"""From the best to the worst; the index of each is its exit code."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that was computed.

    Attributes:
        comparison: What was compared.
        seconds: How long it took.
        result: The result.
        explanation: Why the measures differ, if they do.
        rows: The groups that differ, if the report lists them.
        drilled: The rows behind the first of these groups, if the report shows them.
        standing: Which findings are new, open, known or fixed, if the comparison has a history.
        why: What explains the rows that differ, if that was asked.
    """

    comparison: SavedComparison
    seconds: float
    result: ComparisonResult
    explanation: Explanation | None = None
    rows: ComparisonRows[GroupRow] | None = None
    drilled: tuple[DrillDown, ...] = ()
    standing: Standing | None = None
    why: Why | None = None

    @property
    def counts_minor(self) -> bool:
        """Whether minor differences are findings."""
        return self.comparison.fail_on != "major"

    @property
    def findings(self) -> int:
        """How many findings there are: groups or rows, columns, and differences of the schemas."""
        rows = self.result.unmatched(minor=self.counts_minor)
        return rows + len(self.result.other_findings) + len(self.schema_findings)

    @property
    def schema_findings(self) -> tuple[SchemaDifference, ...]:
        """The differences of the schemas that are findings; with `fail_on: schema`, all."""
        schema = self.result.schema
        if schema is None:
            return ()
        return schema.unaccepted if self.comparison.fail_on == "schema" else schema.findings

    @property
    def schema_sentences(self) -> tuple[str, ...]:
        """The differences of the schemas that are findings, in words."""
        return tuple(f"Schema: {each.sentence}." for each in self.schema_findings)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is known, in words, the most important first."""
        schema = self.schema_sentences if self.result.subject.adds_schema else ()
        explanation = self.explanation.sentences if self.explanation else ()
        return (*self.result.sentences, *schema, *explanation)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What explains the rows that differ, in words, if that was asked and rows differ."""
        if self.why is None or not self.result.unmatched(minor=True):
            return ()
        return self.why.sentences or (self.why.nothing,)

    @property
    def verdict(self) -> Verdict:
        """Whether there are findings; `failed` if the filters left no rows to compare.

        With `fail_on: new`, findings that are all known do not count.
        """
        if self.comparison.filters and self.result.is_empty:
            return "failed"
        return "findings" if self.findings and not self.is_accepted else "equal"

    @property
    def is_accepted(self) -> bool:
        """Whether all findings are known, and those do not count."""
        standing = self.standing
        return self.comparison.fail_on == "new" and standing is not None and standing.is_accepted

    @property
    def reason(self) -> str | None:
        """Why it could not be compared."""
        return self.result.sentences[0] if self.verdict == "failed" else None


@dataclass(frozen=True, slots=True)
class Failed:
    """A comparison that could not be computed, and why."""

    comparison: SavedComparison
    seconds: float
    reason: str

    @property
    def verdict(self) -> Verdict:
        """Always `failed`."""
        return "failed"


class TableMissing(Failed):
    """A table of a schema that the other schema does not have; `reason` says which."""

    __slots__ = ()

    @property
    def verdict(self) -> Verdict:
        """Always a finding."""
        return "findings"


Outcome = Compared | Failed


def worst(outcomes: Iterable[Outcome]) -> Verdict:
    """The worst of all verdicts; `equal` if there are none."""
    return VERDICTS[max((VERDICTS.index(outcome.verdict) for outcome in outcomes), default=0)]

"""The result of a comparison: of whole rows, or of measures, for which both sides are grouped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from skillian.data.declare.definitions import Thresholds
from skillian.data.query.filters import Condition
from skillian.data.results.groups import Difference, MeasureSummary, Summary
from skillian.data.results.rows import (
    ColumnCoverage,
    ColumnResult,
    NotCompared,
    Proposal,
    Samples,
    TableKey,
)
from skillian.data.schema.diff import SchemaDiff
from skillian.data.sql import Statement
from skillian.data.sql.values import Record, named, plain
from skillian.data.subjects import Subject, subject_of

_OF_A_PROOF = "sql parameters snapshot align_on filters place dialect"


@dataclass(frozen=True, slots=True)
class Proof(Record):
    """How a result was computed: enough to reproduce it.

    Attributes:
        sql: The statement that compared both sides.
        queries: The statements that fetched or aggregated each side, by source, if the workspace
            compared them.
        snapshot: When, in UTC.
        parameters: The bound values of the statement.
        align_on: The dimensions that rows are grouped by.
        filters: Which rows took part.
        thresholds: The limits of each measure.
        place: Where: `database` or `workspace`.
        dialect: The sqlglot dialect of the statement.
    """

    sql: str
    queries: Mapping[str, Statement]
    snapshot: str
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    align_on: tuple[str, ...] = ()
    filters: tuple[Condition, ...] = ()
    thresholds: Mapping[str, Thresholds] = field(default_factory=dict[str, Thresholds])
    place: Literal["database", "workspace"] = "database"
    dialect: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The proof for JSON."""
        queries = {
            name: {"sql": query.text, "parameters": plain(query.parameters)}
            for name, query in self.queries.items()
        }
        limits = {name: each.model_dump(mode="json") for name, each in self.thresholds.items()}
        return {**named(self, _OF_A_PROOF), "queries": queries, "thresholds": limits}


@dataclass(frozen=True, slots=True)
class RowCounts(Record):
    """How many rows are in each class; `rows_a` and `rows_b` are the sums of those of a side."""

    json_names = (
        "a=rows_a b=rows_b matched differing only_in_a only_in_b duplicate_keys_a "
        "duplicate_rows_a duplicate_keys_b duplicate_rows_b"
    )

    rows_a: int
    rows_b: int
    differing: int = 0
    only_in_a: int = 0
    only_in_b: int = 0
    duplicate_keys_a: int = 0
    duplicate_rows_a: int = 0
    duplicate_keys_b: int = 0
    duplicate_rows_b: int = 0

    @property
    def matched(self) -> int:
        """How many rows are the same on both sides."""
        return self.rows_a - self.differing - self.only_in_a - self.duplicate_rows_a

    @property
    def met(self) -> int:
        """How many rows of a side have their counterpart on the other, equal or not."""
        return self.matched + self.differing

    @property
    def unmatched(self) -> Mapping[str, int]:
        """How many rows, or repeated keys, are in each class of what differs."""
        return {
            "differing": self.differing,
            "only_in_a": self.only_in_a,
            "only_in_b": self.only_in_b,
            "duplicate": max(self.duplicate_keys_a, self.duplicate_keys_b),
        }

    @property
    def in_words(self) -> Sequence[tuple[str, str]]:
        """Each number with its heading."""
        return [(name.replace("_", " "), str(count)) for name, count in self.to_dict().items()]

    @property
    def are_equal(self) -> bool:
        """Whether all rows are matched."""
        return self.matched == self.rows_a == self.rows_b


@dataclass(frozen=True, slots=True)
class ComparisonResult(Record):
    """Two compared sources; a is the first, b the second.

    Measures are compared of groups: then `rows` counts these, and `key` has their dimensions.

    Attributes:
        source_a: The name of a.
        source_b: The name of b.
        key: What identifies a row.
        rows: How many rows are in each class.
        proof: How it was computed.
        schema: The columns of both tables next to each other.
        sentences: The result in words, the most important first, made only from its numbers.
        findings: Those that say more than the counts, limits and totals.
        cache_key: By which what differs is found, if it is kept.
        columns: Of whole rows: the columns that were compared.
        coverage: How many columns were compared, and which were not.
        not_compared: Those that could not be.
        samples: Some rows of each class.
        proposals: Columns that may have been renamed; they were not compared.
        notes: What else to know about the comparison.
        summary: Of measures: what is known of all groups.
        top_differences: The largest by |b - a|, of each measure in turn.
    """

    source_a: str
    source_b: str
    key: TableKey
    rows: RowCounts
    proof: Proof
    schema: SchemaDiff
    sentences: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    cache_key: str = ""
    columns: tuple[ColumnResult, ...] = ()
    coverage: ColumnCoverage = field(default_factory=lambda: ColumnCoverage(0))
    not_compared: tuple[NotCompared, ...] = ()
    samples: Samples = field(default_factory=Samples)
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
    summary: Summary = field(default_factory=Summary)
    top_differences: tuple[Difference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        return named(self, self.subject.json_names)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return subject_of(self.measures)

    @property
    def kind(self) -> str:
        """The name of its subject in JSON."""
        return self.subject.kind

    @property
    def measures(self) -> tuple[MeasureSummary, ...]:
        """The measures that were compared, over all groups."""
        return self.summary.measures

    @property
    def key_columns(self) -> tuple[str, ...]:
        """What identifies a row or a group."""
        return self.key.columns

    @property
    def filters(self) -> tuple[Condition, ...]:
        """Which rows took part."""
        return self.proof.filters

    @property
    def started(self) -> str:
        """When it was compared, in UTC."""
        return self.proof.snapshot

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows or groups are in each class, as people read them."""
        counts: dict[str, int] = attrgetter(self.subject.counts)(self).to_dict()
        return counts

    @property
    def counts_in_words(self) -> Sequence[tuple[str, str]]:
        """The counts and their headings."""
        headings: Sequence[tuple[str, str]] = attrgetter(self.subject.counts)(self).in_words
        return headings

    @property
    def totals(self) -> tuple[tuple[str, object], ...]:
        """The names and amounts of the totals of each measure."""
        return tuple(
            (f"{measure.name}: {words}", amount)
            for measure in self.measures
            for words, amount in (
                ("total of a", measure.total_a),
                ("total of b", measure.total_b),
                ("b - a", measure.net_difference),
                ("|b - a|", measure.gross_difference),
            )
        )

    @property
    def is_empty(self) -> bool:
        """Whether neither source has rows."""
        return not self.rows.rows_a and not self.rows.rows_b

    @property
    def is_unanswered(self) -> bool:
        """Whether the filters leave no rows to compare."""
        return bool(self.filters) and self.is_empty

    @property
    def equal(self) -> bool:
        """Whether both have the same rows, all compared, and schemas without findings."""
        if self.is_unanswered:
            return False
        return self.rows.are_equal and not self.other_findings and not self.schema.findings

    def unmatched(self, *, minor: bool) -> int:
        """How many rows, repeated keys or groups are findings."""
        counts = {**self.rows.unmatched, **self.summary.classes.to_dict()}
        return sum(counts[each] for each in self.subject.finding_classes(minor=minor))

    @property
    def other_findings(self) -> tuple[tuple[str, str, int | None], ...]:
        """The kind, the subject and the number of rows of each finding about all of them.

        Groups that differ only in their number of rows are one finding; a column has no number.
        """
        count = self.summary.row_findings
        uneven = (("rows", "", count),) if count else ()
        return (*uneven, *(("not_compared", each.column, None) for each in self.not_compared))

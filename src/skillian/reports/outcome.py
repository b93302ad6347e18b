"""What a report shows: its formats, and the comparisons that it runs with their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal, TypeAlias

from skillian.data.comparison import Depth
from skillian.errors import ToolError
from skillian.tasks import Progress, reporting

if TYPE_CHECKING:
    from skillian.data.comparison.explain.explanation import Explanation
    from skillian.data.comparison.page import ComparisonRows
    from skillian.data.comparison.rows import DrillDown, GroupRow
    from skillian.data.declare.saved import SavedComparison
    from skillian.data.engine import ComparisonEngine
    from skillian.data.results.result import ComparisonResult
    from skillian.data.schema.diff import SchemaDifference
    from skillian.data.tables.why.results import Why
    from skillian.history.findings import Standing

GROUPS = 1000
DRILLED = 20
AT_ONCE = 4
OnProgress = Callable[[str, str], None]
"""Gets the name of a comparison and its current activity; an empty activity when it has ended."""
OnResult: TypeAlias = "Callable[[ComparisonEngine, ComparisonResult], Awaitable[None]]"
"""Gets a result while all that differs can be read from the engine."""


class Format(StrEnum):
    """The format of a report."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    CSV = "csv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    JSONL = "jsonl"

    @classmethod
    def of_file(cls, path: Path, without: Collection[Format] = ()) -> Format:
        """The format for the suffix of a file, of all or `without` some.

        Raises:
            ValueError: No format has this suffix; the message names the suffixes.
        """
        forms = {suffix: form for suffix, form in _BY_SUFFIX.items() if form not in without}
        form = forms.get(path.suffix.lower())
        if form is None:
            known = ", ".join(forms)
            raise ValueError(
                f"{path.name} has no suffix of a report format; supported suffixes: {known}"
            )
        return form


_BY_SUFFIX = {
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xml": Format.JUNIT,
    ".csv": Format.CSV,
    ".xlsx": Format.XLSX,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSONL,
}
ROWS = frozenset({Format.CSV, Format.XLSX, Format.PARQUET, Format.JSONL})
"""The formats that hold all rows that differ, and nothing else."""


def depth_of(forms: Collection[Format]) -> Depth:
    """How much detail reports of these formats need."""
    if Format.HTML in forms:
        return Depth(GROUPS, DRILLED)
    return Depth(GROUPS) if Format.JSON in forms else Depth()


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
        if self.result.is_unanswered:
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
    """A comparison that could not be computed, and why.

    A table of a schema that the other schema does not have is a finding.
    """

    comparison: SavedComparison
    seconds: float
    reason: str
    verdict: Verdict = "failed"


Outcome = Compared | Failed


def worst(outcomes: Iterable[Outcome]) -> Verdict:
    """The worst of all verdicts; `equal` if there are none."""
    return VERDICTS[max((VERDICTS.index(outcome.verdict) for outcome in outcomes), default=0)]


async def run_all(
    engine: ComparisonEngine,
    comparisons: Sequence[SavedComparison],
    depth: Depth,
    on_progress: OnProgress,
    on_result: OnResult | None = None,
) -> tuple[Outcome, ...]:
    """Run all comparisons, at most `AT_ONCE` at the same time.

    A comparison that cannot be computed is `Failed`; the others go on.

    Returns:
        The outcomes, in the order of the comparisons.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(comparison: SavedComparison) -> Outcome:
        async with slots:
            start = monotonic()
            try:
                report = partial(on_progress, comparison.name)
                with reporting(report):
                    return await run_one(engine, comparison, depth, report, on_result)
            except ToolError as error:
                return Failed(comparison, monotonic() - start, str(error))
            finally:
                on_progress(comparison.name, "")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(comparison)) for comparison in comparisons]
    return tuple(task.result() for task in tasks)


async def run_one(
    engine: ComparisonEngine,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
    on_result: OnResult | None = None,
) -> Compared:
    """Run one comparison.

    Raises:
        ToolError: It cannot be computed.
    """
    start = monotonic()
    report("comparing")
    async with engine.kept(comparison, _progress(report, comparison.subject.unit)) as result:
        compared = Compared(comparison, monotonic() - start, result)
        if on_result is not None:
            await on_result(engine, result)
        return await explained(engine, compared, depth, report)


async def explained(
    engine: ComparisonEngine, compared: Compared, depth: Depth, report: Callable[[str], None]
) -> Compared:
    """Add the explanation and the groups; if they fail, the result stands without them."""
    if not compared.result.unmatched(minor=True):
        return compared
    start = monotonic()
    details = await engine.details(compared.result.cache_key, depth, report)
    return replace(compared, seconds=compared.seconds + monotonic() - start, **details)


def _progress(report: Callable[[str], None], unit: str) -> Progress:
    """A callback for the engine that reports what has arrived of both sides as one text."""
    counts: dict[str, int] = {}

    def count(source: str, rows: int) -> None:
        counts[source] = rows
        report(
            "reading " + ", ".join(f"{name}: {number:,} {unit}" for name, number in counts.items())
        )

    return count

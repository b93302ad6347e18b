"""Records the runs of saved comparisons in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from skillian.data.comparison.page import Page, PageRow
from skillian.data.engine import ComparisonEngine
from skillian.data.sql.values import jsonable
from skillian.errors import RowsNotKeptError
from skillian.history.findings import MAX_FINDINGS, Finding, Standing
from skillian.history.store import History, open_history
from skillian.reports.outcome import Compared, Failed, Outcome


async def tracked(
    engine: ComparisonEngine, outcomes: Sequence[Outcome], url: str
) -> tuple[Outcome, ...]:
    """Record these outcomes, and return them with their standing.

    Raises:
        UnavailableError: The history cannot be used.
        InvalidInputError: It is of other sources.
    """
    records = [await recording(engine, outcome, own_sources=True) for outcome in outcomes]

    def record() -> list[Standing]:
        with open_history(url) as history:
            return [each(history) for each in records]

    standings = await asyncio.to_thread(record)
    return tuple(
        outcome if isinstance(outcome, Failed) else replace(outcome, standing=standing)
        for outcome, standing in zip(outcomes, standings, strict=True)
    )


async def recording(
    engine: ComparisonEngine,
    outcome: Outcome,
    at: datetime | None = None,
    *,
    own_sources: bool = False,
) -> Callable[[History], Standing]:
    """What records an outcome, of a run that began `at` or now; its findings are read before.

    With `own_sources`, the name of the comparison is only of runs that compare its sources.
    """
    findings, total = ((), 0) if isinstance(outcome, Failed) else await _findings(engine, outcome)
    asked, verdict = outcome.comparison, outcome.verdict
    sources = (asked.a, asked.b) if own_sources else None
    return lambda history: history.record(asked.name, verdict, findings, total, at, sources=sources)


def finding_of(row: PageRow) -> Finding:
    """The finding that a group or a row is."""
    key = {name: jsonable(value) for name, value in row.key.items()}
    return Finding(row.status, ", ".join(row.differing), key, sizes=row.sizes)


async def _findings(engine: ComparisonEngine, outcome: Compared) -> tuple[tuple[Finding, ...], int]:
    """The first findings, whose words name both sides, and how many there are."""
    result = outcome.result
    found = [
        Finding("schema", f"{each.column_a or each.column_b or 'table'} ({each.aspect})", {})
        for each in outcome.schema_findings
    ]
    for kind, subject, count in result.other_findings:
        sizes = {} if count is None else {"": Decimal(count)}
        found.append(Finding(kind, subject, {}, sizes=sizes))
    total = len(found)
    if len(found) < MAX_FINDINGS and result.unmatched(minor=outcome.counts_minor):
        classes = result.subject.finding_classes(minor=outcome.counts_minor)
        page = Page(classes, limit=MAX_FINDINGS - len(found))
        try:
            rows = await engine.rows(result.cache_key, page)
        except RowsNotKeptError:
            total += result.unmatched(minor=outcome.counts_minor)
        else:
            found += map(finding_of, rows.rows)
            total += rows.total
    sides = result.source_a, result.source_b
    return tuple(replace(each, sides=sides) for each in found[:MAX_FINDINGS]), total

"""Records the runs of saved comparisons in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.results import Status
from skillian.data.comparison.rows import GroupRow
from skillian.data.sql.values import jsonable
from skillian.history.findings import MAX_FINDINGS, Finding, Standing
from skillian.history.store import open_history
from skillian.reports.outcome import Compared, Outcome


async def tracked(
    engine: ComparisonEngine, outcomes: Sequence[Outcome], url: str
) -> tuple[Outcome, ...]:
    """Record these outcomes, and return them with their standing.

    Args:
        engine: Has made the comparisons.
        outcomes: The outcomes of one run.
        url: The database of the history.

    Raises:
        UnavailableError: The history cannot be used; nothing is recorded of the rest.
    """
    findings = [await _findings(engine, outcome) for outcome in outcomes]

    def record() -> list[Standing]:
        with open_history(url) as history:
            return [
                history.record(
                    outcome.comparison.name,
                    outcome.verdict,
                    own,
                    _total(outcome),
                )
                for outcome, own in zip(outcomes, findings, strict=True)
            ]

    standings = await asyncio.to_thread(record)
    return tuple(
        replace(outcome, standing=standing) if isinstance(outcome, Compared) else outcome
        for outcome, standing in zip(outcomes, standings, strict=True)
    )


async def _findings(engine: ComparisonEngine, outcome: Outcome) -> tuple[Finding, ...]:
    """The groups that count as findings, the largest differences first."""
    if not isinstance(outcome, Compared) or not outcome.findings:
        return ()
    summary = outcome.result.summary
    # Groups that differ only in their number of rows are one finding, with their number.
    rows = [Finding("rows", f"{summary.row_findings:,} groups", {})] * bool(summary.row_findings)
    if summary.row_findings == outcome.findings:
        return tuple(rows)
    statuses: list[Status] = ["major_diff", "missing_in_a", "missing_in_b"]
    if outcome.comparison.fail_on != "major":
        statuses.append("minor_diff")
    page = await engine.rows(outcome.result.cache_key, statuses, limit=MAX_FINDINGS - len(rows))
    return (*rows, *map(_finding, page.rows))


def _finding(group: GroupRow) -> Finding:
    key = {name: jsonable(value) for name, value in group.key.items()}
    if group.status.startswith("missing"):
        return Finding(group.status, "", key)
    differing = (each.measure for each in group.measures if each.status != "match")
    return Finding(group.status, ", ".join(differing), key)


def _total(outcome: Outcome) -> int:
    if not isinstance(outcome, Compared):
        return 0
    return outcome.findings - max(0, outcome.result.summary.row_findings - 1)

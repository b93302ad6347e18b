"""Records the runs of saved comparisons in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.results import Status
from skillian.data.comparison.rows import GroupRow
from skillian.data.sql.values import jsonable
from skillian.data.tables.results import CountedSample, TableResult
from skillian.history.findings import MAX_FINDINGS, Finding, Standing
from skillian.history.store import History, open_history
from skillian.reports.outcome import Compared, Failed, Outcome, RowsCompared


async def tracked(
    engine: ComparisonEngine, outcomes: Sequence[Outcome], url: str
) -> tuple[Outcome, ...]:
    """Record these outcomes, and return them with their standing.

    Args:
        engine: Has made the comparisons.
        outcomes: The outcomes of one run.
        url: The database of the history.

    Raises:
        UnavailableError: The history cannot be used.
    """
    records = [await recording(engine, outcome) for outcome in outcomes]

    def record() -> list[Standing]:
        with open_history(url) as history:
            return [each(history) for each in records]

    standings = await asyncio.to_thread(record)
    return tuple(
        outcome if isinstance(outcome, Failed) else replace(outcome, standing=standing)
        for outcome, standing in zip(outcomes, standings, strict=True)
    )


async def recording(engine: ComparisonEngine, outcome: Outcome) -> Callable[[History], Standing]:
    """What records an outcome in a history; its findings are read before.

    Args:
        engine: Has made the comparison.
        outcome: Its outcome.
    """
    findings = _named(outcome, await _findings(engine, outcome))
    name, verdict, total = outcome.comparison.name, outcome.verdict, _total(outcome)
    return lambda history: history.record(name, verdict, findings, total)


def _named(outcome: Outcome, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, whose words name both sides."""
    if isinstance(outcome, Failed):
        return ()
    sides = outcome.result.source_a, outcome.result.source_b
    return tuple(replace(each, sides=sides) for each in findings)


async def _findings(engine: ComparisonEngine, outcome: Outcome) -> tuple[Finding, ...]:
    """The groups that count as findings, the largest differences first."""
    if isinstance(outcome, RowsCompared):
        return (*_of_columns(outcome.result), *_of_rows(outcome.result))[:MAX_FINDINGS]
    if not isinstance(outcome, Compared) or not outcome.findings:
        return ()
    summary = outcome.result.summary
    # Groups that differ only in their number of rows are one finding, with their number.
    rows: list[Finding] = []
    if summary.row_findings:
        rows.append(Finding("rows", f"{summary.row_findings:,} groups", {}))
    schema = [
        Finding("schema", f"{each.column_a or each.column_b or 'table'} ({each.aspect})", {})
        for each in outcome.schema_findings
    ]
    rows += schema[: MAX_FINDINGS - len(rows)]
    if summary.row_findings + len(schema) == outcome.findings:
        return tuple(rows)
    statuses: list[Status] = ["major_diff", "missing_in_a", "missing_in_b"]
    if outcome.comparison.fail_on != "major":
        statuses.append("minor_diff")
    page = await engine.rows(outcome.result.cache_key, statuses, limit=MAX_FINDINGS - len(rows))
    return (*rows, *map(_finding, page.rows))


def _of_columns(result: TableResult) -> Iterator[Finding]:
    """Findings about whole columns."""
    for each in result.schema.findings:
        yield Finding("schema", f"{each.column_a or each.column_b or 'table'} ({each.aspect})", {})
    yield from (Finding("not_compared", each.column, {}) for each in result.not_compared)


def _of_rows(result: TableResult) -> Iterator[Finding]:
    """A finding for each row that does not match; one that differs names its columns."""
    for row in result.listed.differing:
        yield Finding("differing", ", ".join(row.cells), row.key)
    for kind, rows in _counted(result).items():
        yield from (Finding(kind, "", each.key) for each in rows)


def _counted(result: TableResult) -> dict[str, tuple[CountedSample, ...]]:
    listed = result.listed
    return {
        "only_in_a": listed.only_in_a,
        "only_in_b": listed.only_in_b,
        "duplicate": listed.duplicates,
    }


def _total_of_rows(result: TableResult) -> int:
    """The number of findings; of a class with more rows than are listed, that of its rows."""
    rows = result.rows
    counts = {
        "only_in_a": rows.only_in_a,
        "only_in_b": rows.only_in_b,
        "duplicate": max(rows.duplicate_keys_a, rows.duplicate_keys_b),
    }
    total = rows.differing + len([*_of_columns(result)])
    for kind, listed in _counted(result).items():
        total += len(listed) if len(listed) < MAX_FINDINGS else max(counts[kind], len(listed))
    return total


def _finding(group: GroupRow) -> Finding:
    key = {name: jsonable(value) for name, value in group.key.items()}
    if group.status.startswith("missing"):
        return Finding(group.status, "", key)
    differing = (each.measure for each in group.measures if each.status != "match")
    return Finding(group.status, ", ".join(differing), key)


def _total(outcome: Outcome) -> int:
    if isinstance(outcome, RowsCompared):
        return _total_of_rows(outcome.result)
    if not isinstance(outcome, Compared):
        return 0
    return outcome.findings - max(0, outcome.result.summary.row_findings - 1)

"""Runs the comparisons of a report, a few at a time."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Protocol

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.place import Progress
from skillian.data.comparison.rows import ComparisonRows, DrillDown
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.tables.differing import DifferingRows, Keep
from skillian.data.tables.engine import TableEngine, TableQuestion
from skillian.data.tables.why.causes import why
from skillian.data.tables.why.results import Why
from skillian.errors import ToolError
from skillian.reports.formats import Depth
from skillian.reports.outcome import Compared, Failed, Outcome, RowsCompared

AT_ONCE = 4
DRILLED_ROWS = 50

OnProgress = Callable[[str, str], None]
"""Gets the name of a comparison and its current activity; an empty activity when it has ended."""


class Engines(Protocol):
    """What runs comparisons."""

    @property
    def comparison(self) -> ComparisonEngine:
        """Compares measures."""
        ...

    @property
    def tables(self) -> TableEngine:
        """Compares rows."""
        ...


@dataclass(frozen=True, slots=True)
class _OpenEngines:
    comparison: ComparisonEngine
    tables: TableEngine


@asynccontextmanager
async def open_engines(registry: SourceRegistry, top: int) -> AsyncGenerator[Engines, None]:
    """Open the engines over these sources; closing them closes their connections.

    Args:
        registry: The sources.
        top: How many of the largest differences a result lists.
    """
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        # The report asks about its comparisons until the end, so none may expire.
        engine = ComparisonEngine(registry, binder, top, keep_seconds=math.inf)
        tables = TableEngine(binder, top)
        async with aclosing(engine), aclosing(tables):
            yield _OpenEngines(engine, tables)


async def run_all(
    engines: Engines,
    comparisons: Sequence[SavedComparison],
    depth: Depth,
    on_progress: OnProgress,
    keep: Keep | None = None,
) -> tuple[Outcome, ...]:
    """Run all comparisons, at most `AT_ONCE` at the same time.

    A comparison that cannot be computed is `Failed`; the others go on.

    Args:
        engines: Compare.
        comparisons: What to compare.
        depth: How much detail the report needs.
        on_progress: Gets the progress of each comparison.
        keep: Gets all rows that differ of each comparison of rows.

    Returns:
        The outcomes, in the order of the comparisons.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(comparison: SavedComparison) -> Outcome:
        async with slots:
            try:
                report = partial(on_progress, comparison.name)
                if comparison.is_of_rows:
                    return await _run_rows(engines.tables, comparison, depth, report, keep)
                return await _run(engines.comparison, comparison, depth, report)
            finally:
                on_progress(comparison.name, "")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(comparison)) for comparison in comparisons]
    return tuple(task.result() for task in tasks)


async def _run(
    engine: ComparisonEngine,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
) -> Outcome:
    start = monotonic()
    try:
        report("comparing")
        result = await engine.compare(
            comparison.a,
            comparison.b,
            comparison.measures,
            comparison.align_on,
            comparison.filters,
            thresholds=comparison.thresholds,
            progress=_progress(report),
        )
        classes = result.summary.classes
        if classes.match == classes.groups:
            return Compared(comparison, monotonic() - start, result)
        compared = Compared(comparison, monotonic() - start, result)
        return await _explain(engine, compared, depth, report)
    except ToolError as error:
        return Failed(comparison, monotonic() - start, str(error))


async def _run_rows(
    engine: TableEngine,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
    keep: Keep | None,
) -> Outcome:
    start = monotonic()
    try:
        report("comparing")
        question = replace(question_of(comparison), listed=depth.listed)
        found: list[Why] = []

        async def explain(rows: DifferingRows) -> None:
            if keep is not None:
                await keep(rows)
            report("looking for what explains the rows that differ")
            found.append(await why(engine, question, rows.result, rows))

        kept = explain if depth.why else keep
        result = await engine.compare(question, _progress(report, "rows"), kept)
        return RowsCompared(
            comparison, monotonic() - start, result, why=found[0] if found else None
        )
    except ToolError as error:
        return Failed(comparison, monotonic() - start, str(error))


def question_of(comparison: SavedComparison) -> TableQuestion:
    """The question of a comparison of whole rows."""
    names = comparison.columns
    return TableQuestion(
        a=comparison.a,
        b=comparison.b,
        key=comparison.key,
        columns=None if isinstance(names, Mapping) else names,
        ignore=comparison.ignore,
        accept=comparison.accepted_columns,
        mapping={**(names if isinstance(names, Mapping) else {}), **comparison.map},
        rules=comparison.rules,
        filters=comparison.filters,
        multiset=comparison.multiset,
    )


async def _explain(
    engine: ComparisonEngine, compared: Compared, depth: Depth, report: Callable[[str], None]
) -> Compared:
    """Add the explanation and the rows; if they fail, the result stands without them."""
    start, key = monotonic(), compared.result.cache_key
    explanation: Explanation | None = None
    rows: ComparisonRows | None = None
    drilled: list[DrillDown] = []
    notes: list[str] = []
    try:
        report("explaining the gap")
        explanation = await engine.explain(key)
    except ToolError as error:
        notes.append(f"The gap could not be explained: {error}")
    try:
        rows = await engine.rows(key, limit=depth.groups) if depth.groups else None
        largest = rows.rows[: depth.drilled] if rows else ()
        for number, group in enumerate(largest, 1):
            report(f"reading the rows of group {number} of {len(largest)}")
            drilled.append(await engine.drill_down(key, group.key, DRILLED_ROWS))
    except ToolError as error:
        notes.append(f"Not all groups that differ are shown: {error}")
    if notes:
        explanation = explanation or Explanation(key, compared.result.proof.align_on, (), ())
        explanation = replace(explanation, notes=(*explanation.notes, *notes))
    seconds = compared.seconds + monotonic() - start
    return Compared(
        compared.comparison, seconds, compared.result, explanation, rows, tuple(drilled)
    )


def _progress(report: Callable[[str], None], unit: str = "groups") -> Progress:
    """A callback for the engine that reports what has arrived of both sides as one text."""
    counts: dict[str, int] = {}

    def count(source: str, rows: int) -> None:
        counts[source] = rows
        report(", ".join(f"{name}: {number:,} {unit}" for name, number in counts.items()))

    return count

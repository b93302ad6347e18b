"""Runs the comparisons of a report, a few at a time."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import Protocol

from skillian.connectors.base import Connector
from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.place import Progress
from skillian.data.comparison.rows import ComparisonRows, DrillDown
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.tables.differing import Keep
from skillian.data.tables.engine import TableEngine, TableQuestion
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
async def open_engines(
    registry: SourceRegistry, top: int, given: Mapping[str, Connector] = MappingProxyType({})
) -> AsyncGenerator[Engines, None]:
    """Open the engines over these sources; closing them closes their connections.

    Args:
        registry: The sources.
        top: How many of the largest differences a result lists.
        given: Connectors of connections that have no URL to open, by name.
    """
    async with Connections(registry, given) as connections:
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
            start = monotonic()
            try:
                report = partial(on_progress, comparison.name)
                return await run_one(engines, comparison, depth, report, keep)
            except ToolError as error:
                return Failed(comparison, monotonic() - start, str(error))
            finally:
                on_progress(comparison.name, "")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(comparison)) for comparison in comparisons]
    return tuple(task.result() for task in tasks)


async def run_one(
    engines: Engines,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
    keep: Keep | None = None,
) -> Compared | RowsCompared:
    """Run one comparison.

    Args:
        engines: Compare.
        comparison: What to compare.
        depth: How much detail the report needs.
        report: Gets the current activity.
        keep: Gets all rows that differ of a comparison of rows.

    Raises:
        ToolError: It cannot be computed.
    """
    if comparison.is_of_rows:
        return await _run_rows(engines.tables, comparison, depth, report, keep)
    return await _run(engines.comparison, comparison, depth, report)


async def _run(
    engine: ComparisonEngine,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
) -> Compared:
    start = monotonic()
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
    compared = Compared(comparison, monotonic() - start, result)
    classes = result.summary.classes
    if classes.match == classes.groups:
        return compared
    return await _explain(engine, compared, depth, report)


async def _run_rows(
    engine: TableEngine,
    comparison: SavedComparison,
    depth: Depth,
    report: Callable[[str], None],
    keep: Keep | None,
) -> RowsCompared:
    start = monotonic()
    report("comparing")
    question = replace(question_of(comparison), listed=depth.listed)
    result = await engine.compare(question, _progress(report, "rows"), keep)
    return RowsCompared(comparison, monotonic() - start, result)


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

"""Makes the comparisons that a report is about, a few at once."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from time import monotonic

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.place import Progress
from skillian.data.comparison.rows import ComparisonRows, DrillDown
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.errors import ToolError
from skillian.reports.formats import Depth
from skillian.reports.outcome import Compared, Failed, Outcome

AT_ONCE = 4
DRILLED_ROWS = 50

Watch = Callable[[str, str], None]
"""Told the name of a comparison and what it is at; an empty text once it has ended."""


@asynccontextmanager
async def open_engine(registry: SourceRegistry, top: int) -> AsyncGenerator[ComparisonEngine, None]:
    """The engine over these sources; its connections close with it."""
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        # What was compared is asked about to the end, whatever a server may keep.
        engine = ComparisonEngine(registry, binder, top, keep_seconds=math.inf)
        async with aclosing(engine):
            yield engine


async def run_all(
    engine: ComparisonEngine, asked: Sequence[SavedComparison], depth: Depth, watch: Watch
) -> tuple[Outcome, ...]:
    """Make all comparisons, in their order, at most `AT_ONCE` at the same time.

    One that cannot be made is `Failed`; the others go on.
    """
    places = asyncio.Semaphore(AT_ONCE)

    async def one(comparison: SavedComparison) -> Outcome:
        async with places:
            try:
                return await _run(engine, comparison, depth, partial(watch, comparison.name))
            finally:
                watch(comparison.name, "")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(comparison)) for comparison in asked]
    return tuple(task.result() for task in tasks)


async def _run(
    engine: ComparisonEngine, asked: SavedComparison, depth: Depth, told: Callable[[str], None]
) -> Outcome:
    start = monotonic()
    try:
        told("comparing")
        result = await engine.compare(
            asked.a,
            asked.b,
            asked.measures,
            asked.align_on,
            asked.filters,
            thresholds=asked.thresholds,
            progress=_counting(told),
        )
        classes = result.summary.classes
        if classes.match == classes.groups:
            return Compared(asked, monotonic() - start, result)
        return await _looked_into(engine, Compared(asked, monotonic() - start, result), depth, told)
    except ToolError as error:
        return Failed(asked, monotonic() - start, str(error))


async def _looked_into(
    engine: ComparisonEngine, found: Compared, depth: Depth, told: Callable[[str], None]
) -> Compared:
    """Add what explains the gap, as far as it can be found: the result stands without it."""
    start, key = monotonic(), found.result.cache_key
    explanation: Explanation | None = None
    rows: ComparisonRows | None = None
    drilled: list[DrillDown] = []
    notes: list[str] = []
    try:
        told("explaining the gap")
        explanation = await engine.explain(key)
    except ToolError as error:
        notes.append(f"The gap is not explained: {error}")
    try:
        rows = await engine.rows(key, limit=depth.groups) if depth.groups else None
        largest = rows.rows[: depth.drilled] if rows else ()
        for number, group in enumerate(largest, 1):
            told(f"reading the rows of group {number} of {len(largest)}")
            drilled.append(await engine.drill_down(key, group.key, DRILLED_ROWS))
    except ToolError as error:
        notes.append(f"The groups that differ are not all shown: {error}")
    if notes:
        explanation = explanation or Explanation(key, found.result.proof.align_on, (), ())
        explanation = replace(explanation, notes=(*explanation.notes, *notes))
    seconds = found.seconds + monotonic() - start
    return Compared(found.asked, seconds, found.result, explanation, rows, tuple(drilled))


def _counting(told: Callable[[str], None]) -> Progress:
    """Return what the engine tells of rows that come in, told as one text for both sides."""
    counts: dict[str, int] = {}

    def count(source: str, rows: int) -> None:
        counts[source] = rows
        told(", ".join(f"{name}: {number:,} groups" for name, number in counts.items()))

    return count

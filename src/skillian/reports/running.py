"""Runs the comparisons of a report, a few at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from skillian.connectors.base import Connector
from skillian.data.comparison import Depth
from skillian.data.comparison.cache import Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.engine import ComparisonEngine
from skillian.data.phases import Progress, reporting
from skillian.data.query.binding import Binder
from skillian.errors import ToolError
from skillian.reports.outcome import Compared, Failed, Outcome

if TYPE_CHECKING:
    from skillian.data.results.result import ComparisonResult

AT_ONCE = 4

OnProgress = Callable[[str, str], None]
"""Gets the name of a comparison and its current activity; an empty activity when it has ended."""


OnResult: TypeAlias = "Callable[[ComparisonEngine, ComparisonResult], Awaitable[None]]"
"""Gets a result while all that differs can be read from the engine."""


@asynccontextmanager
async def open_engine(
    registry: SourceRegistry,
    top: int,
    *,
    keep_rows: bool = False,
    given: Mapping[str, Connector] = MappingProxyType({}),
) -> AsyncGenerator[ComparisonEngine]:
    """Open the engine over these sources; closing it closes their connections.

    Args:
        registry: The sources.
        top: How many of the largest differences a result lists.
        keep_rows: Whether all rows that differ can be read from it.
        given: Connectors of connections that have no URL to open, by name.
    """
    memory = Memory(most_rows=math.inf if keep_rows else 0)
    async with Connections(registry, given) as connections, aclosing(memory):
        yield ComparisonEngine(registry, Binder(registry, connections), memory, top)


async def run_all(
    engine: ComparisonEngine,
    comparisons: Sequence[SavedComparison],
    depth: Depth,
    on_progress: OnProgress,
    on_result: OnResult | None = None,
) -> tuple[Outcome, ...]:
    """Run all comparisons, at most `AT_ONCE` at the same time.

    A comparison that cannot be computed is `Failed`; the others go on.

    Args:
        engine: Compares.
        comparisons: What to compare.
        depth: How much detail the report needs.
        on_progress: Gets the progress of each comparison.
        on_result: Gets each result.

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

    Args:
        engine: Compares.
        comparison: What to compare.
        depth: How much detail the report needs.
        report: Gets the current activity.
        on_result: Gets the result.

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

"""Compares two sources exactly, where their data lives, and remembers the answers for a while."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from skillian.connectors.duckdb.workspace import Workspace
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.data.comparison.cache import ComparisonCache, Remembered
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.explain.heat_map import HeatMap, read_heat_map
from skillian.data.comparison.explain.members import explain_measures
from skillian.data.comparison.interpretation import interpret
from skillian.data.comparison.page import ColumnFilter, Order, Page
from skillian.data.comparison.place import Progress, ground_of
from skillian.data.comparison.plan import ComparisonPlan, Planner, Question, unused_dimensions
from skillian.data.comparison.results import STATUSES, ComparisonResult, Proof, Status
from skillian.data.comparison.rows import (
    ComparisonRows,
    DrillDown,
    GroupRow,
    Groups,
    drill_down,
    keep_differences,
)
from skillian.data.comparison.statement import comparison_statement
from skillian.data.comparison.summary import read_rows
from skillian.data.declare.definitions import Thresholds
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.query.filters import Filters
from skillian.data.single_flight import SingleFlight
from skillian.errors import InvalidInputError, quoted

MAX_DRILLED = 1000
DIFFERENT: tuple[Status, ...] = tuple(status for status in STATUSES if status != "match")


class ComparisonEngine:
    """Compares two sources; close it, which ends what it remembers.

    Args:
        registry: The sources there are, and the defaults of a comparison.
        binder: Binds them to their databases.
        top: How many of the largest differences of each measure a result holds.
        keep_seconds: How long a comparison is remembered; None means as configured.
    """

    def __init__(
        self,
        registry: SourceRegistry,
        binder: Binder,
        top: int = TOP,
        *,
        keep_seconds: float | None = None,
    ) -> None:
        self._planner = Planner(registry, binder)
        self._top = top
        self._workspace = Workspace()
        configured = registry.comparison.cache_ttl_seconds
        self._cache = ComparisonCache(configured if keep_seconds is None else keep_seconds)
        self._comparing: SingleFlight[Remembered] = SingleFlight()
        self._keeping: SingleFlight[str] = SingleFlight()

    async def compare(  # noqa: PLR0913 - a comparison has these
        self,
        source_a_name: str,
        source_b_name: str,
        measures: Sequence[str],
        align_on: Sequence[str] | None = None,
        filters: Filters | None = None,
        *,
        thresholds: Thresholds | Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> ComparisonResult:
        """Compare `measures` per combination of the dimensions `align_on`.

        Without `align_on` the declared default is used, as far as both sources have it. What
        `thresholds` leaves open, the configuration decides; only limits that are stated count, and
        a class without any is exact. The same question again, within the configured time, is
        answered from memory; asked by many at once, it is computed once. Sources of two connections
        are aggregated at home and meet here; `progress` is told as their groups come in.
        Raises `InvalidInputError`, `UnknownNameError`, `QueryError` or `UnavailableError`.
        """
        names = (source_a_name, source_b_name)
        question = Question.asked(names, measures, align_on, filters, thresholds)
        return (await self._compared(question, progress)).result

    async def check(
        self,
        source_a_name: str,
        source_b_name: str,
        measures: Sequence[str],
        align_on: Sequence[str] | None = None,
        filters: Filters | None = None,
        *,
        thresholds: Thresholds | Mapping[str, Any] | None = None,
    ) -> None:
        """Return where `compare` would begin with its work; raises as it does before that."""
        names = (source_a_name, source_b_name)
        question = Question.asked(names, measures, align_on, filters, thresholds)
        await self._planner.plan(question)

    async def rows(
        self,
        cache_key: str,
        status: Status | Sequence[Status] | None = None,
        offset: int = 0,
        limit: int = 100,
        *,
        order: Order | None = None,
        where: Sequence[ColumnFilter] = (),
    ) -> ComparisonRows:
        """Return a page of a comparison's groups, the largest difference first.

        `status` None means all classes but `match`; `order` and `where` as `Page` has them. Raises
        `InvalidInputError` for a comparison that is not known any more, or a page that cannot be,
        and `UnknownNameError` for a name in it.
        """
        if offset < 0 or not 1 <= limit <= MAX_PAGE:
            raise InvalidInputError(f"offset is from 0 on, limit from 1 to {MAX_PAGE}")
        page = Page(_statuses(status), offset, limit, order, tuple(where))
        kept = self._cache.get(cache_key)
        groups = await self._groups(kept, page)
        found = await groups.page(page)
        if page.where:
            total = await groups.count(page)
        else:
            counts = kept.result.summary.classes.to_dict()
            total = sum(counts[each] for each in page.statuses)
        return ComparisonRows(cache_key, page.statuses, offset, total, found)

    async def all_rows(
        self,
        cache_key: str,
        status: Status | Sequence[Status] | None = None,
        *,
        order: Order | None = None,
        where: Sequence[ColumnFilter] = (),
    ) -> AsyncGenerator[tuple[GroupRow, ...]]:
        """Give all groups that `rows` gives by pages, some at a time; raises as `rows`."""
        page = Page(_statuses(status), order=order, where=tuple(where))
        groups = await self._groups(self._cache.get(cache_key), page)
        async with aclosing(groups.batches(page)) as batches:
            async for batch in batches:
                yield batch

    async def heat_map(self, cache_key: str, dimensions: tuple[str, str], measure: str) -> HeatMap:
        """Return the gap of a measure over two of the dimensions that are aligned on.

        Raises as `rows` does.
        """
        kept = self._cache.get(cache_key)
        table = await self._differences(cache_key, kept)
        return await read_heat_map(table, self._workspace, kept.plan, dimensions, measure)

    async def explain(self, cache_key: str, dimensions: Sequence[str] | None = None) -> Explanation:
        """Return which members of which dimensions carry the gap, the smallest explanation first.

        The dimensions are those that the comparison is aligned on; `dimensions` names others to
        break the gap down by as well, for which the sources are compared at that finer grain.
        What would take too much memory or time is left out, and the notes say so.
        Raises as `rows` and `compare` do.
        """
        kept = self._cache.get(cache_key)
        grain = tuple(dict.fromkeys((*kept.plan.align_on, *(dimensions or ()))))
        if grain != kept.plan.align_on:
            kept = await self._compared(kept.question.aligned_on(grain), None)
        table = await self._differences(kept.result.cache_key, kept)
        found, notes = await explain_measures(table, self._workspace, kept.plan, kept.ground)
        return Explanation(cache_key, grain, unused_dimensions(kept.plan), found, notes)

    async def drill_down(
        self, cache_key: str, key: Mapping[str, object], limit: int = 100
    ) -> DrillDown:
        """Return the rows behind one group on both sides; `key` names it by its dimensions.

        Raises as `rows` does, and `QueryError`.
        """
        if not 1 <= limit <= MAX_DRILLED:
            raise InvalidInputError(f"limit is from 1 to {MAX_DRILLED}")
        return await drill_down(self._cache.get(cache_key).plan, key, limit)

    def remembered(self, cache_key: str) -> ComparisonResult:
        """Return the result of a comparison made before; raises `InvalidInputError`."""
        return self._cache.get(cache_key).result

    def question(self, cache_key: str) -> Question:
        """Return what was asked in a comparison made before; raises `InvalidInputError`."""
        return self._cache.get(cache_key).question

    async def aclose(self) -> None:
        """Forget all comparisons and what they hold."""
        self._cache.clear()
        await self._workspace.aclose()

    async def _compared(self, question: Question, progress: Progress | None) -> Remembered:
        plan = await self._planner.plan(question)
        key = self._planner.cache_key(plan, self._top)
        found = self._cache.find(key)
        if found is not None:
            return found
        return await self._comparing.run(key, lambda: self._run(question, plan, key, progress))

    async def _run(
        self, question: Question, plan: ComparisonPlan, key: str, progress: Progress | None
    ) -> Remembered:
        snapshot = datetime.now(UTC).isoformat(timespec="seconds")
        ground = await ground_of(plan, self._workspace, progress)
        statement = await asyncio.to_thread(
            lambda: ground.statement(comparison_statement(plan, ground.pieces(), self._top), plan)
        )
        summary, found = read_rows(await ground.ask(statement), plan)
        names = plan.a.source.name, plan.b.source.name
        limits = {measure.name: measure.thresholds for measure in plan.measures}
        result = ComparisonResult(
            source_a=names[0],
            source_b=names[1],
            summary=summary,
            top_differences=tuple(each for each in found if each.status != "match"),
            interpretation=interpret(*names, summary, found, limits),
            cache_key=key,
            proof=Proof(
                sql=statement.text,
                parameters=statement.parameters,
                queries=ground.queries,
                snapshot=snapshot,
                align_on=plan.align_on,
                filters=plan.a.where,
                thresholds=limits,
            ),
        )
        kept = Remembered(question, plan, ground, result)
        self._cache.keep(key, kept)
        await self._workspace.drop(*self._cache.forgotten())
        return kept

    async def _groups(self, kept: Remembered, page: Page) -> Groups:
        if "match" in page.statuses:
            return Groups(kept.plan, kept.ground, None)
        table = await self._differences(kept.result.cache_key, kept)
        return Groups(kept.plan, kept.ground, (self._workspace, table))

    async def _differences(self, key: str, kept: Remembered) -> str:
        if kept.differences is None:
            kept.differences = await self._keeping.run(
                key, lambda: keep_differences(kept.ground, kept.plan, self._workspace)
            )
        return kept.differences


def _statuses(given: Status | Sequence[Status] | None) -> tuple[Status, ...]:
    if given is None:
        return DIFFERENT
    wanted: tuple[Status, ...] = (given,) if isinstance(given, str) else tuple(given)
    for status in wanted:
        if status not in STATUSES:
            raise InvalidInputError(f"no class {quoted(status)}; classes: {', '.join(STATUSES)}")
    return tuple(dict.fromkeys(wanted)) or DIFFERENT

"""Compares two sources exactly, where their data is stored, and caches the results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from skillian.data.comparison import Depth
from skillian.data.comparison.cache import Computation, DifferingGroups, Kept, Memory
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.explain.members import explain_measures
from skillian.data.comparison.groups import choose_place
from skillian.data.comparison.interpretation import Interpretation
from skillian.data.comparison.plan import (
    ComparisonPlan,
    Planner,
    Side,
    common_columns,
    unused_dimensions,
)
from skillian.data.comparison.statement import classify, stage_groups
from skillian.data.comparison.summary import read_summary
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.binding import Binder, unchanged
from skillian.data.results.groups import Summary
from skillian.data.results.result import ComparisonResult, Proof, RowCounts
from skillian.data.results.rows import TableKey
from skillian.data.schema.diff import SchemaDiff, compare_schemas
from skillian.errors import InvalidInputError, ToolError
from skillian.tasks import Progress

# What only pages and the rows of a group need is loaded when it is used.
if TYPE_CHECKING:
    from skillian.data.comparison.explain.heat_map import HeatMap
    from skillian.data.comparison.page import ComparisonRows, PageRow
    from skillian.data.comparison.row_pairs import PairedRows
    from skillian.data.comparison.rows import DrillDown

MAX_DRILLED = 1000
MAX_PAIRED = 200
"""The maximum number of rows of each side: each may be judged with each of the other side."""
MAX_QUESTIONS = 10_000
_DRILLED_ROWS = 50
_FEW_ROWS = 1_000_000
"""How many rows of the sources are read again for a heat map."""


class MeasureEngine:
    """Compares the measures of two sources.

    Args:
        registry: The declared sources.
        binder: Binds them to their databases.
        memory: Keeps the results.
        top: How many of the largest differences of each measure a result has.
        compare: Compares, or finds the comparison in the memory.
    """

    def __init__(
        self,
        registry: SourceRegistry,
        binder: Binder,
        memory: Memory,
        top: int,
        compare: Callable[[SavedComparison], Awaitable[Kept]],
    ) -> None:
        self._planner = Planner(registry, binder)
        self._undeclared = registry.undeclared
        self._top = top
        self._workspace = memory.workspace
        self._memory = memory
        self._compare = compare
        self._answered: LRUCache[str, str] = LRUCache(MAX_QUESTIONS)

    async def asked(self, question: SavedComparison, _key: str) -> Computation:
        """The comparison of the measures per combination of the dimensions to align on.

        Without `align_on`, the dimensions of the declared default that both sources have are used.
        The configuration supplies the limits that `thresholds` does not state; a class without any
        limit is exact. Its key is that of its plan. Sources of two connections are aggregated in
        their databases and staged in the workspace. Raises `InvalidInputError`, `UnknownNameError`,
        `QueryError` or `UnavailableError`.
        """
        sources = await self._planner.bind(question)
        digest = question.digest
        key = self._answered.get(digest, "")
        known, plan = self._memory.find(key), None
        if known is None or not known.of(DifferingGroups).is_about(sources):
            plan = await self._planner.plan(question, sources)
            key = self._answered[digest] = self._planner.cache_key(plan, self._top)

        async def compute(
            progress: Progress | None,
        ) -> tuple[ComparisonResult, DifferingGroups]:
            # What a plan says of types depends on the data, which may be other than before.
            now = plan or await self._planner.plan(question, sources)
            return await self._run(now, key, progress)

        return Computation(key, key, compute)

    async def check(self, question: SavedComparison) -> None:
        """Check a question without running it; raises as `asked` does."""
        await self._planner.plan(question, await self._planner.bind(question))

    def groups(self, cache_key: str) -> DifferingGroups:
        """The groups of a comparison that is kept; raises `InvalidInputError`."""
        return self._memory.get(cache_key).of(DifferingGroups)

    async def heat_map(self, cache_key: str, dimensions: tuple[str, str], measure: str) -> HeatMap:
        """The gap of a measure over two of the dimensions of the key.

        Groups without a difference are read, too, if they and the rows of the sources are few.
        Raises `InvalidInputError` for a comparison that has expired, and `UnknownNameError`.
        """
        from skillian.data.comparison.explain.heat_map import SIDE, read_heat_map  # noqa: PLC0415
        from skillian.data.comparison.page import Page  # noqa: PLC0415 - see above

        comparison = self.groups(cache_key)
        summary = comparison.result.summary
        equal: list[Mapping[str, object]] = []
        classes, rows = summary.classes, summary.rows_a + summary.rows_b
        if 0 < classes.match <= classes.groups <= SIDE**2 and rows <= _FEW_ROWS:
            page = Page(statuses=("match",), limit=classes.match)
            equal = [group.key for group in (await self._memory.get(cache_key).page(page)).rows]
        table, plan = comparison.table, comparison.plan
        return await read_heat_map(table, self._workspace, plan, dimensions, measure, equal=equal)

    async def explain(
        self,
        cache_key: str,
        dimensions: Sequence[str] | None = None,
        _report: Callable[[str], object] | None = None,
    ) -> Explanation:
        """Which members of which dimensions carry the gap, the smallest explanation first.

        It uses the dimensions of the key; `dimensions` names further ones to break the gap down by,
        for which the sources are compared at that finer grain. What would take too much memory or
        time is omitted, and the notes say so.
        Raises as `asked` does.
        """
        comparison = self.groups(cache_key)
        grain = tuple(dict.fromkeys((*comparison.plan.align_on, *(dimensions or ()))))
        if grain != comparison.plan.align_on:
            question = self._memory.get(cache_key).question
            finer = question.model_copy(update={"align_on": grain})
            comparison = (await self._compare(finer)).of(DifferingGroups)
        plan, summary = comparison.plan, comparison.result.summary
        measures, notes = await explain_measures(
            comparison.table, self._workspace, comparison.place, summary.rows_a + summary.rows_b
        )
        return Explanation(cache_key, grain, unused_dimensions(plan), measures, notes)

    async def details(
        self, cache_key: str, depth: Depth, report: Callable[[str], object]
    ) -> Mapping[str, Any]:
        """The `explanation`, `rows` and `drilled` rows of a report; what fails is in its notes."""
        kept = self._memory.get(cache_key)
        explanation: Explanation | None = None
        rows: ComparisonRows[PageRow] | None = None
        drilled: list[DrillDown] = []
        notes: list[str] = []
        try:
            report("explaining the gap")
            explanation = await self.explain(cache_key)
        except ToolError as error:
            notes.append(f"The gap could not be explained: {error}")
        try:
            if depth.groups:
                from skillian.data.comparison.page import Page  # noqa: PLC0415 - see above

                rows = await kept.page(Page((), limit=depth.groups))
            largest = rows.rows[: depth.drilled] if rows else ()
            for number, group in enumerate(largest, 1):
                report(f"reading the rows of group {number} of {len(largest)}")
                drilled.append(await self.drill_down(cache_key, group.key, _DRILLED_ROWS))
        except ToolError as error:
            notes.append(f"Not all groups that differ are shown: {error}")
        if notes:
            columns = kept.result.key_columns
            explanation = explanation or Explanation(cache_key, columns, (), ())
            explanation = replace(explanation, notes=(*explanation.notes, *notes))
        return {"explanation": explanation, "rows": rows, "drilled": tuple(drilled)}

    async def drill_down(
        self, cache_key: str, key: Mapping[str, object], limit: int = 100
    ) -> DrillDown:
        """The rows of one group on both sides; `key` has the value of each dimension.

        Raises `InvalidInputError` for a comparison that has expired, and `QueryError`.
        """
        if not 1 <= limit <= MAX_DRILLED:
            raise InvalidInputError(f"limit must be from 1 to {MAX_DRILLED}")
        from skillian.data.comparison.rows import drill_down  # noqa: PLC0415 - see above

        return await drill_down(self.groups(cache_key).plan, key, limit)

    async def paired_rows(
        self, cache_key: str, key: Mapping[str, object], limit: int = MAX_PAIRED
    ) -> PairedRows:
        """The rows of one group, each next to its counterpart; raises as `drill_down`."""
        if not 1 <= limit <= MAX_PAIRED:
            raise InvalidInputError(f"limit must be from 1 to {MAX_PAIRED}")
        from skillian.data.comparison.row_pairs import paired_rows  # noqa: PLC0415 - see above

        return await paired_rows(self.groups(cache_key).plan, key, limit)

    async def _run(
        self, plan: ComparisonPlan, key: str, progress: Progress | None
    ) -> tuple[ComparisonResult, DifferingGroups]:
        snapshot = datetime.now(UTC).isoformat(timespec="seconds")
        tables: list[str] = []
        try:
            async with unchanged(plan.a.source, plan.b.source):
                place = await choose_place(plan, self._workspace, progress)
                tables += place.tables
                place, statement, staged = await stage_groups(place, self._workspace)
                tables.append(staged)
            different = await classify(place.plan, staged, self._workspace)
            tables.append(different)
            summary, top = await read_summary(plan, self._workspace, staged, different, self._top)
        except BaseException:
            await self._workspace.drop(*tables)
            raise
        await self._workspace.drop(staged)
        names = plan.a.source.name, plan.b.source.name
        limits = {measure.name: measure.thresholds for measure in plan.measures}
        words = Interpretation(names, summary, top, limits)
        schema = _compare_schemas(plan, self._undeclared)
        result = ComparisonResult(
            source_a=names[0],
            source_b=names[1],
            key=TableKey(plan.align_on, "given", ""),
            rows=_counted(summary),
            summary=summary,
            top_differences=tuple(each for each in top if each.status != "match"),
            sentences=tuple(words.sentences()),
            findings=tuple(words.findings()),
            cache_key=key,
            proof=Proof(
                sql=statement.text,
                parameters=statement.parameters,
                queries=place.queries,
                snapshot=snapshot,
                align_on=plan.align_on,
                filters=plan.a.where,
                thresholds=limits,
                place="workspace" if place.tables else "database",
                dialect=place.engine.dialect,
            ),
            schema=schema.where_values_fit(() if summary.classes.missing_in_b else plan.align_on),
        )
        return result, DifferingGroups(result, plan, place, self._workspace, different)


def _counted(summary: Summary) -> RowCounts:
    """The groups of both sides, each of which is one row with a key of its own."""
    classes = summary.classes
    return RowCounts(
        rows_a=summary.groups_a,
        rows_b=summary.groups_b,
        differing=classes.minor_diff + classes.major_diff,
        only_in_a=classes.missing_in_b,
        only_in_b=classes.missing_in_a,
    )


def _compare_schemas(plan: ComparisonPlan, undeclared: Collection[str]) -> SchemaDiff:
    """Compare the schemas of the tables of two sources.

    The columns of a logical name belong together. If both sources are among `undeclared`, columns
    of one side are findings, and so are other types of what the comparison uses; a declared source
    says what to compare.
    """
    a, b = plan.a.source, plan.b.source
    mapping: dict[str, str] = {}
    for _, one, other, _ in common_columns(a, b):
        if one and other and one not in mapping and other not in mapping.values():
            mapping[one] = other
    diff = compare_schemas(a.table, b.table, mapping, names=(a.name, b.name))
    if not {a.name, b.name} <= {*undeclared}:
        return diff.with_findings(lambda _: False)
    used_a, used_b = ({*_columns(side, plan)} for side in (plan.a, plan.b))
    return diff.with_findings(
        lambda each: (
            None in (each.column_a, each.column_b)
            or each.column_a in used_a
            or each.column_b in used_b
        )
    )


def _columns(side: Side, plan: ComparisonPlan) -> Iterator[str]:
    """Yield the columns of a side that a comparison uses."""
    source = side.source
    dimensions, measures = source.definition.dimensions, source.definition.measures
    names = (*plan.align_on, *(each.dimension for each in side.where))
    stated = [dimensions[name].column for name in names]
    stated += [column for each in plan.measures if (column := measures[each.name].column)]
    yield from filter(None, map(source.column_of, stated))

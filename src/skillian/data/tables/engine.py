"""Compares the rows of two tables: in their database, or in DuckDB after both are staged there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from skillian.data.comparison import TOP, Depth
from skillian.data.comparison.cache import Computation, Kept, Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.binding import Binder, BoundSource, one_state
from skillian.data.query.filters import stated
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import ColumnCoverage, Proposal, TableKey
from skillian.data.tables.columns import ColumnPair, Pairing, left_out
from skillian.data.tables.findings import Findings
from skillian.data.tables.keys import most_meet, proven, unidentified
from skillian.data.tables.pairing import (
    check_names,
    keys_of,
    paired_sides,
    schema_of,
    without_unread,
)
from skillian.data.tables.place import RowComparison, SideRows, StagedDifferences
from skillian.data.tables.proposals import proposed_renames
from skillian.data.tables.sentences import findings, in_words, notes_on, remarks_on
from skillian.errors import InvalidInputError, OtherSubjectError, UnreadableColumnError
from skillian.tasks import Progress, SingleFlight, phase, together

# What only rows that are kept need is loaded when it is used.
if TYPE_CHECKING:
    from skillian.data.tables.differing import DifferingRows
    from skillian.data.tables.why.results import Report, Why


@dataclass(frozen=True, slots=True)
class TablePreview(Pairing):
    """What a comparison would compare.

    Attributes:
        key: The columns that identify a row; None if none were found.
        no_key: Why none were found; empty if they were.
        proposals: Pairs of the columns of one side that may be one column each, the most similar
            first.
    """

    key: TableKey | None = None
    no_key: str = ""
    proposals: tuple[Proposal, ...] = ()


class TableEngine:
    """Compares the rows of two sources.

    Args:
        binder: Binds the sources to their databases.
        memory: Keeps results and rows that differ.
        top: How many pairs of values and samples a result has.
    """

    def __init__(self, binder: Binder, memory: Memory, top: int = TOP) -> None:
        self._binder = binder
        self._memory = memory
        self._top = top
        self._workspace = memory.workspace
        self._explaining: SingleFlight[Why] = SingleFlight()

    async def asked(self, question: SavedComparison, key: str) -> Computation:
        """The comparison of rows, which is always made; it has a new key if `key` is empty."""
        shared = question.digest, key
        return Computation(key or uuid4().hex, shared, partial(self._with_rows, question))

    async def explain(
        self, cache_key: str, dimensions: Sequence[str] | None = None, report: Report | None = None
    ) -> Why:
        """What explains the rows that differ, each rule proved by another comparison.

        It is kept with the comparison; simultaneous requests share the work.

        Raises:
            ToolError: Dimensions are named, which rows do not have, the comparison has expired or
                is one of measures, or a database refuses.
        """
        if dimensions:
            raise OtherSubjectError("`dimensions` are for measures; this comparison has whole rows")
        from skillian.data.tables.differing import DifferingRows  # noqa: PLC0415 - see above

        kept = self._memory.get(cache_key)
        rows = kept.of(DifferingRows)
        if rows.why is None:
            work = partial(self._why, cache_key, kept, rows, report)
            rows.why = await self._explaining.run(cache_key, work)
        return rows.why

    async def details(self, cache_key: str, depth: Depth, report: Report) -> Mapping[str, Any]:
        """`why` rows differ, for a report, if that is asked; raises as `explain` does."""
        if not depth.why:
            return {}
        report("looking for what explains the rows that differ")
        return {"why": await self.explain(cache_key, report=report)}

    async def _why(
        self, cache_key: str, kept: Kept, rows: DifferingRows, report: Report | None
    ) -> Why:
        from skillian.data.tables.why.causes import why  # noqa: PLC0415 - it uses this engine

        with self._memory.holding(cache_key):
            found = await why(self, kept.question, kept.result, rows, report)
        await self._memory.drop_evicted()
        return replace(found, cache_key=cache_key)

    async def _with_rows(
        self, question: SavedComparison, progress: Progress | None
    ) -> tuple[ComparisonResult, DifferingRows | None]:
        """The result and the rows that differ, unless these are too many."""
        most = self._memory.most_rows
        rows: DifferingRows | None = None
        try:
            async with self.compared(question, progress, whole=most > 0) as (result, staged):
                if most:
                    from skillian.data.tables.differing import DifferingRows  # noqa: PLC0415 - see above

                    rows = DifferingRows(staged)
                    if await rows.total() > most:
                        return result, None
                    rows.table = await self._workspace.rename(rows.table)
        except BaseException:
            await self._workspace.drop(*(rows.tables if rows else ()))
            raise
        return result, rows

    async def compute(
        self, question: SavedComparison, progress: Progress | None = None
    ) -> ComparisonResult:
        """Compare all rows of two tables, and keep none; as `compared`."""
        async with self.compared(question, progress) as (result, _):
            return result

    @asynccontextmanager
    async def compared(
        self, question: SavedComparison, progress: Progress | None = None, *, whole: bool = False
    ) -> AsyncGenerator[tuple[ComparisonResult, StagedDifferences]]:
        """Compare all rows of two tables; those that differ are staged until the context ends.

        A column that cannot be read, because one of its values is not of its type, is not compared.

        Args:
            question: What to compare.
            progress: Gets the name of a source and how many of its rows are staged.
            whole: Whether rows that differ are staged with all of their cells.

        Raises:
            ToolError: A name is wrong, no key was found, or a database refuses.
        """
        bound = await self._bound(question)
        unread: list[UnreadableColumnError] = []
        while True:
            async with AsyncExitStack() as opened:
                try:
                    sources = await opened.enter_async_context(one_state(*bound))
                    pairing, sides = await paired_sides(question, sources)
                    for error in unread:
                        pairing = without_unread(error, pairing, sides, question.key)
                    lone = (pairing.lone(0), pairing.lone(1)) if whole else None
                    start = partial(RowComparison, self._workspace, sides, progress, lone=lone)
                    found = await self._compared(question, pairing, sides, start, opened)
                except UnreadableColumnError as error:
                    if error in unread:
                        raise
                    unread.append(error)
                    continue
                yield found
                return

    async def _compared(
        self,
        question: SavedComparison,
        pairing: Pairing,
        sides: tuple[SideRows, SideRows],
        start: Callable[[Sequence[ColumnPair], int], RowComparison],
        opened: AsyncExitStack,
    ) -> tuple[ComparisonResult, StagedDifferences]:
        """The comparison by the first key by which most rows meet, or else by the first key."""
        best: tuple[ComparisonResult, StagedDifferences] | None = None
        tried: list[set[str]] = []
        if not question.key and not question.multiset:
            phase("finding the key")
        async with aclosing(keys_of(question, pairing, sides)) as keys:
            async for key in keys:
                if any(columns < {*key.columns} for columns in tried):
                    continue
                with_key = pairing.with_key(key.columns)
                comparison = start(with_key.pairs, len(key.columns))
                opened.push_async_callback(comparison.drop)
                compared = await self._run(question, with_key, key, comparison)
                if compared is None:
                    continue
                tried.append({*key.columns})
                is_good = key.origin != "profile" or most_meet(compared[0].rows)
                if best is None or is_good:
                    best = compared
                if is_good:
                    break
        if best is None:
            raise unidentified(pairing)
        return best

    async def check(self, question: SavedComparison) -> None:
        """Check that both sources are there, and names and filters; raises as `compare` does."""
        check_names(question, await self._bound(question))

    async def preview(self, question: SavedComparison) -> TablePreview:
        """Which columns would be compared, and by which key; raises as `compare` does."""
        pairing, sides = await paired_sides(question, await self._bound(question))
        key, refusal = None, ""
        try:
            async with aclosing(keys_of(question, pairing, sides)) as keys:
                key = await anext(keys)
        except InvalidInputError as error:
            refusal = str(error)
        pairing = pairing.with_key(key.columns if key else ())
        proposals = await proposed_renames(pairing.only_a, pairing.only_b, sides)
        columns = {each.name: getattr(pairing, each.name) for each in fields(pairing)}
        return TablePreview(**columns, key=key, no_key=refusal, proposals=proposals)

    async def _bound(self, question: SavedComparison) -> tuple[BoundSource, BoundSource]:
        a, b = await together(self._binder.bind(question.a), self._binder.bind(question.b))
        return a, b

    async def _run(
        self, question: SavedComparison, pairing: Pairing, key: TableKey, comparison: RowComparison
    ) -> tuple[ComparisonResult, StagedDifferences] | None:
        """The result and its rows; None if a key that was proposed is repeated on both sides."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        sides = comparison.sides  # which the comparison may narrow
        staged = await comparison.run(started)
        plan = staged.plan
        cells = Findings(staged, self._top)
        counts, mismatches = await cells.counts()
        reasoned = proven(key, counts, [side.name for side in sides])
        if reasoned is None:
            return None
        columns = [
            await cells.column(index, pair, counts.met, mismatches[index])
            for index, pair in enumerate(comparison.pairs)
            if index >= plan.keys
        ]
        result = ComparisonResult(
            source_a=question.a,
            source_b=question.b,
            key=reasoned,
            rows=counts,
            columns=tuple(columns),
            coverage=_coverage(question, comparison),
            not_compared=pairing.not_compared,
            schema=schema_of(question, sides, pairing).where_values_fit(
                [pair.a for pair in comparison.pairs if counts.are_equal and pair.is_exact]
            ),
            samples=await cells.samples(self._top, counts, mismatches),
            proposals=await proposed_renames(pairing.only_a, pairing.only_b, sides),
            notes=(
                *notes_on(comparison.pairs),
                *remarks_on(sides),
                *filter(None, [comparison.segments.sentence()]),
            ),
            proof=replace(staged.proof, filters=stated(sides[0].where, sides[1].where)),
        )
        result = replace(result, sentences=in_words(result), findings=findings(result))
        return result, staged


def _coverage(question: SavedComparison, comparison: RowComparison) -> ColumnCoverage:
    a, b = ((*side.source.columns, *side.source.table.forbidden) for side in comparison.sides)
    others = left_out(comparison.pairs, a, b, question.names_in_b)
    return ColumnCoverage(len(comparison.pairs), others)

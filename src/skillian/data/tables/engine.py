"""Compares the rows of two tables: in their database, or in DuckDB after both are staged there."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

from skillian.data.comparison.cache import Kept, Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.phases import Progress, phase
from skillian.data.query.binding import Binder, BoundSource
from skillian.data.query.filters import stated
from skillian.data.query.shared import one_state
from skillian.data.single_flight import SingleFlight, together
from skillian.data.tables.columns import (
    ColumnCoverage,
    ColumnPair,
    NotCompared,
    Pairing,
    key_pairs,
    left_out,
)
from skillian.data.tables.differing import DifferingRows, Keep
from skillian.data.tables.findings import Findings
from skillian.data.tables.keys import most_meet, proven, unidentified
from skillian.data.tables.pairing import keys_of, paired_sides, schema_of, without_unread
from skillian.data.tables.place import RowComparison, SideRows
from skillian.data.tables.proposals import proposed_renames
from skillian.data.tables.results import Proposal, TableKey, TableResult
from skillian.data.tables.sentences import in_words, notes_on, remarks_on
from skillian.data.tables.why.results import Why
from skillian.errors import InvalidInputError, UnreadableColumnError

TOP = 10


@dataclass(frozen=True, slots=True)
class TablePreview:
    """What a comparison would compare.

    Attributes:
        key: The columns that identify a row; None if none were found.
        no_key: Why none were found; empty if they were.
        pairs: The columns that would be compared, in the order of a.
        not_compared: The columns of both sides that would not be.
        only_a: The columns of a without a counterpart.
        only_b: The columns of b without a counterpart.
        proposals: Pairs of these that may be one column each, the most similar first.
    """

    key: TableKey | None
    no_key: str
    pairs: tuple[ColumnPair, ...]
    not_compared: tuple[NotCompared, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    proposals: tuple[Proposal, ...]


class KeptRows(Kept):
    """A result, and the rows that differ; None if they are not kept.

    Args:
        question: What was compared.
        result: The result.
        rows: The rows.
        table_bytes: What they take.
        private: As of `Kept`.

    Attributes:
        why: What explains the rows, once that was asked.
    """

    subject = "whole rows"

    def __init__(
        self,
        question: SavedComparison,
        result: TableResult,
        rows: DifferingRows | None,
        table_bytes: int,
        *,
        private: bool,
    ) -> None:
        tables = () if rows is None else (rows.table,)
        super().__init__(question, result, tables, table_bytes, private=private)
        self.result = result
        self.rows = rows
        self.why: Why | None = None


class TableEngine:
    """Compares the rows of two sources.

    Args:
        binder: Binds the sources to their databases.
        memory: Keeps results and rows that differ.
        top: How many pairs of values and samples a result has.
        private: Whether results are known only to those who may read the sources.
    """

    def __init__(
        self, binder: Binder, memory: Memory, top: int = TOP, *, private: bool = False
    ) -> None:
        self._private = private
        self._binder = binder
        self._memory = memory
        self._top = top
        self._workspace = memory.workspace
        self._comparing: SingleFlight[TableResult] = SingleFlight()

    async def remember(
        self,
        question: SavedComparison,
        progress: Progress | None = None,
        key: str = "",
    ) -> TableResult:
        """Compare as `compare` does, and keep the rows that differ.

        Requests for the same that come while it runs share its result; a later one compares again.

        Args:
            question: What to compare.
            progress: As of `compare`.
            key: The cache key of the result; a new one if it is empty.
        """
        return await self._comparing.run(
            (question.digest, key),
            lambda: self._remember(question, progress, key or uuid4().hex),
        )

    async def _remember(
        self, question: SavedComparison, progress: Progress | None, key: str
    ) -> TableResult:
        kept: list[DifferingRows] = []

        async def keep(rows: DifferingRows) -> None:
            if await rows.total() <= self._memory.most_rows:
                rows.table = await self._workspace.rename(rows.table)
                kept.append(rows)

        try:
            result = await self.compare(
                question, progress, keep if self._memory.most_rows else None
            )
        except BaseException:
            await self._workspace.drop(*(rows.table for rows in kept))
            raise
        result = replace(result, cache_key=key)
        size = self._workspace.size(*(rows.table for rows in kept))
        rows = next(iter(kept), None)
        kept_rows = KeptRows(question, result, rows, size, private=self._private)
        await self._memory.store(key, kept_rows)
        return result

    async def compare(
        self,
        question: SavedComparison,
        progress: Progress | None = None,
        keep: Keep | None = None,
    ) -> TableResult:
        """Compare all rows of two tables.

        A column that cannot be read, because one of its values is not of its type, is not compared.

        Args:
            question: What to compare.
            progress: Gets the name of a source and how many of its rows are staged.
            keep: Gets all rows that differ, with all of their cells; they are dropped afterwards.

        Raises:
            ToolError: A name is wrong, no key was found, or a database refuses.
        """
        bound = await self._bound(question)
        unread: list[UnreadableColumnError] = []
        while True:
            try:
                async with one_state(*bound) as sources:
                    pairing, sides = await paired_sides(question, sources)
                    for error in unread:
                        pairing = without_unread(error, pairing, sides, question.key)
                    return await self._compared(question, pairing, sides, progress, keep)
            except UnreadableColumnError as error:
                if error in unread:
                    raise
                unread.append(error)

    async def _compared(
        self,
        question: SavedComparison,
        pairing: Pairing,
        sides: tuple[SideRows, SideRows],
        progress: Progress | None,
        keep: Keep | None,
    ) -> TableResult:
        best: tuple[TableResult, DifferingRows] | None = None
        tried: list[set[str]] = []
        async with AsyncExitStack() as comparisons:
            if not question.key and not question.multiset:
                phase("finding the key")
            for key in await keys_of(question, pairing, sides):
                if any(columns < {*key.columns} for columns in tried):
                    continue
                first = key_pairs(pairing, key.columns)
                pairs = (*first, *(pair for pair in pairing.pairs if pair not in first))
                comparison = RowComparison(
                    self._workspace,
                    pairs,
                    len(first),
                    sides,
                    progress,
                    lone=None if keep is None else (pairing.lone(0), pairing.lone(1)),
                )
                comparisons.push_async_callback(comparison.drop)
                compared = await self._run(question, pairing, key, comparison)
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
            result, rows = best
            if keep is not None:
                await keep(rows)
            return result

    async def check(self, question: SavedComparison) -> None:
        """Check that both sources are there; raises as `compare` does."""
        await self._bound(question)

    async def preview(self, question: SavedComparison) -> TablePreview:
        """Which columns would be compared, and by which key; raises as `compare` does."""
        pairing, sides = await paired_sides(question, await self._bound(question))
        key, refusal = None, ""
        try:
            key = (await keys_of(question, pairing, sides))[0]
        except InvalidInputError as error:
            refusal = str(error)
        proposals = await proposed_renames(pairing.only_a, pairing.only_b, sides)
        columns = pairing.pairs, pairing.not_compared, pairing.only_a, pairing.only_b
        return TablePreview(key, refusal, *columns, proposals)

    async def _bound(self, question: SavedComparison) -> tuple[BoundSource, BoundSource]:
        a, b = await together(self._binder.bind(question.a), self._binder.bind(question.b))
        return a, b

    async def _run(
        self,
        question: SavedComparison,
        pairing: Pairing,
        key: TableKey,
        comparison: RowComparison,
    ) -> tuple[TableResult, DifferingRows] | None:
        """The result and its rows; None if a key that was proposed is repeated on both sides."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        sides = comparison.sides  # which the comparison may narrow
        compared_rows = await comparison.run(started)
        plan, table = compared_rows.plan, compared_rows.table
        findings = Findings(self._workspace, table, plan, self._top)
        counts, mismatches = await findings.counts()
        reasoned = proven(key, counts, [side.name for side in sides])
        if reasoned is None:
            return None
        compared = counts.matched + counts.differing
        columns = [
            replace(
                await findings.column(index, compared, mismatches[index]),
                type_a=comparison.pairs[index].cells.a.sql,
                type_b=comparison.pairs[index].cells.b.sql,
            )
            for index in range(plan.keys, len(plan.pairs))
        ]
        result = TableResult(
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
            samples=await findings.samples(self._top, counts, mismatches),
            proposals=await proposed_renames(pairing.only_a, pairing.only_b, sides),
            notes=(
                *notes_on(comparison.pairs),
                *remarks_on(sides),
                *filter(None, [comparison.segments.sentence()]),
            ),
            proof=compared_rows.proof,
            filters=stated(sides[0].where, sides[1].where),
        )
        result = replace(result, sentences=in_words(result))
        return result, DifferingRows(self._workspace, table, plan, compared_rows.lone)


def _coverage(question: SavedComparison, comparison: RowComparison) -> ColumnCoverage:
    a, b = (side.source.columns for side in comparison.sides)
    others = left_out(comparison.pairs, a, b, question.names_in_b)
    return ColumnCoverage(len(comparison.pairs), others)

"""Compares two sources, by their measures or by their rows, and keeps the results."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from skillian.connectors.base import ArrowBatch
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.data.comparison.cache import Kept, Memory, unknown
from skillian.data.comparison.page import ComparisonRows, Page, PageRow
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.phases import Progress
from skillian.data.query.binding import Binder
from skillian.data.single_flight import SingleFlight
from skillian.data.tables.differing import ROW_CLASSES, DifferingRows
from skillian.data.tables.engine import KeptRows, TableEngine, TablePreview
from skillian.data.tables.results import TableResult
from skillian.errors import InvalidInputError, RowsNotKeptError, quoted

# What only one kind of comparison needs is loaded when it is used: a command compares one kind.
if TYPE_CHECKING:
    from skillian.data.comparison.engine import CachedComparison, MeasureEngine
    from skillian.data.comparison.explain.explanation import Explanation
    from skillian.data.comparison.results import ComparisonResult
    from skillian.data.tables.why.causes import Report
    from skillian.data.tables.why.results import Why

    Result = ComparisonResult | TableResult


class ComparisonEngine:
    """Compares, and answers questions about what it has compared.

    Args:
        registry: The declared sources.
        binder: Binds them to their databases.
        memory: Keeps the results.
        top: How many of the largest differences and of the samples a result has.
        private: Whether results about rows are known only to those who may read the sources.
    """

    def __init__(
        self,
        registry: SourceRegistry,
        binder: Binder,
        memory: Memory,
        top: int = TOP,
        *,
        private: bool = False,
    ) -> None:
        self._memory = memory
        self._sources = registry, binder
        self._top = top
        self.tables = TableEngine(binder, memory, top, private=private)
        self._explaining: SingleFlight[Why] = SingleFlight()

    @cached_property
    def measures(self) -> MeasureEngine:
        """Compares measures."""
        from skillian.data.comparison.engine import MeasureEngine  # noqa: PLC0415 - see above

        return MeasureEngine(*self._sources, self._memory, self._top)

    async def compare(
        self,
        question: SavedComparison,
        progress: Progress | None = None,
        *,
        key: str = "",
    ) -> Result:
        """Compare, and keep the result under its cache key.

        Args:
            question: What to compare.
            progress: Gets the name of a source and how many of its rows or groups have arrived.
            key: The cache key of a comparison of rows; a new one if it is empty.

        Raises:
            ToolError: A name is wrong, or a database refuses.
        """
        if question.is_of_rows:
            return await self.tables.remember(question, progress, key)
        return await self.measures.compare(question, progress)

    @asynccontextmanager
    async def kept(
        self, question: SavedComparison, progress: Progress | None = None, *, again: bool = False
    ) -> AsyncGenerator[Result]:
        """Compare as `compare` does; what differs stays until the context ends.

        With `again`, the databases are read even if the same question was answered lately.
        """
        if not question.is_of_rows:
            async with self.measures.kept(question, progress, again=again) as result:
                yield result
            return
        key = uuid4().hex
        with self._memory.cache.holding(key):
            yield await self.tables.remember(question, progress, key)
        await self._memory.drop_evicted()

    @contextmanager
    def holding(self, cache_key: str) -> Generator[None]:
        """Keep what differs in a comparison until the context ends, whatever its age."""
        with self._memory.cache.holding(cache_key):
            yield

    async def check(self, question: SavedComparison) -> None:
        """Check a question without running it; raises as `compare` does before its statements."""
        if question.is_of_rows:
            await self.tables.check(question)
        else:
            await self.measures.check(question)

    async def preview(self, question: SavedComparison) -> TablePreview:
        """How rows would be compared; raises as `compare` does."""
        return await self.tables.preview(question)

    def remembered(self, cache_key: str) -> Result:
        """The result of a comparison that is kept; raises `InvalidInputError`."""
        kept = self._memory.cache.get(cache_key, Kept)
        return cast("CachedComparison | KeptRows", kept).result

    def public(self, cache_key: str) -> Result:
        """The result of a comparison that anybody may know; raises `InvalidInputError`."""
        result = self.remembered(cache_key)
        if not self.is_public(cache_key):
            raise unknown(cache_key)
        return result

    def is_public(self, cache_key: str) -> bool:
        """Whether a comparison is kept that anybody may know."""
        kept = self._memory.cache.find(cache_key, Kept)
        return kept is not None and not kept.private

    def question(self, cache_key: str) -> SavedComparison:
        """The question of a comparison that is kept; raises `InvalidInputError`."""
        return self._memory.cache.get(cache_key, Kept).question

    async def rows(self, cache_key: str, page: Page) -> ComparisonRows[PageRow]:
        """A page of the groups or rows of a comparison.

        Without classes in the page, those of all that differ are used. Groups come with the largest
        difference first, rows in the order of their classes and keys.

        Raises:
            InvalidInputError: The comparison has expired, or the page is invalid.
            UnknownNameError: The page names a column that was not compared.
        """
        if page.offset < 0 or not 1 <= (page.limit or 0) <= MAX_PAGE:
            raise InvalidInputError(f"offset must be at least 0, limit from 1 to {MAX_PAGE}")
        kept = self._memory.cache.get(cache_key, Kept)
        if not isinstance(kept, KeptRows):
            return await self.measures.rows(cache_key, page)
        rows, page = _rows_of(kept), page.of_classes(tuple(ROW_CLASSES))
        total, found = await rows.page(page, kept.orders)
        return ComparisonRows(cache_key, page.statuses, page.offset, total, found)

    async def explain(
        self,
        cache_key: str,
        dimensions: Sequence[str] | None = None,
        report: Report | None = None,
    ) -> Why | Explanation:
        """What `why` finds of rows; of measures, who carries the gap, by these dimensions."""
        kept = self._memory.cache.get(cache_key, Kept)
        if isinstance(kept, KeptRows):
            return await self.why(cache_key, report)
        return await self.measures.explain(cache_key, dimensions)

    async def why(self, cache_key: str, report: Report | None = None) -> Why:
        """What explains the rows that differ, each rule proved by another comparison.

        It is kept with the comparison; simultaneous requests share the work.

        Args:
            cache_key: The comparison.
            report: Gets what is tried.

        Raises:
            ToolError: The comparison has expired or is one of measures, or a database refuses.
        """
        kept = self._memory.cache.get(cache_key, KeptRows)
        if kept.why is None:
            work = partial(self._why, cache_key, kept, report)
            kept.why = await self._explaining.run(cache_key, work)
        return kept.why

    async def _why(self, cache_key: str, kept: KeptRows, report: Report | None) -> Why:
        from skillian.data.tables.why.causes import why  # noqa: PLC0415 - see above

        with self._memory.cache.holding(cache_key):
            found = await why(self.tables, kept.question, kept.result, _rows_of(kept), report)
        await self._memory.drop_evicted()
        return replace(found, cache_key=cache_key)

    async def batches(self, cache_key: str, page: Page | None = None) -> AsyncGenerator[ArrowBatch]:
        """Yield all groups or rows of a page, or all that differ; raises as `rows`.

        The first batch may be empty, and has the columns.
        """
        page = page or Page(())
        kept = self._memory.cache.get(cache_key, Kept)
        if isinstance(kept, KeptRows):
            found = _rows_of(kept).batches(page.of_classes(tuple(ROW_CLASSES)))
        else:
            from skillian.data.group_files import (  # noqa: PLC0415 - see above
                GroupTypes,
                group_batches,
                group_columns,
            )

            measured = cast("CachedComparison", kept)
            columns = group_columns(self.measures.tables(cache_key, page), measured.plan)
            found = group_batches(measured.result, columns, GroupTypes.of(measured.plan))
        async with aclosing(found):
            async for batch in found:
                yield batch


def _rows_of(kept: KeptRows) -> DifferingRows:
    if kept.rows is None:
        raise RowsNotKeptError(
            "more rows differ than are kept; get all of them with `skillian compare`"
            f" {quoted(kept.question.a)} {quoted(kept.question.b)} and --output diff.parquet"
        )
    return kept.rows

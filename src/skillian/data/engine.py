"""Compares two sources, by their measures or by their rows, and keeps the results."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from skillian.connectors.base import ArrowBatch, Connector
from skillian.data.comparison import MAX_PAGE, TOP, Depth
from skillian.data.comparison.cache import Computation, Kept, Memory, unknown
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.results.result import ComparisonResult
from skillian.errors import InvalidInputError
from skillian.tasks import Progress, SingleFlight

# What only measures, rows or pages need is loaded when it is used: a command compares one kind.
if TYPE_CHECKING:
    from skillian.data.comparison.engine import MeasureEngine
    from skillian.data.comparison.explain.explanation import Explanation
    from skillian.data.comparison.page import ComparisonRows, Page, PageRow
    from skillian.data.tables.engine import TableEngine
    from skillian.data.tables.why.results import Report, Why


class ComparisonEngine:
    """Compares, and answers questions about what it has compared.

    Args:
        registry: The declared sources.
        binder: Binds them to their databases.
        memory: Keeps the results.
        top: How many of the largest differences and of the samples a result has.
        private: Whether results are known only to those who may read the sources.
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
        self._private = private
        self._comparing = SingleFlight[Kept]()

    @cached_property
    def measures(self) -> MeasureEngine:
        """Compares measures."""
        from skillian.data.comparison.engine import MeasureEngine  # noqa: PLC0415 - see above

        return MeasureEngine(*self._sources, self._memory, self._top, self._kept)

    @cached_property
    def tables(self) -> TableEngine:
        """Compares rows."""
        from skillian.data.tables.engine import TableEngine  # noqa: PLC0415 - see above

        return TableEngine(self._sources[1], self._memory, self._top)

    def _of(self, question: SavedComparison) -> TableEngine | MeasureEngine:
        return self.measures if question.measures else self.tables

    async def compare(
        self, question: SavedComparison, progress: Progress | None = None, *, key: str = ""
    ) -> ComparisonResult:
        """Compare, and keep the result under its cache key.

        The same question about measures within the configured time is answered from the cache;
        whole rows are compared again. Simultaneous requests for the same share the work.

        Args:
            question: What to compare.
            progress: Gets the name of a source and how many of its rows or groups have arrived.
            key: The cache key of a comparison of rows; a new one if it is empty.

        Raises:
            ToolError: A name is wrong, or a database refuses.
        """
        asked = await self._of(question).asked(question, key)
        return (await self._answered(question, asked, progress)).result

    @asynccontextmanager
    async def kept(
        self, question: SavedComparison, progress: Progress | None = None, *, again: bool = False
    ) -> AsyncGenerator[ComparisonResult]:
        """Compare as `compare` does; what differs stays until the context ends, whatever the cache.

        With `again`, the databases are read even if the same question was answered lately.
        """
        asked = await self._of(question).asked(question, uuid4().hex)
        with self.holding(asked.key):
            yield (await self._answered(question, asked, progress, again=again)).result
        await self._memory.drop_evicted()

    async def _kept(self, question: SavedComparison) -> Kept:
        return await self._answered(question, await self._of(question).asked(question, ""), None)

    async def _answered(
        self,
        question: SavedComparison,
        asked: Computation,
        progress: Progress | None,
        *,
        again: bool = False,
    ) -> Kept:
        known = None if again else self._memory.find(asked.key)
        if known is not None:
            return known

        async def made() -> Kept:
            result, differing = await asked.compute(progress)
            size = self._memory.workspace.size(*(differing.tables if differing else ()))
            result = replace(result, cache_key=asked.key)
            kept = Kept(question, result, differing, size, private=self._private)
            await self._memory.store(asked.key, kept)
            return kept

        return await self._comparing.run(asked.shared, made)

    @contextmanager
    def holding(self, cache_key: str) -> Generator[None]:
        """Keep what differs in a comparison until the context ends, whatever its age."""
        with self._memory.holding(cache_key):
            yield

    async def check(self, question: SavedComparison) -> None:
        """Check a question without running it; raises as `compare` does before its statements."""
        await self._of(question).check(question)

    async def forget(self, cache_key: str) -> None:
        """Keep the comparison of this key no longer."""
        self._memory.forget(cache_key)
        await self._memory.drop_evicted()

    def remembered(self, cache_key: str) -> ComparisonResult:
        """The result of a comparison that is kept; raises `InvalidInputError`."""
        return self._memory.get(cache_key).result

    def public(self, cache_key: str) -> ComparisonResult:
        """The result of a comparison that anybody may know; raises `InvalidInputError`."""
        result = self.remembered(cache_key)
        if not self.is_public(cache_key):
            raise unknown(cache_key)
        return result

    def is_public(self, cache_key: str) -> bool:
        """Whether a comparison is kept that anybody may know."""
        kept = self._memory.find(cache_key)
        return kept is not None and not kept.private

    def question(self, cache_key: str) -> SavedComparison:
        """The question of a comparison that is kept; raises `InvalidInputError`."""
        return self._memory.get(cache_key).question

    async def rows(
        self, cache_key: str, page: Page, most: int = MAX_PAGE
    ) -> ComparisonRows[PageRow]:
        """A page of at most `most` groups or rows of a comparison.

        Without classes in the page, those of all that differ are used. Groups come with the largest
        difference first, rows in the order of their classes and keys.

        Raises:
            InvalidInputError: The comparison has expired, or the page is invalid.
            UnknownNameError: The page names a column that was not compared.
        """
        if page.offset < 0 or not 1 <= (page.limit or 0) <= most:
            raise InvalidInputError(f"offset must be at least 0, limit from 1 to {most}")
        return await self._memory.get(cache_key).page(page)

    async def explain(
        self, cache_key: str, dimensions: Sequence[str] | None = None, report: Report | None = None
    ) -> Why | Explanation:
        """What explains the rows that differ; of measures, who carries the gap, by dimensions."""
        return await self._of(self.question(cache_key)).explain(cache_key, dimensions, report)

    async def details(
        self, cache_key: str, depth: Depth, report: Callable[[str], None]
    ) -> Mapping[str, Any]:
        """What a report shows besides the result, by name; raises as `explain` does."""
        return await self._of(self.question(cache_key)).details(cache_key, depth, report)

    async def batches(self, cache_key: str, page: Page | None = None) -> AsyncGenerator[ArrowBatch]:
        """Yield all groups or rows of a page, or all that are findings; raises as `rows`.

        The first batch may be empty, and has the columns.
        """
        from skillian.data.comparison.page import Page  # noqa: PLC0415 - see above

        kept = self._memory.get(cache_key)
        page = page or Page((), uneven=kept.result.summary.row_findings > 0)
        page = page.of_subject(kept.result.subject)
        async with aclosing(kept.differing.batches(page)) as batches:
            async for batch in batches:
                yield batch


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

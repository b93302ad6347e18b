"""Recent comparisons, bounded by bytes and by age."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar, cast

from cachetools import TTLCache

from skillian.connectors.base import ArrowBatch
from skillian.connectors.duckdb.engine import Workspace
from skillian.data.declare.saved import SavedComparison
from skillian.data.results.result import ComparisonResult
from skillian.data.subjects import MEASURES, Subject
from skillian.errors import InvalidInputError, OtherSubjectError, RowsNotKeptError, quoted
from skillian.tasks import Progress

if TYPE_CHECKING:
    from skillian.data.comparison.groups import Place
    from skillian.data.comparison.page import ComparisonRows, Page, PageOrders, PageRow
    from skillian.data.comparison.plan import ComparisonPlan
    from skillian.data.comparison.rows import GroupRow
    from skillian.data.query.binding import BoundSource

MAX_BYTES = 64 * 1024 * 1024
# Question, plan and place, and the objects of a result: see benchmarks/comparison_memory.py.
EXTRA_BYTES, JSON_FACTOR = 16 * 1024, 3


class Differing(Protocol):
    """What differs in a comparison: rows, or groups; all of it is in tables of the workspace."""

    subject: ClassVar[Subject]

    @property
    def workspace(self) -> Workspace:
        """Where its tables are."""
        ...

    @property
    def tables(self) -> Sequence[str]:
        """The tables."""
        ...

    async def page(self, page: Page, orders: PageOrders) -> tuple[int, Sequence[PageRow]]:
        """How many rows all pages of this kind have, and those of a page."""
        ...

    def batches(self, page: Page) -> AsyncGenerator[ArrowBatch]:
        """Yield all rows of a page; the first batch may be empty, and has the columns."""
        ...


D = TypeVar("D", bound=Differing)


class Computation(NamedTuple):
    """How a question is answered.

    Attributes:
        key: The cache key of the answer.
        shared: Requests for which this is equal share the work.
        compute: Compares, and reports how much has arrived; of too many rows that differ it returns
            none.
    """

    key: str
    shared: Hashable
    compute: Callable[[Progress | None], Awaitable[tuple[ComparisonResult, Differing | None]]]


class Kept:
    """A comparison whose result is kept, and what differs, whose tables take `table_bytes`.

    Only those who may read its sources may know it if it is `private`.
    """

    def __init__(
        self,
        question: SavedComparison,
        result: ComparisonResult,
        differing: Differing | None,
        table_bytes: int,
        *,
        private: bool = False,
    ) -> None:
        self.question = question
        self.result = result
        self._differing = differing
        self.tables = [] if differing is None else [*differing.tables]
        self.private = private
        own = len(json.dumps(result.to_dict())) * JSON_FACTOR + EXTRA_BYTES
        # DuckDB bounds the memory of large tables itself, and writes the rest to disk.
        self.size = own + min(table_bytes, MAX_BYTES // 2)

    @cached_property
    def orders(self) -> PageOrders:
        """The orders of its pages."""
        from skillian.data.comparison.page import PageOrders  # noqa: PLC0415 - only pages need it

        return PageOrders(self.differing.workspace, self.tables)

    @property
    def differing(self) -> Differing:
        """What differs; raises `RowsNotKeptError`."""
        if self._differing is None:
            raise RowsNotKeptError(
                "more rows differ than are kept; get all of them with `skillian compare`"
                f" {quoted(self.question.a)} {quoted(self.question.b)} and --output diff.parquet"
            )
        return self._differing

    async def page(self, page: Page) -> ComparisonRows[PageRow]:
        """A page of what differs; raises `RowsNotKeptError`, and as `Page.of_subject`."""
        from skillian.data.comparison.page import ComparisonRows  # noqa: PLC0415 - as above

        page = page.of_subject(self.result.subject)
        total, rows = await self.differing.page(page, self.orders)
        return ComparisonRows(self.result.cache_key, page.statuses, page.offset, total, rows)

    def of(self, kind: type[D]) -> D:
        """What differs, of this kind; raises `InvalidInputError`."""
        needed, subject = kind.subject, self.result.subject
        if needed is not subject:
            raise OtherSubjectError(
                f"this needs a comparison of {needed.words}; this one is of {subject.words}"
            )
        return cast("D", self.differing)


def unknown(key: str) -> InvalidInputError:
    """The error for a comparison that is not kept, or that the caller may not know."""
    return InvalidInputError(
        f"the comparison {quoted(key[:12])} is unknown or has expired; compare the sources again"
    )


class Memory:
    """What comparisons keep: the workspace with their tables, and their results by cache key.

    Args:
        seconds: How long a comparison is kept; 0 keeps none.
        most_rows: Of how many rows that differ all cells are kept; of more, none are.
    """

    def __init__(self, seconds: float = math.inf, most_rows: float = math.inf) -> None:
        self.most_rows = most_rows
        self.workspace = Workspace()
        self._entries = _Evicting(seconds)
        self._holders: Counter[str] = Counter()

    @contextmanager
    def holding(self, key: str) -> Generator[None]:
        """Let `get` return the comparison of this key until the context ends, whatever its age."""
        self._holders[key] += 1
        try:
            yield
        finally:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key]

    def find(self, key: str) -> Kept | None:
        """The comparison of this key, or None if it has expired."""
        self._entries.expire()
        return self._entries.get(key)

    def get(self, key: str) -> Kept:
        """The comparison of this key; raises `InvalidInputError` if there is none."""
        comparison = self.find(key) or self._held(key)
        if comparison is None:
            raise unknown(key)
        return comparison

    def keep(self, key: str, comparison: Kept) -> None:
        """Add a comparison; the least recently used ones are evicted if memory is short."""
        self._entries.expire()
        self.forget(key)
        try:
            self._entries[key] = comparison
        except ValueError:  # larger than the whole cache
            self._entries.evicted.append((key, comparison))

    def forget(self, key: str) -> None:
        """Evict the comparison of this key, if there is one."""
        if (before := self._entries.pop(key, None)) is not None:
            self._entries.evicted.append((key, before))

    def evicted(self) -> tuple[str, ...]:
        """The tables in the workspace of comparisons evicted since the last call.

        Those of comparisons that are held are returned by a later call.
        """
        self._entries.expire()
        evicted = self._entries.evicted
        self._entries.evicted = [each for each in evicted if each[0] in self._holders]
        ended = (each for key, each in evicted if key not in self._holders)
        return tuple(table for comparison in ended for table in comparison.tables)

    def _held(self, key: str) -> Kept | None:
        if key not in self._holders:
            return None
        evicted = reversed(self._entries.evicted)
        return next((comparison for each, comparison in evicted if each == key), None)

    async def store(self, key: str, kept: Kept) -> None:
        """Keep a comparison, and drop the tables of those that expired or were evicted."""
        self.keep(key, kept)
        await self.drop_evicted()

    async def drop_evicted(self) -> None:
        """Drop the tables of comparisons that are no longer kept."""
        await self.workspace.drop(*self.evicted())

    async def aclose(self) -> None:
        """Drop everything."""
        self._entries.clear()
        await self.workspace.aclose()


class _Evicting(TTLCache[str, Kept]):
    def __init__(self, seconds: float) -> None:
        super().__init__(MAX_BYTES, seconds, timer=monotonic, getsizeof=lambda entry: entry.size)
        self.evicted: list[tuple[str, Kept]] = []

    def clear(self) -> None:
        while self:
            self.popitem()

    def popitem(self) -> tuple[str, Kept]:
        item: tuple[str, Kept] = super().popitem()
        self.evicted.append(item)
        return item

    def expire(self, time: float | None = None) -> list[tuple[str, Kept]]:
        expired: list[tuple[str, Kept]] = super().expire(time)
        self.evicted += expired
        return expired


@dataclass(frozen=True, slots=True, eq=False)
class DifferingGroups:
    """The groups of a comparison that is kept: those that differ are staged.

    The plan has the names that each source has by itself; the place is that of all groups.
    """

    subject: ClassVar = MEASURES

    result: ComparisonResult
    plan: ComparisonPlan
    place: Place
    workspace: Workspace
    table: str

    @property
    def tables(self) -> Sequence[str]:
        """Its tables in the workspace."""
        return (*self.place.tables, self.table)

    def is_about(self, sources: tuple[BoundSource, BoundSource]) -> bool:
        """Whether these sources are declared as before, and have the same columns."""
        return all(
            (before.definition, before.columns) == (now.definition, now.columns)
            for before, now in zip((self.plan.a.source, self.plan.b.source), sources, strict=True)
        )

    async def page(self, page: Page, orders: PageOrders) -> tuple[int, tuple[GroupRow, ...]]:
        """How many groups all pages of this kind have, and those of a page; as `Groups.read`."""
        from skillian.data.comparison.rows import Groups  # noqa: PLC0415 - only pages need it

        return await Groups(self, page).read(orders)

    async def batches(self, page: Page) -> AsyncGenerator[ArrowBatch]:
        """Yield all groups of a page as rows of a file; raises as `page`."""
        from skillian.data.comparison.group_files import (  # noqa: PLC0415 - only files need it
            group_batches,
            group_columns,
            group_types,
        )
        from skillian.data.comparison.rows import Groups  # noqa: PLC0415 - as above

        columns = group_columns(Groups(self, page).tables(), self.plan)
        types = group_types(self.plan)
        async with aclosing(group_batches(self.result, columns, types)) as found:
            async for batch in found:
                yield batch

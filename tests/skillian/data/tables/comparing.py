"""Compares the rows of two tables, named as on the command line."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.engine import TableEngine


def compared(a: str, b: str, **question: Any) -> ComparisonResult:
    return asyncio.run(compare(a, b, **question))


async def compare(a: str, b: str, *, keep: Any = None, **question: Any) -> ComparisonResult:
    """The same in a running loop; `keep` gets the rows that differ."""
    registry, (one, other) = await bare_tables([a, b])
    async with Connections(registry) as connections, aclosing(Memory()) as memory:
        engine = TableEngine(Binder(registry, connections), memory)
        asked = rows_asked(one, other, **question)
        async with engine.compared(asked, whole=keep is not None) as (result, staged):
            if keep is not None:
                await keep(DifferingRows(staged))
        return result


@asynccontextmanager
async def engine_over(
    a: str, b: str, most_rows: float = 1_000_000
) -> AsyncGenerator[tuple[ComparisonEngine, SavedComparison]]:
    """An engine over two tables, and the question that compares them by `id`."""
    registry, names = await bare_tables([a, b])
    memory = Memory(most_rows=most_rows)
    async with Connections(registry) as connections, aclosing(memory):
        engine = ComparisonEngine(registry, Binder(registry, connections), memory)
        yield engine, rows_asked(*names, key=("id",))

"""Compares the rows of two tables, named as on the command line."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.sources import Connections
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.engine import TableEngine


def compared(a: str, b: str, **question: Any) -> ComparisonResult:
    return asyncio.run(compare(a, b, **question))


async def compare(a: str, b: str, *, keep: Any = None, **question: Any) -> ComparisonResult:
    """The same in a running loop; `keep` gets the rows that differ."""
    registry, (one, other) = await bare_tables([a, b])
    async with Connections(registry) as connections:
        memory = Memory()
        engine = TableEngine(Binder(registry, connections), memory)
        try:
            return await engine.compute(rows_asked(one, other, **question), keep=keep)
        finally:
            await memory.aclose()

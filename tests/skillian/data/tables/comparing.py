"""Compares the rows of two tables, named as on the command line."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import duckdb
from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.engine import TableEngine


def compared(a: str, b: str, **question: Any) -> ComparisonResult:
    return asyncio.run(compare(a, b, **question))


async def compare(a: str, b: str, *, keep: Any = None, **question: Any) -> ComparisonResult:
    """The same in a running loop; `keep` gets the rows that differ."""
    registry, (one, other) = await bare_tables([a, b])
    async with Connections(registry) as connections, aclosing(Memory()) as memory:
        engine = TableEngine(Binder(registry, connections), memory)
        return await engine.compute(rows_asked(one, other, **question), keep=keep)


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


def in_two_files(folder: Path, a: str, b: str) -> tuple[str, str, str]:
    """The results of SELECTs as a table a of a file, and b of another and of the first renamed."""
    for file in ("one", "two"):
        newest: Any = {"storage_compatibility_version": "latest"}
        with duckdb.connect(folder / f"{file}.duckdb", config=newest) as database:
            database.execute("SET TimeZone = 'UTC'")
            database.execute(f"CREATE TABLE a AS {a}; CREATE TABLE b AS {b}")
    (folder / "again.duckdb").symlink_to(folder / "one.duckdb")
    one, two, again = (f"duckdb:///{folder / name}.duckdb" for name in ("one", "two", "again"))
    return f"{one}#a", f"{two}#b", f"{again}#b"

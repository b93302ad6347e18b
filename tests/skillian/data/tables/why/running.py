"""Explains a pair of tables, and says whether the planted causes are named."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import duckdb
from tests.skillian.data.tables.why.planted import SCHEMA, Pair, arrow, tables
from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.tables.why.results import Why


async def explained(pair: Pair, folder: Path, seed: int = 0) -> Why:
    """Why the two tables of a pair differ."""
    async with engine_over(*await database_of(pair, folder, seed)) as (engine, question):
        result = await engine.compare(question)
        return await engine.tables.why(result.cache_key)


async def database_of(pair: Pair, folder: Path, seed: int = 0) -> tuple[str, str]:
    """Write the two tables of a pair; returns their addresses."""
    a, b = tables(pair, seed)
    if not pair.wanted and pair.drop_b is not None:
        b = [row for row in b if not pair.drop_b(row)]
    file = folder / f"{pair.name.replace('/', ' ')}.duckdb"
    with duckdb.connect(file) as database:
        for name, rows in (("a", a), ("b", b)):
            database.register("rows", arrow.Table.from_pylist(rows, schema=SCHEMA))
            database.execute(f'CREATE TABLE {name} AS FROM "rows"')
    return f"duckdb:///{file}#a", f"duckdb:///{file}#b"


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


def is_found(pair: Pair, why_: Why) -> bool:
    """Whether the rules that are planted are named, and no other ones."""
    options = [rule.option for rule in why_.rules]
    return len(options) == len(pair.wanted) and all(
        any(option in wanted for option in options) for wanted in pair.wanted
    )

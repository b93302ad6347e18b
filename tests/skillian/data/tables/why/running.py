"""Explains a pair of tables, and says whether the planted causes are named."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import duckdb
from tests.skillian.data.tables.why.planted import SCHEMA, Pair, arrow, tables
from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.sources import Connections
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.tables.why.results import Why


async def explained(pair: Pair, folder: Path, seed: int = 0) -> Why:
    """Why the two tables of a pair differ."""
    a, b = tables(pair, seed)
    if not pair.wanted and pair.drop_b is not None:
        b = [row for row in b if not pair.drop_b(row)]
    file = folder / f"{pair.name.replace('/', ' ')}.duckdb"
    with duckdb.connect(file) as database:
        for name, rows in (("a", a), ("b", b)):
            database.register("rows", arrow.Table.from_pylist(rows, schema=SCHEMA))
            database.execute(f'CREATE TABLE {name} AS FROM "rows"')
    return await explained_tables(*(f"duckdb:///{file}#{name}" for name in "ab"))


async def explained_tables(a: str, b: str) -> Why:
    """Why two tables with the key `id` differ."""
    registry, names = await bare_tables([a, b])
    memory = Memory()
    async with Connections(registry) as connections, aclosing(memory):
        engine = ComparisonEngine(registry, Binder(registry, connections), memory)
        result = await engine.compare(rows_asked(*names, key=("id",)))
        return await engine.why(result.cache_key)


def is_found(pair: Pair, why_: Why) -> bool:
    """Whether the first rules are those that are planted, and no other one is named."""
    options = [rule.option for rule in why_.rules]
    first = options[: len(pair.wanted)]
    return len(first) == len(pair.wanted) and all(
        any(option in wanted for option in first) for wanted in pair.wanted
    )

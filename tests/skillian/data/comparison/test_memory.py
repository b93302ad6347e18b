"""Many comparisons in one process: what is remembered has bounds, and memory stays flat."""

import gc
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from skillian.data.comparison import cache as remembered
from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.services import DataServices

BYTES = 300_000  # room for about a dozen
COMPARISONS = 80
WARM = 20
GROWTH_MB = 14  # were the trees of their statements kept, it would be about 18
SIDE = """
  {name}:
    connection: c
    table: {name}
    dimensions: {{company: {{column: company}}, account: {{column: account}}}}
    measures: {{amount: {{column: amount, aggregation: sum}}}}
"""
SOURCES = "connections: {c: 'duckdb:///test.duckdb'}\nsources:" + "".join(
    SIDE.format(name=name) for name in "ab"
)
SCRIPT = """
CREATE TABLE a AS
    SELECT i % 200 AS company, i % 7 AS account, (i * 0.01)::DECIMAL(17, 2) AS amount
    FROM range(5000) t (i);
CREATE TABLE b AS
    SELECT company, account, CASE WHEN account = 3 THEN amount + 1 ELSE amount END AS amount FROM a
"""
MEMORY = Path("/proc/self/statm")


def resident_mb() -> float:
    gc.collect()
    return int(MEMORY.read_text().split()[1]) * 4096 / 2**20


async def compare(engine: ComparisonEngine, count: int) -> AsyncGenerator[str]:
    """Comparisons of a company each, by cache key; some have a table of the workspace."""
    for number in range(count):
        result = await engine.compare("a", "b", ["amount"], ["account"], {"company": number})
        if number % 10 == 0:
            await engine.explain(result.cache_key)
        yield result.cache_key


async def test_what_is_forgotten_leaves_nothing_behind(
    make_services: Callable[[str, str], DataServices], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", BYTES)
    engine = make_services(SCRIPT, SOURCES).comparison
    keys = [key async for key in compare(engine, 40)]
    kept = [key for key in keys if engine._cache.find(key) is not None]
    held = sum(engine._cache.get(key).size for key in kept)
    tables = {name for key in kept for name in engine._cache.get(key).tables}
    stored = await engine._workspace.run("SELECT table_name FROM duckdb_tables()", {})
    assert kept == keys[-len(kept) :]
    assert len(kept) < len(keys)
    assert 0 < held <= BYTES
    assert {row["table_name"] for row in stored.to_pylist()} == tables


@pytest.mark.skipif(not MEMORY.exists(), reason="reads /proc")
async def test_what_is_remembered_is_small(
    make_services: Callable[[str, str], DataServices],
) -> None:
    engine = make_services(SCRIPT, SOURCES).comparison
    warm, keys = 0.0, []
    async for key in compare(engine, COMPARISONS):
        keys.append(key)
        if len(keys) == WARM:
            warm = resident_mb()
    grown = resident_mb() - warm
    assert all(engine._cache.find(key) is not None for key in keys)
    assert grown < GROWTH_MB

"""Many comparisons in one process: what is remembered has bounds, and no statement stays."""

import gc
from collections.abc import AsyncGenerator

import duckdb
import pytest
from sqlglot import exp
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked, page_of

from skillian.connectors.duckdb import joint
from skillian.data.comparison import cache as remembered
from skillian.data.comparison.engine import MeasureEngine

BYTES = 2_000_000  # room for about a dozen
COMPARISONS = 20
WARM = 10
PARTS = 60  # a comparison; its statements have hundreds
SOURCES = two_sources(
    "company: {column: company}, account: {column: account}",
    "amount: {column: amount, aggregation: sum}",
)
SCRIPT = """
CREATE TABLE a AS
    SELECT i % 200 AS company, i % 7 AS account, (i * 0.01)::DECIMAL(17, 2) AS amount
    FROM range(5000) t (i);
CREATE TABLE b AS
    SELECT company, account, CASE WHEN account = 3 THEN amount + 1 ELSE amount END AS amount FROM a
"""


def parts_of_statements() -> int:
    """How many parts of SQL statements this process holds."""
    gc.collect()
    return sum(isinstance(each, exp.Expression) for each in gc.get_objects())


async def compare(engine: MeasureEngine, count: int) -> AsyncGenerator[str]:
    """Comparisons of a company each, by cache key; some have a table of the workspace."""
    for number in range(count):
        result = await engine.compare(
            measures_asked("a", "b", ["amount"], ["account"], {"company": number})
        )
        if number % 10 == 0:
            await engine.explain(result.cache_key)
        yield result.cache_key


async def test_what_is_forgotten_leaves_nothing_behind(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", BYTES)
    engine = make_services(SCRIPT, SOURCES).comparison
    keys = [key async for key in compare(engine, 18)]
    kept = [key for key in keys if engine._cache.find(key) is not None]
    held = sum(engine._cache.get(key).size for key in kept)
    tables = {name for key in kept for name in engine._cache.get(key).tables}
    stored = await engine._workspace.run("SELECT table_name FROM duckdb_tables()", {})
    assert kept == keys[-len(kept) :]
    assert len(kept) < len(keys)
    assert 0 < held <= BYTES
    assert {row["table_name"] for row in stored.to_pylist()} == tables


async def test_engines_over_two_databases_do_not_all_stay_open(make_services: MakeServices) -> None:
    sources = SOURCES.replace("test.duckdb'}", "test.duckdb', d: 'files://.'}")
    services = make_services(SCRIPT, sources.replace("c, table: b", "d, table: b.parquet"))
    folder = services.registry.folder
    with duckdb.connect(folder / "test.duckdb") as made:
        made.execute(f"COPY b TO '{folder / 'b.parquet'}'")
    before = {*joint._open}
    keys = [key async for key in compare(services.comparison, 10)]
    assert len({*joint._open} - before) == joint.MAX_IDLE
    pages = [await services.comparison.rows(key, page_of(["major_diff"])) for key in keys]
    assert all(page.rows for page in pages)


async def test_no_statement_is_remembered(make_services: MakeServices) -> None:
    engine = make_services(SCRIPT, SOURCES).comparison
    warm, keys = 0, []
    async for key in compare(engine, COMPARISONS):
        keys.append(key)
        if len(keys) == WARM:
            warm = parts_of_statements()
    assert all(engine._cache.find(key) is not None for key in keys)
    assert parts_of_statements() - warm < PARTS * (COMPARISONS - WARM)

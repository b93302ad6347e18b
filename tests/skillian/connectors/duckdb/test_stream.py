"""Rows of a DuckDB in batches: bounded memory, and an end at any time."""

import re
import resource
from pathlib import Path

import duckdb
import pytest
from tests.skillian.connectors.duckdb.conftest import ENDLESS

from skillian.connectors.duckdb import engine
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.errors import QueryError


async def test_a_stream_gives_all_rows_in_batches_and_memory_stays(
    connector: DuckDBConnector,
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = largest = 0
    statement = "SELECT range AS n, repeat('x', 100) AS t FROM range($p0)"
    async for batch in connector.stream(statement, {"p0": 5_000_000}):
        rows += batch.num_rows
        largest = max(largest, batch.num_rows)
    assert (rows, largest <= 65_536) == (5_000_000, True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # kB; the rows are 540 MB


async def test_a_statement_about_hundreds_of_columns_is_planned_without_statistics(
    connector: DuckDBConnector,
) -> None:
    statement = "SELECT current_setting('disabled_optimizers') AS without"
    columns = [f"i AS a_column_with_a_long_name_{number:06}" for number in range(6000)]
    wide = f"{statement}, {', '.join(columns)} FROM range(1) t (i)"
    found: list[str] = []
    for text in (statement, wide, statement):
        async for batch in connector.stream(text, {}):
            found += [row["without"] for row in batch.to_pylist()]
    assert found == ["", "statistics_propagation", ""]


async def test_a_stream_has_more_time_than_a_statement_but_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).close()
    connector = DuckDBConnector(path, "x", timeout=0.01)
    slow = "SELECT SUM(a.range * b.range) AS s FROM range(20000) AS a, range(20000) AS b"
    assert [batch.num_rows async for batch in connector.stream(slow, {})] == [1]
    monkeypatch.setattr(engine, "STREAM_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(QueryError, match=re.escape("longer than 0.2 s")):
        await anext(connector.stream(ENDLESS, {}))
    await connector.aclose()

"""A comparison that is given up leaves nothing running behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.skillian.data.conftest import two_sources
from tests.support.asking import measures_asked
from tests.support.postgres import Database
from tests.support.waits import soon

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

SOURCES = two_sources(
    "company: {column: company}",
    "amount: {column: amount, aggregation: sum}",
    "company",
    tables=("connection: books, table: small", "connection: books, table: other"),
    connections="books: '${BOOKS}'",
)
SCRIPT = """
CREATE TABLE small AS SELECT 1 AS company, 2.00::numeric(17, 2) AS amount;
CREATE VIEW other AS
    SELECT (x % 7)::int AS company, 1.00::numeric(17, 2) AS amount
    FROM generate_series(1, 1000000000000) AS x;
"""
# Not what is asked before it: that would be asked again where its connection is gone.
COMPARING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
    AND query LIKE 'COPY%side_b%' -- PostgreSQL shows the beginning of a statement only
"""
QUESTION = measures_asked("a", "b", ["amount"])


@pytest.fixture
async def services(
    tmp_path: Path, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[DataServices]:
    postgres_database.execute(SCRIPT)
    monkeypatch.setenv("BOOKS", postgres_database.url)
    (tmp_path / "sources.yaml").write_text(SOURCES)
    async with DataServices(SourceRegistry.load(tmp_path / "sources.yaml")) as opened:
        yield opened


async def test_a_comparison_without_end_is_stopped_and_the_next_one_works(
    services: DataServices, postgres_database: Database
) -> None:
    task = asyncio.create_task(services.comparison.compare(QUESTION))
    await soon(lambda: postgres_database.value(COMPARING))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await soon(lambda: postgres_database.active() == 0)
    postgres_database.execute("CREATE OR REPLACE VIEW other AS SELECT * FROM small")
    assert (await services.comparison.compare(QUESTION)).summary.classes.match == 1

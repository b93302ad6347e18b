"""A comparison that is given up, or whose database ends it, leaves nothing running behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.asking import measures_asked
from tests.support.postgres import Database
from tests.support.waits import soon

from skillian.data.comparison.results import ComparisonResult
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

SIDE = """
  {name}:
    connection: books
    table: {table}
    dimensions: {{company: {{column: company}}}}
    measures: {{amount: {{column: amount, aggregation: sum}}}}
"""
SOURCES = "connections: {books: '${BOOKS}'}\nsources:" + "".join(
    SIDE.format(name=name, table=table)
    for name, table in (("a", "small"), ("b", "small"), ("endless", "endless"))
)
SCRIPT = """
CREATE TABLE small AS SELECT 1 AS company, 2.00::numeric(17, 2) AS amount;
CREATE VIEW endless AS
    SELECT (x % 7)::int AS company, 1.00::numeric(17, 2) AS amount
    FROM generate_series(1, 1000000000000) AS x;
"""
# Not what is asked before it: that would be asked again where its connection is gone.
COMPARING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
    AND query LIKE 'COPY%side_b%' -- PostgreSQL shows the beginning of a statement only
"""
ENDED = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
async def services(
    tmp_path: Path, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[DataServices]:
    postgres_database.execute(SCRIPT)
    monkeypatch.setenv("BOOKS", postgres_database.url)
    (tmp_path / "sources.yaml").write_text(SOURCES)
    opened = DataServices(SourceRegistry.load(tmp_path / "sources.yaml"))
    yield opened
    await opened.aclose()


async def _begun(services: DataServices, database: Database) -> asyncio.Task[ComparisonResult]:
    """A comparison without end, once it runs in the server."""
    comparing = services.comparison.compare(measures_asked("a", "endless", ["amount"], ["company"]))
    task = asyncio.create_task(comparing)
    await soon(lambda: database.value(COMPARING))
    return task


async def _works(services: DataServices) -> None:
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], ["company"]))
    assert result.summary.classes.match == 1


async def test_a_cancelled_comparison_stops_its_statement(
    services: DataServices, postgres_database: Database
) -> None:
    task = await _begun(services, postgres_database)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await soon(lambda: postgres_database.active() == 0)
    await _works(services)


async def test_a_lost_database_is_an_error_and_the_next_call_works(
    services: DataServices, postgres_database: Database
) -> None:
    task = await _begun(services, postgres_database)
    postgres_database.execute(ENDED)
    with pytest.raises(QueryError, match="'books'") as error:
        await task
    assert error.value.to_dict()["type"] == "query_error"
    assert not any(part in str(error.value) for part in ("postgresql://", "host=", "/tmp"))  # noqa: S108
    await _works(services)

"""Sources of two databases: staged in the workspace, or read by one engine."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from tests.support.asking import comparing, measures_asked, page_of

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError

SOURCES = """
connections:
  one: duckdb:///one.duckdb
  other: sqlite:///other.sqlite
sources:
  a:
    connection: one
    table: t
    dimensions: {company: {column: company}, period: {column: period}}
    measures:
      amount: {column: amount, aggregation: sum, unit: EUR}
      postings: {column: amount, aggregation: count}
  b:
    connection: other
    table: t
    dimensions: {company: {column: company}, period: {column: period}}
    measures:
      amount: {column: amount, aggregation: sum, unit: EUR}
      postings: {column: amount, aggregation: count}
comparison:
  default_align_on: [company, period]
  thresholds: {match: {absolute: 0.01, percentage: 1}}
"""
CREATE = "CREATE TABLE {} (company INTEGER, period VARCHAR, amount DECIMAL(17, 2), note VARCHAR);"
A = [
    (1, "'2024001'", "10.00", "'x'"),
    (1, "'2024002'", "20.00", "'x'"),
    (2, "'2024001'", "30.00", "'x'"),
    (2, "NULL", "5.00", "'x'"),
    (3, "'2024001'", "7.00", "'x'"),
]
B = [
    (1, "'2024001'", "10.01", "'y'"),
    (1, "'2024002'", "20.00", "'y'"),
    (1, "'2024002'", "20.00", "'y'"),
    (2, "'2024001'", "-30.00", "'y'"),
    (2, "NULL", "NULL", "'y'"),
    (4, "'2024001 '", "7.00", "'y'"),
]


def insert(table: str, rows: list[tuple[object, ...]]) -> str:
    values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
    return f"{CREATE.format(table)} INSERT INTO {table} VALUES {values};"  # noqa: S608 - ours


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[DataServices]:
    with duckdb.connect(tmp_path / "one.duckdb") as connection:
        connection.execute(insert("t", list(A)))
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as connection:
        connection.executescript(insert("t", list(B)))
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES)
    async with DataServices(SourceRegistry.load(path)) as opened:
        yield opened


async def test_a_page_that_cannot_be_says_why(services: DataServices) -> None:
    with pytest.raises(InvalidInputError, match="the comparison 'nothing' is unknown"):
        await services.engine.rows("nothing", page_of())
    key = (await services.comparison.compare(measures_asked("a", "b", ["amount"]))).cache_key
    with pytest.raises(InvalidInputError, match="limit from 1 to 1000"):
        await services.engine.rows(key, page_of(limit=0))
    with pytest.raises(InvalidInputError, match="unknown class 'different'; use: match"):
        await services.engine.rows(key, page_of("different"))


async def test_a_gap_can_be_broken_down_by_more_than_it_was_aligned_on(
    services: DataServices,
) -> None:
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], ["company"]))
    explained = await services.comparison.explain(result.cache_key)
    assert explained.unused == ("period",)
    finer = await services.comparison.explain(result.cache_key, ["period"])
    assert finer.grain == ("company", "period")
    assert finer.cache_key == result.cache_key
    assert {each.dimensions for each in finer.measures[0].breakdowns} >= {("period",)}


async def test_of_the_rows_behind_a_group_as_many_come_as_are_asked_for(
    services: DataServices,
) -> None:
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    key = {"company": 1, "period": "2024002"}
    cut = await services.comparison.drill_down(result.cache_key, key, limit=1)
    assert (cut.a.truncated, cut.b.truncated) == (False, True)
    assert cut.b.rows == ((1, "2024002", Decimal("20.00"), "y"),)


async def test_fifty_at_once_ask_the_databases_once(
    services: DataServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    planner = services.comparison._planner
    connector = (await planner._binder.bind("a")).connector
    stream = connector.stream

    def counted(statement: str, parameters: dict[str, object]) -> object:
        asked.append(statement)
        return stream(statement, parameters)

    monkeypatch.setattr(connector, "stream", counted)
    compare: Callable[..., object] = comparing(services.comparison)
    results = await asyncio.gather(*(compare("a", "b", ["amount"]) for _ in range(50)))  # type: ignore[call-overload]
    assert len(asked) == 1
    assert len({id(result) for result in results}) == 1


async def test_a_side_that_fails_stops_the_other(services: DataServices, tmp_path: Path) -> None:
    (tmp_path / "other.sqlite").write_bytes(b"no database")
    with pytest.raises(QueryError, match="connection 'other'"):
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

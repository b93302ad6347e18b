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

from skillian.data.comparison.results import ComparisonResult
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError

SOURCES = """
connections:
  one: duckdb:///one.duckdb
  other: sqlite:///other.sqlite
  third: duckdb:///third.duckdb
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
  c:
    connection: one
    table: u
    dimensions: {company: {column: company}, period: {column: period}}
    measures:
      amount: {column: amount, aggregation: sum, unit: EUR}
      postings: {column: amount, aggregation: count}
  d:
    connection: third
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
        connection.execute(insert("t", list(A)) + insert("u", list(B)))
    with duckdb.connect(tmp_path / "third.duckdb") as connection:
        connection.execute(insert("t", list(B)))
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as connection:
        connection.executescript(insert("t", list(B)))
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES)
    async with DataServices(SourceRegistry.load(path)) as opened:
        yield opened


def content(result: ComparisonResult) -> dict[str, object]:
    data = result.to_dict()
    return {name: data[name] for name in ("summary", "top_differences")}


async def test_two_connections_give_what_one_gives(services: DataServices) -> None:
    across = await services.comparison.compare(measures_asked("a", "b", ["amount", "postings"]))
    within = await services.comparison.compare(measures_asked("a", "c", ["amount", "postings"]))
    assert content(across) == content(within)
    assert across.summary.classes.to_dict() == {
        "match": 1,
        "minor_diff": 0,
        "major_diff": 3,
        "missing_in_a": 1,
        "missing_in_b": 1,
    }
    assert across.cache_key != within.cache_key
    assert list(across.proof.queries) == ["a", "b"]
    assert not within.proof.queries
    shared = await services.comparison.compare(measures_asked("a", "d", ["amount", "postings"]))
    assert content(shared) == content(within)
    assert not shared.proof.queries


async def test_progress_is_reported(services: DataServices) -> None:
    heard: list[tuple[str, int]] = []
    await services.comparison.compare(
        measures_asked("a", "b", ["amount"]), lambda name, rows: heard.append((name, rows))
    )
    assert dict(sorted(heard)) == {"a": 5, "b": 5}


@pytest.mark.parametrize("other", ["b", "c", "d"])
async def test_every_differing_group_is_on_one_page(services: DataServices, other: str) -> None:
    result = await services.comparison.compare(measures_asked("a", other, ["amount", "postings"]))
    pages = [
        await services.comparison.rows(result.cache_key, page_of(None, at, 2)) for at in (0, 2, 4)
    ]
    rows = [row for page in pages for row in page.rows]
    assert [page.total for page in pages] == [5, 5, 5]
    keys = [tuple(row.key.values()) for row in rows]
    assert keys == [
        (2, "2024001"),
        (1, "2024002"),
        (3, "2024001"),
        (4, "2024001 "),
        (2, None),
    ]
    assert [row.status for row in rows][2:4] == ["missing_in_b", "missing_in_a"]
    assert rows[0].measures[0].gap == Decimal("-60.00")
    assert rows[4].measures[0].reason == "null_in_b"
    assert rows[1].rows_b == 2


@pytest.mark.parametrize("other", ["b", "c", "d"])
async def test_rows_of_one_class(services: DataServices, other: str) -> None:
    result = await services.comparison.compare(measures_asked("a", other, ["amount"]))
    missing = await services.comparison.rows(result.cache_key, page_of("missing_in_a"))
    assert [row.key["company"] for row in missing.rows] == [4]
    assert missing.total == 1
    matches = await services.comparison.rows(result.cache_key, page_of(["match"]))
    assert [(row.key["company"], row.measures[0].gap) for row in matches.rows] == [
        (1, Decimal("0.01"))
    ]
    assert matches.to_dict()["rows"] == [
        {
            "key": {"company": 1, "period": "2024001"},
            "status": "match",
            "rows_a": 1,
            "rows_b": 1,
            "measures": {
                "amount": {
                    "status": "match",
                    "reason": None,
                    "a": "10.00",
                    "b": "10.01",
                    "gap": "0.01",
                    "absolute_diff": "0.01",
                    "percentage_diff": "0.1000",
                }
            },
        }
    ]


async def test_a_page_that_cannot_be_says_why(services: DataServices) -> None:
    with pytest.raises(InvalidInputError, match="the comparison 'nothing' is unknown"):
        await services.engine.rows("nothing", page_of())
    key = (await services.comparison.compare(measures_asked("a", "b", ["amount"]))).cache_key
    with pytest.raises(InvalidInputError, match="limit from 1 to 1000"):
        await services.engine.rows(key, page_of(limit=0))
    with pytest.raises(InvalidInputError, match="unknown class 'different'; use: match"):
        await services.engine.rows(key, page_of("different"))


@pytest.mark.parametrize("other", ["b", "c", "d"])
async def test_the_gap_is_explained_by_its_members(services: DataServices, other: str) -> None:
    result = await services.comparison.compare(measures_asked("a", other, ["amount"]))
    explained = await services.comparison.explain(result.cache_key)
    amount = explained.measures[0]
    assert (amount.net, amount.gross) == (Decimal("-44.99"), Decimal("99.01"))
    assert amount.breakdowns[0].dimensions == ("period",)
    members = {
        tuple(each.member.values()): (each.net, each.gross, each.groups)
        for breakdown in amount.breakdowns
        if breakdown.dimensions == ("company",)
        for each in breakdown.contributions
    }
    assert members == {
        (2,): (Decimal("-65.00"), Decimal("65.00"), 2),
        (1,): (Decimal("20.01"), Decimal("20.01"), 1),
        (3,): (Decimal("-7.00"), Decimal("7.00"), 1),
        (4,): (Decimal("7.00"), Decimal("7.00"), 1),
    }
    pairs = [each.dimensions for each in amount.breakdowns]
    assert sorted(pairs) == [("company",), ("company", "period"), ("period",)]


async def test_the_smallest_explanation_is_first(services: DataServices) -> None:
    result = await services.comparison.compare(
        measures_asked("a", "b", ["amount"], filters={"company": [1, 2]})
    )
    explained = await services.comparison.explain(result.cache_key)
    [sentence] = explained.sentences
    assert sentence == (
        "94.1 % of the gross gap in amount: period 2024001; period 2024002, with 77.7 % of the"
        " rows."
    )
    assert explained.to_dict()["interpretation"] == [sentence]


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


@pytest.mark.parametrize("other", ["b", "c", "d"])
async def test_the_rows_behind_a_group(services: DataServices, other: str) -> None:
    result = await services.comparison.compare(measures_asked("a", other, ["amount"]))
    rows = await services.comparison.drill_down(
        result.cache_key, {"company": 1, "period": "2024002"}
    )
    assert rows.a.rows == ((1, "2024002", Decimal("20.00"), "x"),)
    assert rows.b.rows == ((1, "2024002", Decimal("20.00"), "y"),) * 2
    none = await services.comparison.drill_down(result.cache_key, {"company": 2, "period": None})
    assert (none.a.row_count, none.b.row_count) == (1, 1)
    cut = await services.comparison.drill_down(
        result.cache_key, {"company": 1, "period": "2024002"}, limit=1
    )
    assert (cut.a.truncated, cut.b.truncated) == (False, True)
    with pytest.raises(InvalidInputError, match="has company, period, not company"):
        await services.comparison.drill_down(result.cache_key, {"company": 1})


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


async def test_what_is_forgotten_leaves_the_workspace(services: DataServices) -> None:
    engine = services.comparison
    result = await engine.compare(measures_asked("a", "b", ["amount"]))
    await engine.rows(result.cache_key, page_of())
    count = "SELECT COUNT(*) AS n FROM duckdb_tables()"
    assert (await engine._workspace.run(count, {})).to_pylist() == [{"n": 3}]
    engine._cache.clear()
    await engine._workspace.drop(*engine._cache.evicted())
    assert (await engine._workspace.run(count, {})).to_pylist() == [{"n": 0}]


async def test_a_side_that_fails_stops_the_other(services: DataServices, tmp_path: Path) -> None:
    (tmp_path / "other.sqlite").write_bytes(b"no database")
    with pytest.raises(QueryError, match="connection 'other'"):
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import measures_asked, page_of

from skillian.data.comparison.engine import MeasureEngine
from skillian.data.comparison.page import ColumnFilter, ComparisonRows, Order
from skillian.data.comparison.results import STATUSES
from skillian.data.comparison.rows import GroupRow
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, UnknownNameError

SOURCES = """
connections: {one: 'duckdb:///one.db'}
sources:
  a:
    connection: one
    table: a
    dimensions: {name: {column: k}, day: {column: d}}
    measures: {amount: {column: v, aggregation: sum}, n: {column: v, aggregation: count}}
  b:
    connection: one
    table: b
    dimensions: {name: {column: k}, day: {column: d}}
    measures: {amount: {column: v, aggregation: sum}, n: {column: v, aggregation: count}}
comparison: {default_align_on: [name, day]}
"""
ROWS = {
    "a": [
        ("Müller & Co", "2024-01-01", "10.00"),
        ("50%_off", "2024-01-02", "20.00"),
        ("only a", "2024-01-03", "5.00"),
        ("same", "2024-01-04", "1.00"),
        (None, "2024-01-05", "7.00"),
    ],
    "b": [
        ("Müller & Co", "2024-01-01", "13.00"),
        ("Müller & Co", "2024-01-01", "0.00"),
        ("50%_off", "2024-01-02", "-20.00"),
        ("only b", "2024-01-03", "6.00"),
        ("same", "2024-01-04", "1.00"),
        (None, "2024-01-05", "7.50"),
    ],
}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[MeasureEngine]:
    with duckdb.connect(tmp_path / "one.db") as connection:
        for table, rows in ROWS.items():
            connection.execute(f"CREATE TABLE {table} (k VARCHAR, d DATE, v DECIMAL(17, 2))")
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
    (tmp_path / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    async with DataServices(SourceRegistry.load(tmp_path / "sources.yaml")) as services:
        yield services.comparison


@pytest.fixture
async def key(engine: MeasureEngine) -> str:
    return (await engine.compare(measures_asked("a", "b", ["amount", "n"]))).cache_key


def names(found: ComparisonRows[GroupRow]) -> list[object]:
    return [row.key["name"] for row in found.rows]


# With matches the groups are queried in the database, otherwise they are kept in the workspace.
PLACES = pytest.mark.parametrize("statuses", [None, list(STATUSES)], ids=["kept", "home"])


ORDERS: tuple[tuple[Order, list[str | None]], ...] = (
    (Order(column="key", of="name"), ["50%_off", "Müller & Co", "only a", "only b", None]),
    (
        Order(column="key", of="name", descending=True),
        ["only b", "only a", "Müller & Co", "50%_off", None],
    ),
    (Order(column="a", of="amount"), ["only a", None, "Müller & Co", "50%_off", "only b"]),
    (Order(column="gap", of="amount"), ["50%_off", "only a", None, "Müller & Co", "only b"]),
    (
        Order(column="size", of="amount", descending=True),
        ["50%_off", "only b", "only a", "Müller & Co", None],
    ),
    (Order(column="rows_b", descending=True), ["Müller & Co"]),
    (Order(column="status", descending=True), ["only a", "only b"]),
)
FILTERS: tuple[tuple[ColumnFilter, set[str | None]], ...] = (
    (ColumnFilter(column="key", of="name", filter={"contains": "MüLLER & c"}), {"Müller & Co"}),
    (ColumnFilter(column="key", of="name", filter={"contains": "%_"}), {"50%_off"}),
    (ColumnFilter(column="key", of="name", filter={"contains": "'; --"}), set()),
    (ColumnFilter(column="key", of="name", filter=None), {None}),
    (ColumnFilter(column="key", of="name", filter="only a"), {"only a"}),
    (
        ColumnFilter(column="key", of="name", filter={"ne": ["only a", "same", None]}),
        {"Müller & Co", "50%_off", "only b"},
    ),
    (ColumnFilter(column="key", of="day", filter={"contains": "01-03"}), {"only a", "only b"}),
    (
        ColumnFilter(column="key", of="day", filter={"between": ["2024-01-02", "2024-01-03"]}),
        {"50%_off", "only a", "only b"},
    ),
    (ColumnFilter(column="gap", of="amount", filter={"gt": "5"}), {"only b"}),
    (ColumnFilter(column="size", of="amount", filter={"gte": 5.5}), {"50%_off", "only b"}),
    (ColumnFilter(column="a", of="amount", filter=None), {"only b"}),
    (ColumnFilter(column="b", of="amount", filter={"lt": 0}), {"50%_off"}),
    (ColumnFilter(column="rows_b", filter=2), {"Müller & Co"}),
)


@PLACES
async def test_groups_come_in_the_order_of_a_column(
    engine: MeasureEngine, key: str, statuses: Any
) -> None:
    for order, first in ORDERS:
        rows = names(await engine.rows(key, page_of(statuses, order=order)))
        assert [name for name in rows if name != "same"][: len(first)] == first, order


@PLACES
async def test_only_groups_that_pass_come_and_are_counted(
    engine: MeasureEngine, key: str, statuses: Any
) -> None:
    for test, left in FILTERS:
        first = await engine.rows(key, page_of(statuses, limit=1, where=[test]))
        assert set(names(await engine.rows(key, page_of(statuses, where=[test])))) == left, test
        assert (len(first.rows), first.total) == (min(1, len(left)), len(left)), test


async def test_tests_and_classes_hold_together(engine: MeasureEngine, key: str) -> None:
    where = [
        ColumnFilter(column="key", of="name", filter={"contains": "only"}),
        ColumnFilter(column="gap", of="amount", filter={"lt": 0}),
    ]
    assert names(await engine.rows(key, page_of(where=where))) == ["only a"]
    assert names(await engine.rows(key, page_of(["missing_in_a"], where=where))) == []


@PLACES
async def test_all_groups_come_as_they_are_by_pages(
    engine: MeasureEngine, key: str, statuses: Any
) -> None:
    order = Order(column="gap", of="n")
    rows = [
        row async for batch in engine.all_rows(key, page_of(statuses, order=order)) for row in batch
    ]
    paged = [
        (await engine.rows(key, page_of(statuses, at, 1, order=order))).rows[0]
        for at in range(len(rows))
    ]
    assert rows == paged
    assert sum(row.measures[0].gap for row in rows) == Decimal("-35.50")


WRONG: tuple[tuple[Order | None, ColumnFilter | None, str], ...] = (
    (Order(column="key", of="nam"), None, "name"),
    (Order(column="gap", of="amounts"), None, "amount"),
    (None, ColumnFilter(column="key", of="x", filter=1), "dimension"),
    (None, ColumnFilter(column="status", filter="match"), "status"),
    (None, ColumnFilter(column="gap", of="amount", filter={"contains": "1"}), "contains"),
    (None, ColumnFilter(column="gap", of="amount", filter={"gt": "much"}), "much"),
    (None, ColumnFilter(column="key", of="day", filter="soon"), "soon"),
    (None, ColumnFilter(column="key", of="name", filter={"contains": 1}), "contains"),
    (None, ColumnFilter(column="rows_a", filter=[]), "empty list"),
)


async def test_an_impossible_query_is_reported(engine: MeasureEngine, key: str) -> None:
    for order, test, said in WRONG:
        with pytest.raises((InvalidInputError, UnknownNameError), match=said):
            await engine.rows(key, page_of(order=order, where=[test] if test else []))

from typing import Any

import pytest
from tests.skillian.data.conftest import MakeServices
from tests.support.asking import measures_asked, page_of, rows_asked, two_sources

from skillian.data.comparison.page import ColumnFilter, ComparisonRows, Order, PageRow
from skillian.data.engine import ComparisonEngine
from skillian.data.subjects import STATUSES
from skillian.errors import InvalidInputError, UnknownNameError

SOURCES = two_sources(
    "name: {column: k}, day: {column: d}",
    "amount: {column: v, aggregation: sum}, n: {column: v, aggregation: count}",
    "name, day",
)
TABLES = """
CREATE TABLE a (k VARCHAR, d DATE, v DECIMAL(17, 2)); CREATE TABLE b AS FROM a;
INSERT INTO a VALUES ('Müller & Co', '2024-01-01', 10), ('50%_off', '2024-01-02', 20),
    ('only a', '2024-01-03', 5), ('same', '2024-01-04', 1), (NULL, '2024-01-05', 7);
INSERT INTO b VALUES ('Müller & Co', '2024-01-01', 13), ('Müller & Co', '2024-01-01', 0),
    ('50%_off', '2024-01-02', -20), ('only b', '2024-01-03', 6), ('same', '2024-01-04', 1),
    (NULL, '2024-01-05', 7.5);
"""


@pytest.fixture
def engine(make_services: MakeServices) -> ComparisonEngine:
    return make_services(TABLES, SOURCES).engine


@pytest.fixture
async def key(engine: ComparisonEngine) -> str:
    return (await engine.compare(measures_asked("a", "b", ["amount", "n"]))).cache_key


def names(found: ComparisonRows[PageRow]) -> list[object]:
    return [row.key["name"] for row in found.rows]


# With matches the groups are queried in the database, otherwise they are kept in the workspace.
PLACES = pytest.mark.parametrize("statuses", [None, list(STATUSES)], ids=["kept", "home"])
FIRM, OFF, A, B = "Müller & Co", "50%_off", "only a", "only b"
ORDERS: tuple[tuple[dict[str, Any], list[str | None]], ...] = (
    ({"column": "key", "of": "name", "descending": True}, [B, A, FIRM, OFF, None]),
    ({"column": "a", "of": "amount"}, [A, None, FIRM, OFF, B]),
    ({"column": "gap", "of": "amount"}, [OFF, A, None, FIRM, B]),
    ({"column": "size", "of": "amount", "descending": True}, [OFF, B, A, FIRM, None]),
    ({"column": "rows_b", "descending": True}, [FIRM]),
    ({"column": "status", "descending": True}, [A, B]),
)


def where(column: str, of: str, test: Any) -> ColumnFilter:
    return ColumnFilter(column=column, of=of, filter=test)  # type: ignore[arg-type]


FILTERS: tuple[tuple[ColumnFilter, set[str | None]], ...] = (
    (where("key", "name", {"contains": "MüLLER & c"}), {FIRM}),
    (where("key", "name", {"contains": "%_"}), {OFF}),
    (where("key", "name", {"contains": "'; --"}), set()),
    (where("key", "name", None), {None}),
    (where("key", "name", A), {A}),
    (where("key", "name", {"ne": [A, "same", None]}), {FIRM, OFF, B}),
    (where("key", "day", {"contains": "01-03"}), {A, B}),
    (where("key", "day", {"between": ["2024-01-02", "2024-01-03"]}), {OFF, A, B}),
    (where("gap", "amount", {"gt": "5"}), {B}),
    (where("size", "amount", {"gte": 5.5}), {OFF, B}),
    (where("a", "amount", None), {B}),
    (where("b", "amount", {"lt": 0}), {OFF}),
    (where("rows_b", "", 2), {FIRM}),
)


@PLACES
async def test_groups_are_sorted_filtered_and_counted(
    engine: ComparisonEngine, key: str, statuses: Any
) -> None:
    for order, first in ORDERS:
        rows = names(await engine.rows(key, page_of(statuses, order=Order(**order))))
        assert [name for name in rows if name != "same"][: len(first)] == first, order
    for test, left in FILTERS:
        page = await engine.rows(key, page_of(statuses, limit=1, where=[test]))
        assert set(names(await engine.rows(key, page_of(statuses, where=[test])))) == left, test
        assert (len(page.rows), page.total) == (min(1, len(left)), len(left)), test


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"order": Order(column="key", of="nam")}, "name"),
    ({"order": Order(column="gap", of="amounts")}, "amount"),
    ({"where": [where("key", "x", 1)]}, "dimension"),
    ({"where": [where("status", "", "match")]}, "status"),
    ({"where": [where("gap", "amount", {"contains": "1"})]}, "contains"),
    ({"where": [where("gap", "amount", {"gt": "much"})]}, "much"),
    ({"where": [where("key", "day", "soon")]}, "soon"),
    ({"where": [where("key", "name", {"contains": 1})]}, "contains"),
    ({"where": [where("rows_a", "", [])]}, "empty list"),
    ({"limit": 0}, "limit from 1 to 1000"),
    ({"status": "different"}, "unknown class 'different'; use: match"),
)


async def test_an_impossible_query_is_reported(engine: ComparisonEngine, key: str) -> None:
    for asked, said in WRONG:
        with pytest.raises((InvalidInputError, UnknownNameError), match=said):
            await engine.rows(key, page_of(**asked))


async def test_an_unknown_name_of_whole_rows_is_one_of_a_column(engine: ComparisonEngine) -> None:
    key = (await engine.compare(rows_asked("a", "b", key=["d", "v"]))).cache_key
    for column in ("key", "a"):
        with pytest.raises(UnknownNameError) as unknown:
            await engine.rows(key, page_of(order=Order(column=column, of="w")))
        assert unknown.value.kind == "column"
    with pytest.raises(UnknownNameError) as unknown:
        await engine.compare(rows_asked("a", "b", key=["d", "v"], filters={"w": 1}))
    assert (unknown.value.kind, {*unknown.value.available} >= {"d", "k"}) == ("column", True)

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.asking import measures_asked

from skillian.data.comparison.row_pairs import MAX_PAIRED, PairedRows, match_rows
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.errors import InvalidInputError

MakeServices = Callable[[str, str], DataServices]
SOURCES = """
connections: {db: 'duckdb:///test.duckdb'}
sources:
  a:
    connection: db
    table: a
    dimensions: {group: {column: g}, centre: {column: c}}
    measures: {amount: {column: v, aggregation: sum}}
  b:
    connection: db
    table: b
    dimensions: {group: {column: g}, centre: {column: kc, normalise: [trim, upper]}}
    measures: {amount: {expression: -v, aggregation: sum}}
comparison: {default_align_on: [group]}
"""
COLUMNS = "(g VARCHAR, c VARCHAR, v DECIMAL(9, 2), note VARCHAR, x DOUBLE)"
TABLES = f"CREATE TABLE a {COLUMNS}; CREATE TABLE b {COLUMNS.replace(' c ', ' kc ')};"


def script(more: str) -> str:
    """The statements that make the tables, and more."""
    return f"{TABLES} {more}"


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[DataServices]:
    """The ledger of the demo."""
    services = DataServices(SourceRegistry.load(write_demo(tmp_path)))
    yield services
    await services.aclose()


async def paired(services: DataServices, a: str, b: str, **key: Any) -> PairedRows:
    result = await services.comparison.compare(measures_asked(a, b, ["amount"]))
    return await services.comparison.paired_rows(result.cache_key, key)


def states(rows: PairedRows) -> Counter[str]:
    """How many rows differ, have no counterpart, or are equal."""
    return Counter(
        "only a" if row.b is None
        else "only b" if row.a is None
        else "differs" if row.differing
        else "equal"
        for row in rows.rows
    )  # fmt: skip


async def test_the_posting_that_differs_is_next_to_its_counterpart(demo: DataServices) -> None:
    rows = await paired(demo, "fi_reporting", "bpc_reporting", company="1001", period="2024009")
    assert rows.columns == ("account", "cost_centre", "amount", "documents")
    assert (rows.only_a, rows.only_b) == ((), ())
    assert states(rows)["equal"] == rows.rows_a - sum(
        1 for row in rows.rows if row.differing or row.b is None
    )
    for row in rows.rows:
        if row.a is not None and row.b is not None:
            differing = {rows.columns[index] for index in row.differing}
            assert ("amount" in differing) == (row.a[2] != row.b[2])
            assert "cost_centre" not in differing  # written " cc100" and "CC100"
    assert states(rows)["differs"] or states(rows)["only a"] or states(rows)["only b"]


async def test_a_load_that_ran_twice_leaves_each_row_once_without_a_counterpart(
    demo: DataServices,
) -> None:
    rows = await paired(demo, "fi_reporting", "bpc_reporting", company="1001", period="2024004")
    assert states(rows) == {"only b": 40, "equal": 40}
    assert rows.matched_by == ()


async def test_rows_are_compared_as_their_dimensions_and_measures_are_declared(
    make_services: MakeServices,
) -> None:
    services = make_services(
        script("""INSERT INTO a VALUES ('g', 'C1', 5, 'one', 0.1), ('g', 'C2', 6, 'two', 0.2);
        INSERT INTO b VALUES ('g', ' c1', -5, 'one', 0.1), ('g', 'c2 ', -6.5, 'two', 0.25);"""),
        SOURCES,
    )
    rows = await paired(services, "a", "b", group="g")
    assert rows.columns == ("centre", "amount", "note", "x")
    different, same = rows.rows
    assert different.a == ("C2", Decimal(6), "two", "0.2")
    assert different.b == ("c2 ", Decimal("6.50"), "two", "0.25", Decimal("-6.50"))
    assert different.differing == (1, 3)
    assert same.differing == ()
    assert rows.matched_by == ("centre",)


async def test_columns_of_one_side_are_shown_and_a_missing_side_has_no_rows(
    make_services: MakeServices,
) -> None:
    services = make_services(
        script("""ALTER TABLE b ADD COLUMN extra INTEGER;
        INSERT INTO b VALUES ('g', 'C1', 5, NULL, NULL, 7);"""),
        SOURCES,
    )
    rows = await paired(services, "a", "b", group="g")
    assert (rows.only_a, rows.only_b) == ((), ("v", "extra"))
    [row] = rows.rows
    assert row.a is None
    assert row.b == ("C1", Decimal(-5), None, None, 5, 7)


async def test_a_side_is_cut_and_says_so(make_services: MakeServices) -> None:
    services = make_services(
        script("""INSERT INTO a SELECT 'g', 'C', i, 'n' || i, NULL FROM range(300) t(i);
        INSERT INTO b SELECT 'g', 'C', -i, 'n' || i, NULL FROM range(300) t(i);"""),
        SOURCES,
    )
    rows = await paired(services, "a", "b", group="g")
    assert rows.is_truncated
    assert (rows.rows_a, rows.rows_b) == (MAX_PAIRED, MAX_PAIRED)
    assert states(rows) == {"equal": MAX_PAIRED}
    with pytest.raises(InvalidInputError, match="limit must be from 1 to 200"):
        await services.comparison.paired_rows("x", {}, MAX_PAIRED + 1)
    with pytest.raises(InvalidInputError, match="the key of a group"):
        await paired(services, "a", "b", centre="C")


def test_a_pair_of_columns_identifies_a_row() -> None:
    a = [("1", "x", "5"), ("1", "y", "6"), ("2", "x", "7")]
    b = [("1", "x", "5"), ("1", "y", "9"), ("2", "x", "7")]
    matches, by = match_rows(a, b, [0, 1])
    assert by == (0, 1)
    assert (matches[0].a, matches[0].b, matches[0].differing) == (1, 1, (2,))
    assert len(matches) == 3


def test_rows_without_a_key_match_if_more_than_half_of_their_cells_are_equal() -> None:
    a = [("k", "x", "1", "r"), ("k", "x", "1", "s")]
    b = [("k", "x", "2", "s"), ("k", "z", "8", "9")]
    matches, by = match_rows(a, b, [])
    assert by == ()
    assert [(each.a, each.b) for each in matches] == [(1, 0), (0, None), (None, 1)]


CELL = st.sampled_from(["x", "y", "z", None])
ROWS = st.lists(st.tuples(CELL, CELL, CELL), max_size=12)


@given(ROWS, ROWS, st.lists(st.integers(0, 2), unique=True))
def test_each_row_is_shown_once_and_equal_rows_are_matched(
    a: list[Any], b: list[Any], identifying: list[int]
) -> None:
    matches, _ = match_rows(a, b, identifying)
    assert sorted(each.a for each in matches if each.a is not None) == [*range(len(a))]
    assert sorted(each.b for each in matches if each.b is not None) == [*range(len(b))]
    equal = [each for each in matches if each.a is not None and each.b is not None]
    count = sum(1 for each in equal if not each.differing)
    assert count == (Counter(a) & Counter(b)).total()
    for each in equal:
        one, other = a[each.a or 0], b[each.b or 0]
        assert each.differing == tuple(i for i in range(3) if one[i] != other[i])
    assert match_rows(a, b, identifying)[0] == matches

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.skillian.data.conftest import MakeServices
from tests.support.asking import measures_asked, two_sources

from skillian.data.comparison.engine import MAX_PAIRED
from skillian.data.comparison.row_pairs import PairedRows, match_rows
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError

SOURCES = two_sources(
    "group: {column: g}, centre: {column: c, normalise: [trim, upper]}",
    "amount: {column: v, aggregation: sum}",
    "group",
    measures_b="amount: {expression: -v, aggregation: sum}",
).replace("centre: {column: c, normalise: [trim, upper]}", "centre: {column: c}", 1)
SOURCES = "column: kc".join(SOURCES.rsplit("column: c", 1))
COLUMNS = "(g VARCHAR, c VARCHAR, v DECIMAL(9, 2), note VARCHAR, x DOUBLE)"
TABLES = f"CREATE TABLE a {COLUMNS}; CREATE TABLE b {COLUMNS.replace(' c ', ' kc ')};"


async def paired(services: DataServices, **key: Any) -> PairedRows:
    result = await services.engine.compare(measures_asked("a", "b", ["amount"]))
    return await services.engine.measures.paired_rows(result.cache_key, key or {"group": "g"})


async def test_rows_are_compared_as_their_dimensions_and_measures_are_declared(
    make_services: MakeServices,
) -> None:
    script = """INSERT INTO a VALUES ('g', 'C1', 5, 'one', 0.1), ('g', 'C2', 6, 'two', 0.2);
        INSERT INTO b VALUES ('g', ' c1', -5, 'one', 0.1), ('g', 'c2 ', -6.5, 'two', 0.25);"""
    rows = await paired(make_services(TABLES + script, SOURCES))
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
    script = """ALTER TABLE b ADD COLUMN extra INTEGER;
        INSERT INTO b VALUES ('g', 'C1', 5, NULL, NULL, 7);"""
    rows = await paired(make_services(TABLES + script, SOURCES))
    assert (rows.only_a, rows.only_b) == ((), ("v", "extra"))
    [row] = rows.rows
    assert row.a is None
    assert row.b == ("C1", Decimal(-5), None, None, 5, 7)


async def test_a_side_is_cut_and_says_so(make_services: MakeServices) -> None:
    script = """INSERT INTO a SELECT 'g', 'C', i, 'n' || i, NULL FROM range(300) t(i);
        INSERT INTO b SELECT 'g', 'C', -i, 'n' || i, NULL FROM range(300) t(i);
        INSERT INTO a VALUES ('two', 'C', 1, NULL, NULL);
        INSERT INTO b VALUES ('two', 'C', 1, NULL, NULL), ('two', 'C', 1, NULL, NULL)"""
    services = make_services(TABLES + script, SOURCES)
    rows = await paired(services)
    assert rows.is_truncated
    assert (rows.rows_a, rows.rows_b) == (MAX_PAIRED, MAX_PAIRED)
    assert len(rows.rows) == MAX_PAIRED
    assert not any(row.differing for row in rows.rows)
    with pytest.raises(InvalidInputError, match="limit must be from 1 to 200"):
        await services.engine.measures.paired_rows("x", {}, MAX_PAIRED + 1)
    with pytest.raises(InvalidInputError, match="the key of a group"):
        await paired(services, centre="C")
    key = (await services.engine.compare(measures_asked("a", "b", ["amount"]))).cache_key
    cut = await services.engine.measures.drill_down(key, {"group": "two"}, limit=1)
    assert (cut.a.truncated, cut.b.truncated) == (False, True)
    assert cut.b.rows == (("two", "C", Decimal("1.00"), None, None),)


# Rows of a and b, the columns that identify a row, those that are used, and what is matched.
MATCHES: tuple[tuple[list[str], list[str], list[int], tuple[int, ...], list[Any]], ...] = (
    # A pair of columns identifies a row.
    (["1x5", "1y6", "2x7"], ["1x5", "1y9", "2x7"], [0, 1], (0, 1), [(1, 1), (0, 0), (2, 2)]),
    # Without a key, rows match of whose cells more than half are equal.
    (["kx1r", "kx1s"], ["kx2s", "kz89"], [], (), [(1, 0), (0, None), (None, 1)]),
)


def test_rows_match_by_a_key_or_by_most_of_their_cells() -> None:
    for a, b, identifying, used, matched in MATCHES:
        matches, by = match_rows([*map(tuple, a)], [*map(tuple, b)], identifying)
        assert (by, [(each.a, each.b) for each in matches]) == (used, matched)


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

"""A column with a value that is not of its type is not compared; the others are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store

from skillian.data.results.result import ComparisonResult
from skillian.errors import QueryError


def good(store: Store, columns: str, rows: str) -> str:
    return f"{store('duckdb', f'CREATE TABLE t ({columns})', f'INSERT INTO t VALUES {rows}')}#t"  # noqa: S608


def check(result: ComparisonResult, reasons: dict[str, str]) -> None:
    """Column w differs in one of two rows; the columns of `reasons` are not compared."""
    assert {each.column: reasons[each.column] in each.reason for each in result.not_compared} == (
        dict.fromkeys(reasons, True)
    )
    assert (result.rows.matched, result.rows.differing) == (1, 1)
    assert {column.a: column.mismatches for column in result.columns} == {"w": 1}
    assert not result.equal


def test_sqlite(store: Store) -> None:
    bad = store(
        "sqlite",
        "CREATE TABLE t (id INTEGER, v INTEGER, d DATE, w TEXT)",
        "INSERT INTO t VALUES (1, 'abc', '2024-01-01', 'x'), (2, 1, '2024-02-31', 'y')",
    )
    columns = "id INT, v INT, d DATE, w VARCHAR"
    pair = good(store, columns, "(1, 1, NULL, 'x'), (2, 1, NULL, 'z')"), f"{bad}#t"
    reasons = {"v": "holds 'abc'", "d": "holds '2024-02-31'"}
    check(compared(*pair, key=("id",)), reasons)
    check(compared(*pair[::-1]), reasons)
    with pytest.raises(QueryError, match=r"'v' holds 'abc'.*; .*another key"):
        compared(*pair, key=("v",))


def test_a_column_without_counterpart_that_cannot_be_read(store: Store) -> None:
    bad = store(
        "sqlite",
        "CREATE TABLE t (id INTEGER, amount_old INTEGER, w TEXT)",
        "INSERT INTO t VALUES (1, 'abc', 'x'), (2, 1, 'y')",
    )
    other = good(store, "id INT, amount INT, w VARCHAR", "(1, 1, 'x'), (2, 1, 'z')")
    result = compared(f"{bad}#t", other, key=("id",))
    check(result, {})
    assert not result.proposals


def test_postgres(store: Store) -> None:
    bad = store(
        "postgres",
        "CREATE TABLE t (id int, d date, m timestamp, n numeric(10, 2), w text)",
        "INSERT INTO t VALUES (1, 'infinity', NULL, 'NaN', 'x'),"
        " (2, NULL, '0044-03-15 BC', 1, 'y')",
    )
    columns = "id INT, d DATE, m TIMESTAMP, n DECIMAL(10, 2), w VARCHAR"
    other = good(store, columns, "(1, NULL, NULL, 1, 'x'), (2, NULL, NULL, 1, 'z')")
    years = "outside the years 1 to 9999"
    check(compared(other, f"{bad}#t", key=("id",)), {"d": years, "m": years, "n": "NaN"})


FINITE: tuple[dict[str, Any], ...]
FINITE = ({"between": ["0001-01-01", "9999-12-31"]}, {"lte": "9999-12-31", "gt": "0001-01-01"})


def test_an_infinite_date_in_the_key_can_be_left_out_with_a_filter(store: Store) -> None:
    bad = store(
        "postgres",
        "CREATE TABLE t (day date, w text)",
        "INSERT INTO t VALUES ('infinity', 'x'), ('2024-01-01', 'y'), ('-infinity', 'x')",
    )
    pair = good(store, "day DATE, w VARCHAR", "('2024-01-01', 'y')"), f"{bad}#t"
    advice = r"'day' .*outside the years 1 to 9999; .*another key.*--where 'day<=9999-12-31'"
    with pytest.raises(QueryError, match=advice):
        compared(*pair, key=("day",))
    for days in FINITE:
        result = compared(*pair, key=("day",), filters={"day": days})
        assert result.equal
        assert result.rows.matched == 1

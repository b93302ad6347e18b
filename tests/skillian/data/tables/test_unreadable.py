"""A column with a value that is not of its type is not compared; the others are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compare
from tests.support.postgres import Database as PostgresDatabase

from skillian.data.query.filters import Filters
from skillian.data.tables.results import TableResult
from skillian.errors import QueryError


async def compared(
    a: str, b: str, key: tuple[str, ...] = ("id",), filters: Filters | None = None
) -> TableResult:
    return await compare(a, b, key=key, filters=filters or {})


def duckdb_table(folder: Path, columns: str, rows: str) -> str:
    path = folder / "good.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES {rows}")  # noqa: S608 - ours
    return f"duckdb:///{path}#t"


def sqlite_table(folder: Path, script: str) -> str:
    path = folder / "bad.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return f"sqlite:///{path}#t"


def check(result: TableResult, reasons: dict[str, str]) -> None:
    """Column w differs in one of two rows; the columns of `reasons` are not compared."""
    assert {each.column: reasons[each.column] in each.reason for each in result.not_compared} == (
        dict.fromkeys(reasons, True)
    )
    assert (result.rows.matched, result.rows.differing) == (1, 1)
    assert {column.a: column.mismatches for column in result.columns} == {"w": 1}
    assert not result.equal


async def test_sqlite(tmp_path: Path) -> None:
    bad = sqlite_table(
        tmp_path,
        "CREATE TABLE t (id INTEGER, v INTEGER, d DATE, w TEXT);"
        "INSERT INTO t VALUES (1, 'abc', '2024-01-01', 'x'), (2, 1, '2024-02-31', 'y')",
    )
    good = duckdb_table(
        tmp_path, "id INT, v INT, d DATE, w VARCHAR", "(1, 1, NULL, 'x'), (2, 1, NULL, 'z')"
    )
    reasons = {"v": "holds 'abc'", "d": "holds '2024-02-31'"}
    check(await compared(good, bad), reasons)
    check(await compared(bad, good, ()), reasons)
    with pytest.raises(QueryError, match=r"'v' holds 'abc'.*; .*another key"):
        await compared(good, bad, ("v",))


async def test_a_column_without_counterpart_that_cannot_be_read(tmp_path: Path) -> None:
    bad = sqlite_table(
        tmp_path,
        "CREATE TABLE t (id INTEGER, amount_old INTEGER, w TEXT);"
        "INSERT INTO t VALUES (1, 'abc', 'x'), (2, 1, 'y')",
    )
    good = duckdb_table(tmp_path, "id INT, amount INT, w VARCHAR", "(1, 1, 'x'), (2, 1, 'z')")
    result = await compared(bad, good)
    check(result, {})
    assert not result.proposals


async def test_postgres(postgres_database: PostgresDatabase, tmp_path: Path) -> None:
    postgres_database.execute(
        "CREATE TABLE t (id int, d date, m timestamp, n numeric(10, 2), w text);"
        "INSERT INTO t VALUES (1, 'infinity', NULL, 'NaN', 'x'), (2, NULL, '0044-03-15 BC', 1, 'y')"
    )
    good = duckdb_table(
        tmp_path,
        "id INT, d DATE, m TIMESTAMP, n DECIMAL(10, 2), w VARCHAR",
        "(1, NULL, NULL, 1, 'x'), (2, NULL, NULL, 1, 'z')",
    )
    years = "outside the years 1 to 9999"
    check(await compared(good, f"{postgres_database.url}#t"), {"d": years, "m": years, "n": "NaN"})


async def test_an_infinite_date_in_the_key_can_be_left_out_with_a_filter(
    postgres_database: PostgresDatabase, tmp_path: Path
) -> None:
    postgres_database.execute(
        "CREATE TABLE t (day date, w text);"
        "INSERT INTO t VALUES ('infinity', 'x'), ('2024-01-01', 'y'), ('-infinity', 'x')"
    )
    good = duckdb_table(tmp_path, "day DATE, w VARCHAR", "('2024-01-01', 'y')")
    advice = r"'day' .*outside the years 1 to 9999; .*another key.*--where 'day<=9999-12-31'"
    with pytest.raises(QueryError, match=advice):
        await compared(good, f"{postgres_database.url}#t", ("day",))
    for days in (
        {"between": ["0001-01-01", "9999-12-31"]},
        {"lte": "9999-12-31", "gt": "0001-01-01"},
    ):
        result = await compared(good, f"{postgres_database.url}#t", ("day",), {"day": days})
        assert result.equal
        assert result.rows.matched == 1

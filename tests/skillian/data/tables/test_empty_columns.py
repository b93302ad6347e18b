"""Columns without any value, which fit every type and every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from tests.support.postgres import Database as PostgresDatabase

from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.results import TableResult

# A value of each type of DuckDB.
CELLS = (
    "1::TINYINT", "1::HUGEINT", "1::UHUGEINT", "1::BIGNUM", "1::DECIMAL(18, 2)",
    "1::DECIMAL(38, 30)", "1::FLOAT", "1::DOUBLE", "true", "'\\x01'::BLOB", "'1'::BIT",
    "DATE '2024-01-31'", "TIME '10:00:00'", "TIME '10:00:00'::TIME_NS", "TIMETZ '10:00:00+00'",
    "TIMESTAMP '2024-01-31'", "TIMESTAMP_S '2024-01-31'", "TIMESTAMP_MS '2024-01-31'",
    "TIMESTAMP_NS '2024-01-31'", "TIMESTAMPTZ '2024-01-31 00:00:00+00'",
    "'2024-01-31 00:00:00+00'::TIMESTAMPTZ_NS", "INTERVAL 1 DAY", "'1'::VARCHAR",
    "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::UUID", "'1'::JSON", "'1'::ENUM ('1', '2')", "[1]",
    "[1]::INTEGER[1]", "{'x y': 1}", "MAP {'x': 1}", "union_value(n := 1)",
)  # fmt: skip
IN_POSTGRES = (
    "1::smallint", "1::numeric", "1::numeric(10, 2)", "1::real", "1::float8", "true",
    "'\\x01'::bytea", "date '2024-01-31'", "time '10:00'", "timestamp '2024-01-31'",
    "timestamptz '2024-01-31 00:00+00'", "interval '1 day'", "'1'::varchar(3)", "'1'::char(3)",
    "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::uuid", "'1'::json", "'1'::jsonb", "array[1]",
    "'x'::mood", "b'1'",
)  # fmt: skip
RULES = {
    "exact": Rule(),
    "near": Rule.model_validate({"absolute": "0.1", "relative": "0.1", "seconds": "1"}),
    "cut": Rule(precision="day", zone="Europe/Berlin"),
    "text": Rule(trim=True, nfc=True, ignore_case=True, empty_is_null=True),
}


def select(cells: tuple[str, ...]) -> str:
    """A SELECT of one row."""
    return ", ".join(["SELECT 1 AS k", *(f"{cell} AS v{n}" for n, cell in enumerate(cells))])


def empty(path: Path, count: int) -> str:
    """A file with a row of as many columns, none of which has a value."""
    names = ",".join(["k", *(f"v{number}" for number in range(count))])
    path.write_text(f"{names}\n1{',' * count}\n", encoding="utf-8")
    return str(path)


def check(result: TableResult, count: int) -> None:
    """Every column is compared, and differs in the one row."""
    assert not result.not_compared
    assert [column.mismatches for column in result.columns] == [1] * count


@pytest.mark.parametrize("rule", RULES)
def test_a_column_without_values_fits_each_type_of_duckdb(tmp_path: Path, rule: str) -> None:
    with duckdb.connect() as database:
        database.execute(f"ATTACH '{tmp_path / 't'}' AS file (STORAGE_VERSION 'latest')")
        database.execute(f"CREATE TABLE file.t AS {select(CELLS)}")
    a, b = empty(tmp_path / "e.csv", len(CELLS)), f"duckdb:///{tmp_path / 't'}#t"
    check(compared(a, b, key=("k",), rules=Rules(all=RULES[rule])), len(CELLS))


@pytest.mark.parametrize("rule", RULES)
def test_a_column_without_values_fits_each_type_of_postgres(
    postgres_database: PostgresDatabase, rule: str
) -> None:
    nothing = tuple("NULL::text" for _ in IN_POSTGRES)
    postgres_database.execute(
        f"CREATE TYPE mood AS ENUM ('x'); CREATE TABLE a AS {select(IN_POSTGRES)};"
        f" CREATE TABLE b AS {select(nothing)}"
    )
    url = postgres_database.url
    result = compared(f"{url}#a", f"{url}#b", key=("k",), rules=Rules(all=RULES[rule]))
    check(result, len(IN_POSTGRES))


@needs_clickhouse
def test_a_column_without_values_fits_nanoseconds_of_clickhouse(tmp_path: Path) -> None:
    url = in_clickhouse(
        "CREATE TABLE t (k Int32, v0 DateTime64(9), v1 Float32) ENGINE = Log",
        "INSERT INTO t VALUES (1, '2024-01-01 00:00:00.000000001', 0.1)",
    )
    tables = f"{url}#t", empty(tmp_path / "e.csv", 2)
    for a, b in (tables, tables[::-1]):
        check(compared(a, b, key=("k",)), 2)


@pytest.mark.parametrize(
    "rule",
    [{"absolute": "1"}, {"seconds": "1"}, {"precision": "day"}, {"trim": True}],
    ids=str,
)
@pytest.mark.parametrize("other", ["1,5", "1,2024-01-31", "1,x", "1,true", ""])
def test_a_file_without_rows_fits_every_rule(
    tmp_path: Path, other: str, rule: dict[str, Any]
) -> None:
    (tmp_path / "a.csv").write_text("k,v\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text(f"k,v\n{other}\n", encoding="utf-8")
    files = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    rules = Rules(columns={"v": Rule.model_validate(rule)})
    for a, b in (files, files[::-1]):
        result = compared(a, b, key=("k",), rules=rules)
        assert {result.rows.rows_a, result.rows.rows_b} == {0, int(bool(other))}

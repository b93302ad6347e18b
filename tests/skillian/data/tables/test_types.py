"""Every type of a database with a column without values, and DuckDB's with each other."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared

from skillian.data.declare.rules import Rule, Rules

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
RULES = {
    "near": {"absolute": "0.1", "relative": "0.1", "seconds": "1", "trim": True, "nfc": True,
             "ignore_case": True, "empty_is_null": True},
    "cut": {"precision": "day", "zone": "Europe/Berlin"},
}  # fmt: skip


def select(cells: tuple[str, ...]) -> str:
    return ", ".join(["SELECT 1 AS k", *(f"{cell} AS v{n}" for n, cell in enumerate(cells))])


def empty(path: Path, count: int) -> str:
    """A file with a row of as many columns, none of which has a value."""
    names = ",".join(["k", *(f"v{number}" for number in range(count))])
    path.write_text(f"{names}\n1{',' * count}\n", encoding="utf-8")
    return str(path)


def check(a: str, b: str, count: int, rule: str = "") -> None:
    """Every column is compared, and differs in the one row."""
    rules = Rules(all=Rule.model_validate(RULES.get(rule, {})))
    result = compared(a, b, key=("k",), rules=rules)
    assert not result.not_compared
    assert [column.mismatches for column in result.columns] == [1] * count


@pytest.mark.parametrize("rule", RULES)
def test_a_column_without_values_fits_each_type_of_duckdb(tmp_path: Path, rule: str) -> None:
    with duckdb.connect() as database:
        database.execute(f"ATTACH '{tmp_path / 't'}' AS file (STORAGE_VERSION 'latest')")
        database.execute(f"CREATE TABLE file.t AS {select(CELLS)}")
    file = empty(tmp_path / "e.csv", len(CELLS))
    check(file, f"duckdb:///{tmp_path / 't'}#t", len(CELLS), rule)

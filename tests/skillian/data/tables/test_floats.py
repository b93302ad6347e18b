"""Floats of 32 and 64 bits: as keys, without a key, and as they are shown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared
from tests.support.postgres import Database as PostgresDatabase

from skillian.connectors.base import ColumnType
from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.types import cell_type

# Of both widths: plain, with an exponent, whole, with most digits.
NUMBERS = ("2.5", "-0.1", "0", "100", "1e-7", "1.25e-30", "1e20", "-1e30", "16777216", "429870.12")
WIDE_NUMBERS = ("1234567.8901234567", "1.2345678901234566e17", "123456789012345680", "1e-20")
SPECIAL = ("NaN", "Infinity", "-Infinity")


def in_duckdb(path: Path, name: str, kind: str, numbers: tuple[str, ...]) -> str:
    """A table of the numbers in DuckDB."""
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE {name} (v {kind})")
        connection.executemany(f"INSERT INTO {name} VALUES (?)", [[each] for each in numbers])  # noqa: S608 - ours
    return f"duckdb:///{path}#{name}"


def in_postgres(database: PostgresDatabase, kind: str, numbers: tuple[str, ...]) -> str:
    """A table of the numbers in PostgreSQL."""
    listed = ", ".join(f"(CAST('{each}' AS {kind}))" for each in numbers)
    database.execute(f"CREATE TABLE {kind} (v {kind}); INSERT INTO {kind} VALUES {listed}")  # noqa: S608 - ours
    return f"{database.url}#{kind}"


@pytest.mark.parametrize("question", [{"key": ("v",)}, {"multiset": True}], ids=["key", "multiset"])
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_a_float_meets_a_number_without_a_limit(
    postgres_database: PostgresDatabase, tmp_path: Path, kind: str, question: dict[str, Any]
) -> None:
    numbers = (*NUMBERS, *SPECIAL) if kind == "FLOAT" else (*NUMBERS, *WIDE_NUMBERS, *SPECIAL)
    a = in_duckdb(tmp_path / "t", "t", kind, numbers)
    b = in_postgres(postgres_database, "numeric", numbers)
    for result in (compared(a, b, **question), compared(b, a, **question)):
        assert result.rows.matched == len(numbers), result.samples


@pytest.mark.parametrize("kind", ["DECIMAL(2, 2)", "DECIMAL(38, 38)"])
def test_a_decimal_without_whole_digits_meets_every_number(
    postgres_database: PostgresDatabase, tmp_path: Path, kind: str
) -> None:
    numbers = ("0.5", "-0.25", "0")
    a = in_duckdb(tmp_path / "t", "a", kind, numbers)
    others = [in_duckdb(tmp_path / "t", "b", "DOUBLE", numbers)]
    others += [in_postgres(postgres_database, "numeric", numbers)]
    for b in others:
        for question in ({"key": ("v",)}, {"multiset": True}):
            assert compared(a, b, **question).rows.matched == len(numbers), b
    fewer = in_duckdb(tmp_path / "t", "c", kind, ("0.5",))
    shown = compared(a, fewer, key=("v",)).samples.only_in_a
    assert {row.key["v"] for row in shown} <= {"-0.25", "0.00", f"-0.25{'0' * 36}", f"0.{'0' * 38}"}


@pytest.mark.parametrize(
    ("kind", "other"),
    [("FLOAT", "DECIMAL(38, 10)"), ("DOUBLE", "BIGINT"), ("DOUBLE", "DECIMAL(20, 2)")],
)
def test_a_float_meets_a_number_of_duckdb(tmp_path: Path, kind: str, other: str) -> None:
    numbers = ("2.5", "-0.1", "0", "16777216", "429870.12") if other[0] == "D" else ("-2", "100")
    a = in_duckdb(tmp_path / "t", "a", kind, numbers)
    b = in_duckdb(tmp_path / "t", "b", other, numbers)
    for question in ({"key": ("v",)}, {"multiset": True}):
        assert compared(a, b, **question).rows.matched == len(numbers)


# The cells, what is shown of them, their gap, and a limit that it is within.
SHOWN = (
    ("0.1::FLOAT", "0.2::FLOAT", ("0.1", "0.2"), "0.1", "0.1"),
    ("1e-7::FLOAT", "100::FLOAT", ("1e-07", "100.0"), "99.9999999", "100"),
    ("16777216::FLOAT", "0::FLOAT", ("16777216.0", "0.0"), "16777216", "16777216"),
    # The same digits, and still another number.
    ("0.1::FLOAT", "0.1::DOUBLE", ("0.10000000149011612", "0.1"), "0.00000000149011612", "2e-9"),
    ("0.1::DOUBLE", "0.1::FLOAT", ("0.1", "0.10000000149011612"), "0.00000000149011612", "2e-9"),
    ("0.1::FLOAT", "0.2::DECIMAL(4, 2)", ("0.1", "0.20"), "0.1", "0.1"),
)


def test_what_is_shown_of_floats_and_their_limits(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t") as database:
        for side, name in enumerate("ab"):
            cells = ", ".join(f"{case[side]} AS v{n}" for n, case in enumerate(SHOWN))
            database.execute(f"CREATE TABLE {name} AS SELECT 1 AS k, {cells}")
    a, b = (f"duckdb:///{tmp_path / 't'}#{name}" for name in "ab")
    for column, case in zip(compared(a, b, key=("k",)).columns, SHOWN, strict=True):
        assert [(pair.a, pair.b) for pair in column.pairs] == [case[2]]
        assert column.largest_gap == Decimal(case[3])
    limits = {
        f"v{n}": Rule(absolute=Decimal(case[4]) / (1 + n % 2)) for n, case in enumerate(SHOWN)
    }
    columns = compared(a, b, key=("k",), rules=Rules(columns=limits)).columns
    assert [column.mismatches for column in columns] == [n % 2 for n in range(len(SHOWN))]


@pytest.mark.parametrize(
    ("dialect", "name", "single"),
    [
        ("duckdb", "FLOAT", True),
        ("duckdb", "DOUBLE", False),
        ("postgres", "real", True),
        ("postgres", "double precision", False),
        ("mysql", "float", True),
        ("mysql", "float(10,2)", True),
        ("mysql", "float unsigned", True),
        ("mysql", "float(10,2) unsigned zerofill", True),
        ("mysql", "double unsigned", False),
        ("clickhouse", "Float32", True),
        ("clickhouse", "Float64", False),
        ("spark", "float", True),
        ("databricks", "FLOAT", True),
        ("oracle", "BINARY_FLOAT", True),
        ("oracle", "FLOAT", False),
        ("tsql", "real", True),
        ("tsql", "float", False),
        ("snowflake", "FLOAT", False),
        ("snowflake", "REAL", False),
        ("bigquery", "FLOAT64", False),
        ("bigquery", "FLOAT", False),
    ],
)
def test_the_bits_of_a_float(dialect: str, name: str, *, single: bool) -> None:
    assert cell_type(ColumnType("float", name), dialect).single is single

"""Floats of 32 and 64 bits: as keys, without a key, and as they are shown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.test_types import stored
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


@pytest.mark.parametrize("other", ["DECIMAL(38, 10)", "BIGINT", "DECIMAL(20, 2)"])
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_a_float_meets_a_number_of_duckdb(tmp_path: Path, kind: str, other: str) -> None:
    numbers = ("2.5", "-0.1", "0", "16777216", "429870.12") if other[0] == "D" else ("-2", "100")
    a = in_duckdb(tmp_path / "t", "a", kind, numbers)
    b = in_duckdb(tmp_path / "t", "b", other, numbers)
    for question in ({"key": ("v",)}, {"multiset": True}):
        assert compared(a, b, **question).rows.matched == len(numbers)


@pytest.mark.parametrize(
    ("a", "b", "texts", "gap"),
    [
        ("0.1::FLOAT", "0.2::FLOAT", ("0.1", "0.2"), "0.1"),
        ("1e-7::FLOAT", "100::FLOAT", ("1e-07", "100.0"), "99.9999999"),
        ("16777216::FLOAT", "0::FLOAT", ("16777216.0", "0.0"), "16777216"),
        # The same digits, and still another number.
        ("0.1::FLOAT", "0.1::DOUBLE", ("0.10000000149011612", "0.1"), "0.00000000149011612"),
        ("0.1::DOUBLE", "0.1::FLOAT", ("0.1", "0.10000000149011612"), "0.00000000149011612"),
        ("0.1::FLOAT", "0.2::DECIMAL(4, 2)", ("0.1", "0.20"), "0.1"),
    ],
)
def test_what_is_shown_of_floats(
    tmp_path: Path, a: str, b: str, texts: tuple[str, str], gap: str
) -> None:
    one, other = (stored(tmp_path / "t", name, cell) for name, cell in (("a", a), ("b", b)))
    [column] = compared(one, other, key=("k",)).columns
    assert [(pair.a, pair.b) for pair in column.pairs] == [texts]
    assert column.largest_gap == Decimal(gap)


def test_what_is_shown_of_floats_in_postgres(postgres_database: PostgresDatabase) -> None:
    postgres_database.execute(
        "CREATE TABLE a AS SELECT 1 AS k, 0.1::real AS v;"
        "CREATE TABLE b AS SELECT 1 AS k, 0.1::float8 AS v"
    )
    url = postgres_database.url
    [column] = compared(f"{url}#a", f"{url}#b", key=("k",)).columns
    assert [(pair.a, pair.b) for pair in column.pairs] == [("0.10000000149011612", "0.1")]
    assert column.largest_gap == Decimal("0.00000000149011612")


@pytest.mark.parametrize(
    ("a", "b", "absolute", "equal"),
    [
        ("0.1::FLOAT", "0.1::DOUBLE", "0", False),
        ("0.1::FLOAT", "0.1::DOUBLE", "0.000000001", False),
        ("0.1::FLOAT", "0.1::DOUBLE", "0.000000002", True),
        ("429870.12::FLOAT", "429870.12::DECIMAL(10, 2)", "0.001", True),
    ],
)
def test_limits_of_floats(tmp_path: Path, a: str, b: str, absolute: str, *, equal: bool) -> None:
    one, other = (stored(tmp_path / "t", name, cell) for name, cell in (("a", a), ("b", b)))
    rules = Rules(all=Rule(absolute=Decimal(absolute)))
    [column] = compared(one, other, key=("k",), rules=rules).columns
    assert column.mismatches == int(not equal)


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

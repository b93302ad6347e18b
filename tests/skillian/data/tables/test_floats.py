"""Floats of 32 and 64 bits: as keys, without a key, and as they are shown."""

from __future__ import annotations

from decimal import Decimal

from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store

from skillian.connectors.base import ColumnType
from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.types import cell_type

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


def test_what_is_shown_of_floats_and_their_limits(store: Store) -> None:
    url = ""
    for side, name in enumerate("ab"):
        cells = ", ".join(f"{case[side]} AS v{n}" for n, case in enumerate(SHOWN))
        url = store("duckdb", f"CREATE TABLE {name} AS SELECT 1 AS k, {cells}")
    pair = f"{url}#a", f"{url}#b"
    for column, case in zip(compared(*pair, key=("k",)).columns, SHOWN, strict=True):
        assert [(each.a, each.b) for each in column.pairs] == [case[2]]
        assert column.largest_gap == Decimal(case[3])
    limits = {
        f"v{n}": Rule(absolute=Decimal(case[4]) / (1 + n % 2)) for n, case in enumerate(SHOWN)
    }
    columns = compared(*pair, key=("k",), rules=Rules(columns=limits)).columns
    assert [column.mismatches for column in columns] == [n % 2 for n in range(len(SHOWN))]


# The floats of 32 bits, and those of 64.
WIDTHS = {
    "duckdb": ("FLOAT", "DOUBLE"),
    "postgres": ("real", "double precision"),
    "mysql": (
        *("float", "float(10,2)", "float unsigned", "float(10,2) unsigned zerofill"),
        "double unsigned",
    ),
    "clickhouse": ("Float32", "Float64"),
    "oracle": ("BINARY_FLOAT", "FLOAT"),
    "tsql": ("real", "float"),
    "spark": ("float", "double"),
    "databricks": ("FLOAT", "DOUBLE"),
}


def test_the_bits_of_a_float() -> None:
    for dialect, (*singles, double) in WIDTHS.items():
        for name in singles:
            assert cell_type(ColumnType("float", name), dialect).single, (dialect, name)
        assert not cell_type(ColumnType("float", double), dialect).single, dialect
    for text in ("snowflake FLOAT", "snowflake REAL", "bigquery FLOAT64", "bigquery FLOAT"):
        dialect, name = text.split()
        assert not cell_type(ColumnType("float", name), dialect).single, text

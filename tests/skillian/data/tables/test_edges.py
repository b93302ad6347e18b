"""Cells at the edges of types, in every pair of engines: equal, different, or not compared.

All cells of a pair of engines are columns of one row, which is compared both ways.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store
from tests.skillian.data.tables.edge_cases import CASES, Cells
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from tests.support.postgres import Database as PostgresDatabase

from skillian.cli.compare_input import read_rule
from skillian.connectors.base import ColumnType
from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.types import cell_type
from skillian.errors import InvalidInputError

UTC = "SET TimeZone = 'UTC'"
SUSPICIOUS = "allow_suspicious_low_cardinality_types = 1"
STAYS_TEXT = "cast_string_to_variant_use_inference = 0, cast_string_to_dynamic_use_inference = 0"


def put(store: Store, folder: Path, engine: str, name: str, columns: Sequence[Cells]) -> str:
    """Store a row of cells, or several, in a table of this name; returns the table's address."""
    rows = [*zip_longest(*((each,) if isinstance(each, str) else each for each in columns))]
    typed = [cell.partition(" | ") for cell in rows[0]]
    kinds = ", ".join(f"v{n} {kind}" for n, (kind, *_) in enumerate(typed))
    create = f"CREATE TABLE {name} (k INT, {kinds})"
    values = ", ".join(["1", *(value for *_, value in typed)])
    insert = f"INSERT INTO {name} VALUES ({values})"  # noqa: S608 - ours
    script: list[str] = []
    for k, row in enumerate(rows, 1):
        cells = (f"{cell or 'NULL'} AS v{n}" for n, cell in enumerate(row))
        start = f"INSERT INTO {name}" if script else f"CREATE TABLE {name} AS"
        script.append(f"{start} SELECT {k} AS k, {', '.join(cells)}")
    file = folder / f"{name}.{engine}"
    match engine:
        case "csv":
            names = ",".join(["k", *(f"v{n}" for n in range(len(columns)))])
            file.write_text(f"{names}\n1,{','.join(rows[0])}\n", encoding="utf-8")
            return str(file)
        case "clickhouse":
            engined = f"{create} ENGINE = MergeTree ORDER BY tuple() SETTINGS {SUSPICIOUS}"
            selected = f"INSERT INTO {name} SELECT {values} SETTINGS {STAYS_TEXT}"
            return f"{in_clickhouse(engined, selected)}#{name}"
        case "duckdb":
            return f"{store(f'duckdb {name}', UTC, *script)}#{name}"
        case "postgres":
            return f"{store(engine, *script)}#{name}"
        case _:
            place = engine if engine == "mysql" else f"{engine} {name}"
            return f"{store(place, create, insert)}#{name}"


def rule_of(stated: Mapping[str, Any] | str) -> Rule:
    column = read_rule(f"v:{stated}")[1] if isinstance(stated, str) else stated
    return Rule.model_validate(column)


def marked(pair: tuple[str, str]) -> ParameterSet:
    """A pair of engines; those with ClickHouse run where it is installed."""
    marks = [needs_clickhouse] if "clickhouse" in pair else []
    return pytest.param(pair, marks=marks, id="-".join(pair))


@pytest.mark.parametrize("pair", [marked(pair) for pair in CASES])
def test_pairs_of_cells(store: Store, tmp_path: Path, pair: tuple[str, str]) -> None:
    cases = CASES[pair]
    a = put(store, tmp_path, pair[0], "a", [case[0] for case in cases])
    b = put(store, tmp_path, pair[1], "b", [case[1] for case in cases])
    rules = {f"v{n}": rule_of(case[3]) for n, case in enumerate(cases) if len(case) > 3}
    one_way = [f"v{n}" for n, case in enumerate(cases) if isinstance(case[-1], str)]
    for one, other, ignored in ((a, b, ()), (b, a, one_way)):
        result = compared(one, other, key=("k",), rules=Rules(columns=rules), ignore=ignored)
        mismatches = {column.a: column.mismatches for column in result.columns}
        refused = {each.column for each in result.not_compared}
        wrong = [
            case
            for n, case in enumerate(cases)
            if f"v{n}" not in ignored
            if (mismatches.get(f"v{n}"), f"v{n}" in refused)
            != ((None, True) if case[2] is None else (int(not case[2]), False))
        ]
        assert not wrong


def test_a_number_without_a_limit_is_filtered(postgres_database: PostgresDatabase) -> None:
    postgres_database.execute(
        "CREATE TABLE a AS SELECT n AS k, 1e-40::numeric + n AS v FROM generate_series(1, 3) AS n;"
        "CREATE TABLE b AS SELECT k, v * 2 AS v FROM a"
    )
    url = postgres_database.url
    rows = compared(f"{url}#a", f"{url}#b", key=("k",), filters={"v": {"gt": "2"}}).rows.to_dict()
    assert (rows["a"], rows["b"]) == (2, 3)


UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "mysql"])
def test_a_filter_tests_columns_that_are_no_dimension(store: Store, engine: str) -> None:
    types = {
        "u": ("UUID", UUID),
        "t": ("TIME" if engine == "duckdb" else "TIME(3)", "10:00:00.5"),
        "b": ("BYTEA" if engine == "postgres" else "BLOB", "a"),
        "j": ("JSON", "{}"),
    }
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in types.items())
    values = ", ".join(f"'{value}'" for _, value in types.values())
    create = f"CREATE TABLE f (k INT, {columns})"
    rows = f"INSERT INTO f (k, {', '.join(types)}) VALUES (1, {values})"  # noqa: S608 - ours
    table = f"{store(engine, create, rows, 'INSERT INTO f (k) VALUES (2), (3)')}#f"  # noqa: S608 - ours
    filters: list[tuple[dict[str, Any], int]] = [
        *(({name: None}, 2) for name in types),
        *(({name: {"ne": None}}, 1) for name in types),
        ({"u": UUID.upper()}, 1),
        ({"u": {"ne": UUID}}, 2),
        ({"t": "10:00:00.500"}, 1),
        ({"t": ["10:00", None]}, 2),
    ]
    for each, count in filters:
        result = compared(table, table, key=("k",), columns=("k",), filters=each)
        assert (each, result.rows.rows_a) == (each, count)


# Of a FLOAT and of a NUMERIC: plain, with an exponent, whole, with most digits.
NUMBERS = ("2.5", "-0.1", "0", "100", "1e-7", "1.25e-30", "1e20", "16777216", "429870.12", "NaN")


@pytest.mark.parametrize("question", [{"key": ("v",)}, {"multiset": True}])
def test_floats_meet_decimals_in_a_key_and_without_one(store: Store, question: Any) -> None:
    listed = ", ".join(f"('{each}')" for each in NUMBERS)
    insert = f"INSERT INTO t VALUES {listed}"  # noqa: S608 - ours
    a = f"{store('duckdb', 'CREATE TABLE t (v FLOAT)', insert)}#t"
    b = f"{store('postgres', 'CREATE TABLE t (v numeric)', insert)}#t"
    for pair in ((a, b), (b, a)):
        assert compared(*pair, **question).rows.matched == len(NUMBERS)


# The cells, what is shown of them, and their gap.
SHOWN: tuple[tuple[str, str, tuple[str, str], str], ...] = (
    ("0.1::FLOAT", "0.2::FLOAT", ("0.1", "0.2"), "0.1"),
    ("1e-7::FLOAT", "100::FLOAT", ("1e-07", "100.0"), "99.9999999"),
    ("16777216::FLOAT", "0::FLOAT", ("16777216.0", "0.0"), "16777216"),
    # The same digits, and still another number.
    ("0.1::FLOAT", "0.1::DOUBLE", ("0.10000000149011612", "0.1"), "0.00000000149011612"),
    ("0.1::DOUBLE", "0.1::FLOAT", ("0.1", "0.10000000149011612"), "0.00000000149011612"),
    ("0.1::FLOAT", "0.2::DECIMAL(4, 2)", ("0.1", "0.20"), "0.1"),
)


def test_what_is_shown_of_floats(store: Store, tmp_path: Path) -> None:
    a, b = (
        put(store, tmp_path, "duckdb", name, cells)
        for name, cells in (("a", [case[0] for case in SHOWN]), ("b", [case[1] for case in SHOWN]))
    )
    columns = compared(a, b, key=("k",)).columns
    for column, case in zip(columns, SHOWN, strict=True):
        assert [(each.a, each.b) for each in column.pairs] == [case[2]]
        assert column.largest_gap == Decimal(case[3])


# The floats of 32 bits, and those of 64, of engines without cells of them above.
WIDTHS = {
    "mysql": (
        ("float", "float(10,2)", "float unsigned", "float(10,2) unsigned zerofill"),
        ("double unsigned",),
    ),
    "oracle": (("BINARY_FLOAT",), ("FLOAT",)),
    "tsql": (("real",), ("float",)),
    "spark": (("float",), ("double",)),
    "databricks": (("FLOAT",), ("DOUBLE",)),
    "snowflake": ((), ("FLOAT", "REAL")),
    "bigquery": ((), ("FLOAT64", "FLOAT")),
}


def test_the_bits_of_a_float() -> None:
    for dialect, (singles, doubles) in WIDTHS.items():
        for name in (*singles, *doubles):
            kind = cell_type(ColumnType("float", name), dialect)
            assert kind.single == (name in singles), (dialect, name)


REFUSED = (
    ("v:factor=0", "multiplied by 0"),
    ("v:zone-b=Mars/X", "there is no time zone"),
    ("v:shift=2", "is not understood"),
    ("v:factor=1=2", "is not understood"),
    ("v:length=0", "length"),
)


@pytest.mark.parametrize(("stated", "words"), REFUSED)
def test_a_rule_that_cannot_be_meant_is_refused(stated: str, words: str) -> None:
    with pytest.raises((InvalidInputError, ValueError), match=words):
        Rules.model_validate({"columns": dict([read_rule(stated)])})

"""Cells of every type, written in SQL: equal or different, in one DuckDB and across two engines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import rows_asked
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database as PostgresDatabase

from skillian.data.comparison.cache import Memory
from skillian.data.declare.rules import Rule, Rules
from skillian.data.declare.sources import Connections
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.tables.engine import TableEngine
from skillian.data.tables.results import TableResult

# The cell of a, that of b, the rule, and whether they are equal; None if they are not comparable.
Case = tuple[str, str, Mapping[str, Any], bool | None]

IN_DUCKDB: tuple[Case, ...] = (
    ("1::TINYINT", "1::HUGEINT", {}, True),
    ("18446744073709551615::UBIGINT", "18446744073709551615::HUGEINT", {}, True),
    ("18446744073709551615::UBIGINT", "18446744073709551614::UBIGINT", {}, False),
    ("170141183460469231731687303715884105727::HUGEINT", "1::BIGINT", {}, False),
    ("1::UHUGEINT", "-1::INTEGER", {}, False),
    ("1.50::DECIMAL(18,2)", "1.5::DECIMAL(38,10)", {}, True),
    ("1.50::DECIMAL(18,2)", "1.5000000001::DECIMAL(38,10)", {}, False),
    ("99999999999999999999999999999999999.99::DECIMAL(38,2)", "0.0001::DECIMAL(38,30)", {}, False),
    ("1.25::DECIMAL(38,2)", "1.25::DECIMAL(38,30)", {}, True),
    ("1.25::DECIMAL(38,2)", "1.26::DECIMAL(38,30)", {"absolute": "0.01"}, True),
    ("1.25::DECIMAL(38,2)", "1.27::DECIMAL(38,30)", {"absolute": "0.01"}, False),
    ("100::INTEGER", "101::INTEGER", {"relative": "0.01"}, True),
    ("100::INTEGER", "102::INTEGER", {"relative": "0.01"}, False),
    ("100::INTEGER", "101::INTEGER", {"relative": "0.01", "absolute": "0.5"}, False),
    ("0.1::FLOAT", "0.1::FLOAT", {}, True),
    ("0.1::FLOAT", "0.1::DOUBLE", {}, False),
    ("0.5::FLOAT", "0.5::DOUBLE", {}, True),
    ("0.1::FLOAT", "0.1::DOUBLE", {"relative": "0.000001"}, True),
    ("0.1::DOUBLE", "0.1::DECIMAL(18,2)", {}, True),
    ("0.1::FLOAT", "0.1::DECIMAL(18,2)", {}, True),
    ("0.1::DOUBLE", "0.10000000000000001::DECIMAL(38,17)", {}, False),
    ("1e300::DOUBLE", "1::INTEGER", {}, False),
    ("1e20::DOUBLE", "100000000000000000000::DECIMAL(38,0)", {}, True),
    ("1e20::DOUBLE", "100000000000000000001::DECIMAL(38,0)", {}, False),
    ("0.15::DOUBLE", "0.2::DECIMAL(4,1)", {}, False),
    ("NULL::DOUBLE", "1::DECIMAL(4,1)", {}, False),
    ("16777217::BIGINT", "16777216::FLOAT", {}, False),
    ("9007199254740993::BIGINT", "9007199254740992::DOUBLE", {}, False),
    ("-0.0::DOUBLE", "0::INTEGER", {}, True),
    ("3::DOUBLE", "3::INTEGER", {}, True),
    ("'nan'::DOUBLE", "'nan'::DOUBLE", {}, True),
    ("'nan'::DOUBLE", "'nan'::FLOAT", {}, True),
    ("'nan'::DOUBLE", "NULL::DOUBLE", {}, False),
    ("'nan'::DOUBLE", "1::DOUBLE", {"absolute": "5"}, False),
    ("'inf'::DOUBLE", "'inf'::DOUBLE", {}, True),
    ("'inf'::DOUBLE", "'-inf'::DOUBLE", {"relative": "5"}, False),
    ("'inf'::DOUBLE", "1::DOUBLE", {"relative": "5"}, False),
    ("0.0::DOUBLE", "-0.0::DOUBLE", {}, True),
    ("0.4::DOUBLE", "0.1::DOUBLE", {"absolute": "0.3"}, True),
    ("0.4::DOUBLE", "0.1::DOUBLE", {"absolute": "0.2999999"}, False),
    ("NULL::DOUBLE", "0::DOUBLE", {"absolute": "5"}, False),
    ("true", "1::INTEGER", {}, True),
    ("true", "2::INTEGER", {}, False),
    ("true", "false", {}, False),
    ("'a'", "'A'", {}, False),
    ("'a'", "'A'", {"ignore_case": True}, True),
    ("'ä'", "'Ä'", {"ignore_case": True}, True),
    ("'a '", "'a'", {}, False),
    ("' a\t'", "'a'", {"trim": True}, True),
    ("'a  b'", "'a\tb'", {"collapse_whitespace": True}, True),
    ("'é'", "'e' || chr(769)", {}, False),
    ("'é'", "'e' || chr(769)", {"nfc": True}, True),
    ("''", "NULL::VARCHAR", {}, False),
    ("''", "NULL::VARCHAR", {"empty_is_null": True}, True),
    ("' '", "NULL::VARCHAR", {"empty_is_null": True, "trim": True}, True),
    ("'x'::ENUM ('x', 'y')", "'x'", {}, True),
    ("'x'::ENUM ('x', 'y')", "'x'::ENUM ('y', 'x')", {}, True),
    ("DATE '2024-01-31'", "TIMESTAMP '2024-01-31 00:00:00'", {}, True),
    ("DATE '2024-01-31'", "TIMESTAMP '2024-01-31 00:00:01'", {}, False),
    ("DATE '2024-01-31'", "DATE '2024-02-01'", {"seconds": "86400"}, True),
    ("TIMESTAMP '2024-01-31 10:00:00'", "TIMESTAMPTZ '2024-01-31 10:00:00+00'", {}, True),
    ("TIMESTAMP '2024-01-31 10:00:00'", "TIMESTAMPTZ '2024-01-31 12:00:00+02'", {}, True),
    (
        "TIMESTAMP '2024-07-31 10:00:00'",
        "TIMESTAMPTZ '2024-07-31 08:00:00+00'",
        {"zone": "Europe/Berlin"},
        True,
    ),
    ("TIMESTAMP_NS '2024-01-31 10:00:00.000000001'", "TIMESTAMP '2024-01-31 10:00:00'", {}, False),
    ("TIMESTAMP_NS '2024-01-31 10:00:00'", "TIMESTAMP '2024-01-31 10:00:00'", {}, True),
    (
        "TIMESTAMP_NS '2024-01-31 10:00:00.000000001'",
        "TIMESTAMP '2024-01-31 10:00:00'",
        {"precision": "microsecond"},
        True,
    ),
    (
        "TIMESTAMP_NS '2024-01-31 10:00:00.000000001'",
        "TIMESTAMP_NS '2024-01-31 10:00:01'",
        {"seconds": "1"},
        True,
    ),
    ("TIMESTAMP_S '2024-01-31 10:00:00'", "TIMESTAMP_MS '2024-01-31 10:00:00'", {}, True),
    (
        "TIMESTAMP '2024-01-31 10:00:00.4'",
        "TIMESTAMP '2024-01-31 10:00:00'",
        {"precision": "second"},
        True,
    ),
    ("TIMESTAMP '2024-01-31 10:00:00'", "TIMESTAMP '2024-01-31 10:00:02'", {"seconds": "1"}, False),
    ("TIMESTAMP 'infinity'", "TIMESTAMP '2024-01-31'", {"seconds": "1"}, False),
    ("DATE 'infinity'", "DATE '2024-01-31'", {"seconds": "1"}, False),
    ("1e308::DOUBLE", "-1e308::DOUBLE", {"relative": "1"}, False),
    ("1e308::DOUBLE", "-1e308::DOUBLE", {"relative": "2"}, True),
    ("123::HUGEINT", "124::HUGEINT", {"relative": "0.01"}, True),
    ("TIME '10:00:00.5'", "TIME '10:00:00.50'", {}, True),
    ("TIME '10:00:00.5'", "TIME '10:00:00'", {}, False),
    ("'\\xAB'::BLOB", "'\\xAB'::BLOB", {}, True),
    ("'\\xAB'::BLOB", "'\\xAC'::BLOB", {}, False),
    (
        "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::UUID",
        "'6F1DD3AE-0A5B-4D3E-9F3C-0123456789AB'",
        {},
        True,
    ),
    ("'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::UUID", "'6f1dd3ae'", {}, False),
    ("""'{"a": 1, "b": [1.0, null]}'::JSON""", """'{"b":[1,null],"a":1e0}'::JSON""", {}, True),
    ("""'{"a": 1}'::JSON""", """'{"a": "1"}'::JSON""", {}, False),
    ("""'[1,2]'::JSON""", """'[2,1]'::JSON""", {}, False),
    ("""'{"a": true}'::JSON""", """'{"a": 1}'::JSON""", {}, False),
    ("""'{"a": 12345678901234567890.1}'::JSON""", """'{"a": 12345678901234567890.2}'""", {}, False),
    ("[1, 2]", "[1, 2]", {}, True),
    ("[1, 2]", "[2, 1]", {}, False),
    ("{'x': 1}", "{'x': 2}", {}, False),
    ("INTERVAL 1 DAY", "INTERVAL 1 DAY", {}, True),
    ("'x'", "1::INTEGER", {}, None),
    ("'2024-01-31'", "DATE '2024-01-31'", {}, None),
    ("[1]", "['x']", {}, None),
    ("NULL::VARCHAR", "1::INTEGER", {}, False),
    ("NULL::VARCHAR", "NULL::DATE", {}, True),
)
IN_POSTGRES: tuple[Case, ...] = (
    ("1::smallint", "1.00::numeric(10,2)", {}, True),
    ("1::numeric", "1.000::numeric", {}, True),
    ("'NaN'::numeric", "'NaN'::numeric", {}, True),
    ("1e50::numeric", "1e50::numeric + 0.001", {}, False),
    ("0.1::real", "0.1::float8", {}, False),
    ("0.1::float8", "0.1::numeric", {}, True),
    ("0.1::real", "0.1::numeric(4,2)", {}, True),
    ("'NaN'::float8", "'NaN'::real", {}, True),
    ("'Infinity'::float8", "1::float8", {"relative": "5"}, False),
    ("100::int", "101::numeric", {"relative": "0.01"}, True),
    ("100::int", "101.5::numeric", {"relative": "0.01"}, False),
    ("true", "1", {}, True),
    ("'a'::text", "'a'::varchar(5)", {}, True),
    ("'a'::char(3)", "'a'::text", {}, True),
    ("'a '::text", "'a'::text", {}, False),
    ("'ä'::text", "'Ä'::text", {"ignore_case": True}, True),
    ("'é'::text", "'e' || chr(769)", {"nfc": True}, True),
    ("E' a \\t b'::text", "'a b'::text", {"trim": True, "collapse_whitespace": True}, True),
    ("date '2024-01-31'", "timestamp '2024-01-31'", {}, True),
    ("timestamp '2024-01-31 10:00'", "timestamptz '2024-01-31 12:00+02'", {}, True),
    ("timestamp '2024-01-31 10:00:01'", "timestamp '2024-01-31 10:00'", {"seconds": "1"}, True),
    (
        "timestamp '2024-01-31 10:00:01'",
        "timestamp '2024-01-31 10:00'",
        {"precision": "hour"},
        True,
    ),
    ("time '10:00:00.5'", "time '10:00:00.500'", {}, True),
    ("'\\xab'::bytea", "'\\xab'::bytea", {}, True),
    ("'\\xab'::bytea", "'\\xac'::bytea", {}, False),
    (
        "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::uuid",
        "'6F1DD3AE-0A5B-4D3E-9F3C-0123456789AB'::text",
        {},
        True,
    ),
    ("""'{"a": 1, "b": 2}'::json""", """'{"b":2.0,"a":1}'::jsonb""", {}, True),
    ("""'{"a": 1}'::json""", """'{"a":2}'::jsonb""", {}, False),
    ("array[1, 2]", "array[1, 2]", {}, True),
    ("array[1, 2]", "array[2, 1]", {}, False),
    ("interval '1 day'", "interval '1 day'", {}, True),
    ("'x'::text", "1", {}, None),
)
# A cell in PostgreSQL and one in DuckDB.
ACROSS: tuple[Case, ...] = (
    ("0.1::real", "0.1::FLOAT", {}, True),
    ("0.1::real", "0.1::DOUBLE", {}, False),
    ("0.1::real", "0.1::DECIMAL(4,2)", {}, True),
    ("'NaN'::float8", "'nan'::DOUBLE", {}, True),
    ("'-Infinity'::float8", "'-inf'::DOUBLE", {}, True),
    ("12345678901234567890123456789.123456789012345::numeric", "1::INTEGER", {}, False),
    ("18446744073709551615::numeric", "18446744073709551615::UBIGINT", {}, True),
    ("1.50::numeric", "1.5::DECIMAL(18,2)", {}, True),
    ("1.5::numeric", "1.6::DECIMAL(18,2)", {"absolute": "0.1"}, True),
    ("1.5::numeric", "1.61::DECIMAL(18,2)", {"absolute": "0.1"}, False),
    (
        "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::uuid",
        "'6F1DD3AE-0A5B-4D3E-9F3C-0123456789AB'::UUID",
        {},
        True,
    ),
    ("""'{"a": 1, "b": 2.50}'::jsonb""", """'{"b":2.5, "a":1}'::JSON""", {}, True),
    ("'\\xab00'::bytea", "'\\xAB\\x00'::BLOB", {}, True),
    ("time '10:00:00.5'", "TIME '10:00:00.5'", {}, True),
    ("timestamptz '2024-01-31 12:00+02'", "TIMESTAMP_NS '2024-01-31 10:00'", {}, True),
    ("timestamp '2024-01-31 10:00'", "TIMESTAMP_NS '2024-01-31 10:00:00.000000001'", {}, False),
    ("true", "true", {}, True),
    ("'a '::text", "'A'", {"trim": True, "ignore_case": True}, True),
    ("array[1]", "[1]", {}, None),
)
# A cell in MariaDB and one in DuckDB.
MYSQL: tuple[Case, ...] = (
    ("CAST(0.1 AS FLOAT)", "0.1::FLOAT", {}, True),
    ("CAST(0.1 AS DOUBLE)", "0.1::DOUBLE", {}, True),
    ("CAST(18446744073709551615 AS UNSIGNED)", "18446744073709551615::UBIGINT", {}, True),
    ("CAST(1.5 AS DECIMAL(60,20))", "1.5::DECIMAL(18,2)", {}, True),
    ("CAST(1.5 AS DECIMAL(60,20))", "1.51::DECIMAL(18,2)", {}, False),
    ("X'AB00'", "'\\xAB\\x00'::BLOB", {}, True),
    ("TIME'10:00:00.5'", "TIME '10:00:00.5'", {}, True),
    ("TIME'10:00:00'", "TIME '10:00:00'", {}, True),
    ("CAST('a' AS CHAR(3))", "'A'", {}, False),
    ("'a '", "'a'", {}, False),
    ("""'{"a": 1}'""", """'{"a":1.0}'::JSON""", {}, True),
    ("TIMESTAMP'2024-01-31 10:00:00'", "TIMESTAMPTZ '2024-01-31 10:00:00+00'", {}, True),
)


def compared(
    a: str, b: str, rule: Mapping[str, Any], filters: Mapping[str, object] | None = None
) -> TableResult:
    """Compare the tables at two addresses by their column k."""

    async def run() -> TableResult:
        registry, (one, other) = await bare_tables([a, b])
        async with Connections(registry) as connections:
            memory = Memory()
            engine = TableEngine(Binder(registry, connections), memory)
            try:
                rules = Rules(all=Rule.model_validate(rule))
                question = rows_asked(one, other, key=("k",), rules=rules, filters=filters or {})
                return await engine.compare(question)
            finally:
                await memory.aclose()

    return asyncio.run(run())


def check(result: TableResult, *, equal: bool | None) -> None:
    """Hold the result of one cell against what is expected."""
    if equal is None:
        [refused] = result.not_compared
        assert refused.column == "v"
        assert not result.equal
        return
    assert not result.not_compared
    [column] = result.columns
    assert column.mismatches == int(not equal)


def stored(path: Path, name: str, cell: str) -> str:
    """Write the cell into a DuckDB file and return the table's address."""
    with duckdb.connect(path) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS k, {cell} AS v")
    return f"duckdb:///{path}#{name}"


@pytest.mark.parametrize("case", IN_DUCKDB)
def test_in_one_duckdb(tmp_path: Path, case: Case) -> None:
    a, b, rule, equal = case
    one, other = (stored(tmp_path / "t.duckdb", name, cell) for name, cell in (("a", a), ("b", b)))
    check(compared(one, other, rule), equal=equal)


@pytest.mark.parametrize("case", IN_POSTGRES)
def test_in_one_postgres(
    postgres_database: PostgresDatabase,
    case: Case,
) -> None:
    a, b, rule, equal = case
    for name, cell in (("a", a), ("b", b)):
        postgres_database.execute(f"CREATE TABLE {name} AS SELECT 1 AS k, {cell} AS v")
    url = postgres_database.url
    check(compared(f"{url}#a", f"{url}#b", rule), equal=equal)


@pytest.mark.parametrize("case", ACROSS)
def test_across_postgres_and_duckdb(
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    case: Case,
) -> None:
    a, b, rule, equal = case
    postgres_database.execute(f"CREATE TABLE a AS SELECT 1 AS k, {a} AS v")
    other = stored(tmp_path / "t.duckdb", "b", b)
    check(compared(f"{postgres_database.url}#a", other, rule), equal=equal)
    check(compared(other, f"{postgres_database.url}#a", rule), equal=equal)


@pytest.mark.parametrize("case", MYSQL)
def test_across_mariadb_and_duckdb(
    mysql_database: MySQLDatabase,
    tmp_path: Path,
    case: Case,
) -> None:
    a, b, rule, equal = case
    mysql_database.execute(f"CREATE TABLE a AS SELECT 1 AS k, {a} AS v")
    other = stored(tmp_path / "t.duckdb", "b", b)
    check(compared(f"{mysql_database.url}#a", other, rule), equal=equal)


@pytest.mark.parametrize(
    ("kind", "a", "b", "equal"),
    [
        ("JSON", """'{"a": 1, "b": [1.0]}'""", """'{"b":[1],"a":1e0}'""", True),
        ("JSON", """'{"a": 1}'""", """'{"a": "1"}'""", False),
        ("LONGTEXT", """'{"a": 1}'""", """'{"a":1}'""", False),
        ("POINT", "POINT(1, 2)", "POINT(1, 2)", True),
        ("POINT", "POINT(1, 2)", "POINT(1, 3)", False),
        ("BIT(8)", "b'10000001'", "b'10000001'", True),
        ("BIT(8)", "b'10000001'", "b'10000010'", False),
        ("INET6", "'::1'", "'0::1'", True),
        ("SET('x', 'y')", "'x,y'", "'y,x'", True),
        ("TIME", "'-10:00:00'", "'10:00:00'", False),
    ],
)
def test_in_two_tables_of_mariadb(
    mysql_database: MySQLDatabase, kind: str, a: str, b: str, *, equal: bool
) -> None:
    for name, cell in (("a", a), ("b", b)):
        mysql_database.execute(
            f"CREATE TABLE {name} (k INT, v {kind}); INSERT INTO {name} VALUES (1, {cell})"  # noqa: S608 - ours
        )
    check(compared(f"{mysql_database.url}#a", f"{mysql_database.url}#b", {}), equal=equal)


def test_a_number_without_a_limit_is_filtered(postgres_database: PostgresDatabase) -> None:
    postgres_database.execute(
        "CREATE TABLE a AS SELECT n AS k, 1e-40::numeric + n AS v FROM generate_series(1, 3) AS n;"
        "CREATE TABLE b AS SELECT k, v * 2 AS v FROM a"
    )
    url = postgres_database.url
    filters = {"v": {"gt": "2"}}
    result = compared(f"{url}#a", f"{url}#b", {}, filters)
    rows = result.rows.to_dict()
    assert (rows["a"], rows["b"]) == (2, 3)

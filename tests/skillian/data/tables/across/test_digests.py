"""The text and the digest of a cell are the same bytes in every engine that computes them."""

import hashlib
import math
import struct
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlglot import exp
from tests.skillian.data.tables.conftest import Store

from skillian.connectors import connect
from skillian.data import sql
from skillian.data.sql import prepare
from skillian.data.tables.across.digests import DigestCell, cell_text, digest
from skillian.data.tables.types import cell_type

DUCKDB, POSTGRES, MYSQL = "duckdb", "postgres", "mysql"


class Cells(NamedTuple):
    """A type's name in each engine that has a form for it, and its values with their texts."""

    types: dict[str, str]
    values: tuple[tuple[str, str], ...]


def everywhere(name: str) -> dict[str, str]:
    return dict.fromkeys((DUCKDB, POSTGRES, MYSQL), name)


def bits(value: str, width: str) -> str:
    """The text of a float: the bits of 64 with its value; both zeros have one text."""
    number = struct.unpack(width, struct.pack(width, float(value.strip("'"))))[0]
    if number == 0 or math.isnan(number):
        return "nan" if number else "0"
    return struct.pack(">d", number).hex()


DOUBLES = (
    "0.1", "-0.1", "0", "-0.0", "100", "1.5", "1e15", "123456789012345680", "9007199254740993",
    "1e300", "1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "1e22", "1e-7",
    "'NaN'", "'Infinity'", "'-Infinity'",
)  # fmt: skip
SINGLES = ("0.1", "-0.0", "16777216", "3.4028235e38", "1e-30", "33554432", "1e10", "'NaN'")
FLOATS = tuple((value, bits(value, ">d")) for value in DOUBLES)
SINGLE = tuple((value, bits(value, ">f")) for value in SINGLES)
TEXTS = (
    ("''", ""),
    ("'a'", "a"),
    ("' a '", " a "),
    ("'Zürich'", "Zürich"),
    ("'a;b:1'", "a;b:1"),
    ("'漢字 😀'", "漢字 😀"),
    ("'O''Neil'", "O'Neil"),
    ("'-'", "-"),
)
CASES = {
    "smallint": Cells(everywhere("SMALLINT"), (("0", "0"), ("-32768", "-32768"))),
    "integer": Cells(everywhere("INTEGER"), (("0", "0"), ("-7", "-7"), ("2147483647",) * 2)),
    "bigint": Cells(
        everywhere("BIGINT"),
        (("9223372036854775807", "9223372036854775807"), ("-9223372036854775808",) * 2),
    ),
    "unsigned": Cells(
        {DUCKDB: "UBIGINT", MYSQL: "BIGINT UNSIGNED"}, (("18446744073709551615",) * 2,)
    ),
    "decimal": Cells(
        everywhere("DECIMAL(12, 3)"),
        (
            ("0", "0"),
            ("0.500", "0.5"),
            ("-0.125", "-0.125"),
            ("100", "100"),
            ("123456789.100", "123456789.1"),
        ),
    ),
    "fixed decimal": Cells(
        everywhere("DECIMAL(12, 3)"),
        (("0", "0.000"), ("0.500",) * 2, ("-0.125",) * 2, ("100", "100.000")),
    ),
    "wide decimal": Cells(
        everywhere("DECIMAL(38, 10)"),
        (("1234567890123456789012345678.0123456789",) * 2, ("1000", "1000")),
    ),
    "whole decimal": Cells(everywhere("DECIMAL(20, 0)"), (("1000", "1000"), ("0", "0"))),
    "numeric without scale": Cells(
        {POSTGRES: "NUMERIC"}, (("0.50", "0.5"), ("1e30", "1" + "0" * 30), ("'NaN'", "NaN"))
    ),
    "double": Cells({DUCKDB: "DOUBLE", POSTGRES: "DOUBLE PRECISION"}, FLOATS),
    "float": Cells({DUCKDB: "FLOAT", POSTGRES: "REAL"}, SINGLE),
    "text": Cells({DUCKDB: "VARCHAR", POSTGRES: "TEXT", MYSQL: "TEXT"}, TEXTS),
    "varchar": Cells(everywhere("VARCHAR(20)"), TEXTS),
    "boolean": Cells(everywhere("BOOLEAN"), (("true", "1"), ("false", "0"))),
    "date": Cells(
        everywhere("DATE"), (("'2024-02-29'",) * 2, ("'1969-12-31'",) * 2, ("'9999-12-31'",) * 2)
    ),
    "timestamp": Cells(
        {DUCKDB: "TIMESTAMP", POSTGRES: "TIMESTAMP", MYSQL: "DATETIME(6)"},
        (
            ("'1970-01-01 00:00:00'",) * 2,
            ("'2024-02-29 12:34:56.123456'",) * 2,
            ("'2024-02-29 12:34:56.5'",) * 2,
            ("'1969-12-31 23:59:59.999999'",) * 2,
            ("'1600-01-01 00:00:00'",) * 2,
        ),
    ),
    "timestamp with time zone": Cells(
        {DUCKDB: "TIMESTAMPTZ", POSTGRES: "TIMESTAMPTZ"},
        (("'2024-02-29 12:34:56.5+02'", "2024-02-29 10:34:56.5+00"),),
    ),
    "time": Cells(
        {DUCKDB: "TIME", POSTGRES: "TIME", MYSQL: "TIME(6)"},
        (("'12:00:00'", "12:00:00"), ("'23:59:59.5'", "23:59:59.5")),
    ),
    "uuid": Cells(
        {DUCKDB: "UUID", POSTGRES: "UUID"}, (("'0A9f1c34-0000-4000-8000-00000000ABCD'",) * 2,)
    ),
    "binary": Cells(
        {DUCKDB: "BLOB", POSTGRES: "BYTEA", MYSQL: "VARBINARY(20)"}, (("", ""), ("00ff27",) * 2)
    ),
}  # fmt: skip
BYTES = {DUCKDB: "unhex('{}')", POSTGRES: "decode('{}', 'hex')", MYSQL: "unhex('{}')"}


def literal(case: str, value: str, engine: str) -> str:
    return BYTES[engine].format(value) if case == "binary" else value


def expected_text(text: str) -> str:
    return text.strip("'").lower() if text.startswith("'") else text


def expected_digest(text: str | None, *, is_free: bool) -> int:
    written = ("-:" if is_free else "-") if text is None else text
    if is_free and text is not None:
        written = f"{len(text.encode())}:{text}"
    return int(hashlib.md5(f"{written};".encode(), usedforsecurity=False).hexdigest()[:15], 16)


@pytest.mark.parametrize("case", CASES)
async def test_every_engine_writes_a_value_with_the_same_bytes(store: Store, case: str) -> None:
    cells = CASES[case]
    is_free = case in {"text", "varchar"}
    texts = [None, *(expected_text(text) for _, text in cells.values)]
    expected = [(text, expected_digest(text, is_free=is_free)) for text in texts]
    for engine, name in cells.types.items():
        rows = ["(0, NULL)"]
        rows += [
            f"({number}, {literal(case, value, engine)})"
            for number, (value, _) in enumerate(cells.values, 1)
        ]
        insert = f"INSERT INTO cells VALUES {', '.join(rows)}"  # noqa: S608 - ours
        url = store(engine, f"CREATE TABLE cells (n INTEGER, v {name})", insert)
        found = await read(url, "v", is_fixed=case.startswith("fixed"))
        assert [(row["t"], int(row["d"])) for row in found] == expected, engine


async def read(url: str, names: str, *, is_fixed: bool = False) -> list[dict[str, Any]]:
    """The text of the first of these columns of a table `cells`, and the digest of all."""
    connector = connect("x", url, Path())
    try:
        [table] = [each for each in await connector.catalog() if each.name == "cells"]
        cells = [
            DigestCell(cell_type(table.columns[name], connector.dialect), sql.bare(name), is_fixed)
            for name in names
        ]
        text, both = cell_text(cells[0], connector.dialect), digest(cells, connector.dialect)
        select = exp.Select(expressions=[sql.named(text, "t"), sql.named(both, "d")])
        select.from_(sql.table("cells"), copy=False).order_by(sql.bare("n"), copy=False)
        rows: list[dict[str, Any]] = (
            await connector.run(prepare(select, connector.dialect, {}).text, {})
        ).to_pylist()
        return rows
    finally:
        await connector.aclose()


PARTS = ("ab", ("ab", ""), ("", "ab"), ("a;1:b", ""), (None, "-"), ("-", None), (None, None))


async def test_cells_that_are_joined_differ_wherever_their_boundaries_do(store: Store) -> None:
    rows = [
        f"({n}, {', '.join('NULL' if each is None else repr(each) for each in row)})"
        for n, row in enumerate(PARTS)
    ]
    insert = f"INSERT INTO cells VALUES {', '.join(rows)}"  # noqa: S608 - ours
    url = store("duckdb", "CREATE TABLE cells (n INT, a TEXT, b TEXT)", insert)
    assert len({row["d"] for row in await read(url, "ab")}) == len(PARTS)

"""The text and the digest of a cell are the same bytes in every engine that computes them."""

from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp
from tests.skillian.data.tables.conftest import Store

from skillian.connectors import connect
from skillian.data import sql
from skillian.data.sql import prepare
from skillian.data.tables.across.digests import DigestCell, cell_text, digest
from skillian.data.tables.types import cell_type

DUCKDB, POSTGRES, MYSQL = "duckdb", "postgres", "mysql"
DOUBLES = (
    "0.1", "-0.1", "0", "100", "1.5", "1e15", "123456789012345680", "9007199254740993",
    "1e300", "1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "1e22", "1e-7",
    "'NaN'", "'Infinity'", "'-Infinity'",
)  # fmt: skip
SINGLES = ("0.1", "0", "16777216", "3.4028235e38", "1e-30", "33554432", "1e10", "'NaN'")
TEXTS = ("''", "'a'", "' a '", "'Zürich'", "'a;b:1'", "'漢字 😀'", "'O''Neil'", "'-'")
DECIMALS = ("0", "0.500", "-0.125", "100", "123456789.100")
MOMENTS = (
    *("'1970-01-01 00:00:00'", "'2024-02-29 12:34:56.123456'", "'2024-02-29 12:34:56.5'"),
    *("'1969-12-31 23:59:59.999999'", "'1600-01-01 00:00:00'"),
)
# Values of a type, by its name in every engine.
EVERYWHERE = {
    "SMALLINT": ("0", "-32768"),
    "INTEGER": ("0", "-7", "2147483647"),
    "BIGINT": ("9223372036854775807", "-9223372036854775808"),
    "DECIMAL(12, 3)": DECIMALS,
    "DECIMAL(38, 10)": ("1234567890123456789012345678.0123456789", "1000"),
    "DECIMAL(20, 0)": ("1000", "0"),
    "VARCHAR(20)": TEXTS,
    "BOOLEAN": ("true", "false"),
    "DATE": ("'2024-02-29'", "'1969-12-31'", "'9999-12-31'"),
}
CASES: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    *(
        (dict.fromkeys((DUCKDB, POSTGRES, MYSQL), name), values)
        for name, values in EVERYWHERE.items()
    ),
    ({DUCKDB: "UBIGINT", MYSQL: "BIGINT UNSIGNED"}, ("18446744073709551615",)),
    ({DUCKDB: "DECIMAL(38, 10)", POSTGRES: "NUMERIC"}, (*DECIMALS, "100000000000000000000")),
    ({DUCKDB: "DOUBLE", POSTGRES: "DOUBLE PRECISION"}, DOUBLES),
    ({DUCKDB: "FLOAT", POSTGRES: "REAL"}, SINGLES),
    ({DUCKDB: "VARCHAR", POSTGRES: "TEXT", MYSQL: "TEXT"}, TEXTS),
    ({DUCKDB: "TIMESTAMP", POSTGRES: "TIMESTAMP", MYSQL: "DATETIME(6)"}, MOMENTS),
    ({DUCKDB: "TIMESTAMPTZ", POSTGRES: "TIMESTAMPTZ"}, ("'2024-02-29 12:34:56.5+02'",)),
    ({DUCKDB: "TIME", POSTGRES: "TIME", MYSQL: "TIME(6)"}, ("'12:00:00'", "'23:59:59.5'")),
    ({DUCKDB: "UUID", POSTGRES: "UUID"}, ("'0A9f1c34-0000-4000-8000-00000000ABCD'",)),
    ({DUCKDB: "BLOB", POSTGRES: "BYTEA", MYSQL: "VARBINARY(20)"}, ("", "00ff27")),
)
BYTES = {DUCKDB: "unhex('{}')", POSTGRES: "decode('{}', 'hex')", MYSQL: "unhex('{}')"}


@pytest.mark.parametrize(("types", "values"), CASES, ids=lambda case: next(iter(case)))
async def test_every_engine_writes_a_value_with_the_same_bytes(
    store: Store, types: dict[str, str], values: tuple[str, ...]
) -> None:
    for is_fixed in {False, types[DUCKDB] == "DECIMAL(12, 3)"}:
        found: list[list[tuple[str, int]]] = []
        for engine, name in types.items():
            form = BYTES[engine] if name in {"BLOB", "BYTEA", "VARBINARY(20)"} else "{}"
            rows = ", ".join(f"({n}, {form.format(value)})" for n, value in enumerate(values))
            script = ("DROP TABLE IF EXISTS cells", f"CREATE TABLE cells (n INTEGER, v {name})")
            insert = f"INSERT INTO cells VALUES {rows}, (-1, NULL)"  # noqa: S608 - ours
            answer = await read(store(engine, *script, insert), "v", is_fixed=is_fixed)
            found.append([(row["t"], int(row["d"])) for row in answer])
        assert found[1:] == found[:1] * (len(types) - 1)
        texts, digests = zip(*found[0], strict=True)
        assert texts[0] is None
        assert len({*texts}) == len({*digests}) == len(values) + 1


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
async def test_values_that_are_equal_have_one_text(store: Store, engine: str) -> None:
    rows = "INSERT INTO cells VALUES (0, 0, 0.50), (1, CAST('-0.0' AS FLOAT8), 0.5)"
    one, other = await read(
        store(engine, "CREATE TABLE cells (n INT, f FLOAT8, d NUMERIC)", rows), "fd"
    )
    assert one == other


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

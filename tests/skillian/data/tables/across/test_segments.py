"""Only the ranges of the key that differ travel, by digests that all engines compute alike."""

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp
from tests.skillian.data.tables.comparing import compare
from tests.skillian.data.tables.conftest import Store

from skillian.connectors import connect
from skillian.data import sql
from skillian.data.declare.rules import Rule, Rules
from skillian.data.sql import prepare
from skillian.data.tables.across import segments as looks
from skillian.data.tables.across.digests import DigestCell, cell_text, digest
from skillian.data.tables.across.segments import Segments
from skillian.data.tables.place import RowComparison
from skillian.data.tables.types import cell_type

ROWS = 6000
COLUMNS = (
    "id INTEGER, code VARCHAR(20), amount DECIMAL(12, 2), booked DATE, moment TIMESTAMP, ok BOOLEAN"
)
Rows = dict[int, tuple[str, ...]]


def row(number: int) -> tuple[str, ...]:
    return (
        str(number),
        "NULL" if number % 11 == 0 else f"'code {number}'",
        "NULL" if number % 7 == 0 else f"{number}.25",
        f"'2024-01-{number % 28 + 1:02}'",
        f"'2024-01-01 00:{number % 60:02}:00.5'",
        "NULL" if number % 5 == 0 else str(number % 3 == 0).lower(),
    )


def rows_of(count: int = ROWS) -> Rows:
    return {number: row(number) for number in range(1, count + 1)}


def changed(rows: Rows, numbers: Iterable[int]) -> Rows:
    return rows | {number: (*rows[number][:2], "0.01", *rows[number][3:]) for number in numbers}


def filled(
    store: Store,
    a: Iterable[tuple[str, ...]],
    b: Iterable[tuple[str, ...]],
    databases: Sequence[str] = ("postgres", "duckdb"),
) -> list[str]:
    names: list[str] = []
    for database, rows in zip(databases, ([*a], [*b]), strict=True):
        kinds = COLUMNS.replace("TIMESTAMP", "DATETIME(6)") if database == "mysql" else COLUMNS
        script = [f"CREATE TABLE t ({kinds})"]
        for start in range(0, len(rows), 2000):
            values = ", ".join(f"({', '.join(row)})" for row in rows[start : start + 2000])
            script.append(f"INSERT INTO t VALUES {values}")  # noqa: S608 - ours
        names.append(f"{store(database, *script)}#t")
    return names


async def segmented(
    urls: Sequence[str], monkeypatch: pytest.MonkeyPatch, **question: Any
) -> tuple[dict[str, Any], Segments]:
    """The result as JSON without its proof, and the ranges that travelled.

    The statements that fetched the rows are the last two of `queries`.
    """
    seen: list[Segments] = []
    narrow = RowComparison._narrow

    async def noted(self: RowComparison) -> None:
        await narrow(self)
        seen.append(self.segments)

    with monkeypatch.context() as patched:
        patched.setattr(RowComparison, "_narrow", noted)
        result = await compare(*urls, **{"key": ("id",), **question})
    data = json.loads(json.dumps(result.to_dict()))
    seen[0].queries += (each.text for each in result.proof.queries.values())
    del data["proof"]
    for part in ("sentences", "notes"):
        data[part] = [each for each in data[part] if "checksums" not in each]
    return data, seen[0]


@pytest.fixture(autouse=True)
def small_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 1024}.items():
        monkeypatch.setattr(looks, name, value)


@pytest.mark.parametrize(
    "databases", ["postgres-postgres other", "postgres-duckdb", "duckdb-mysql", "postgres-mysql"]
)
@pytest.mark.parametrize("key", [("id",), ("id", "code")], ids="-".join)
async def test_any_difference_is_reported_as_if_all_rows_had_travelled(
    store: Store, monkeypatch: pytest.MonkeyPatch, databases: str, key: tuple[str, ...]
) -> None:
    monkeypatch.setattr(looks, "WORTH", 1)  # whatever is in the sample
    chance = random.Random(1)  # noqa: S311 - the same rows in every run
    rows = rows_of(2000)
    a, b = [*rows.values()], [*changed(rows, chance.sample(range(1, 2000), 5)).values()]
    # Missing and repeated rows on both sides, some of them equal, and keys without a value.
    for side in (a, b):
        for _ in range(3):
            del side[chance.randrange(len(side))]
        side.append(chance.choice(a))
        side += [("NULL", *row(number)[1:]) for number in range(chance.choice((0, 1, 2)))]
    a.append(row(77))
    b.append(row(77))
    urls = filled(store, a, b, databases.split("-"))
    narrowed, ranges = await segmented(urls, monkeypatch, key=key)
    assert ranges.ranges is not None
    assert (ranges.equal_rows > 1700, len(ranges.ranges) < 20) == (True, True)
    monkeypatch.setattr(looks, "SMALL", 10**9)
    everything, none = await segmented(urls, monkeypatch, key=key)
    assert none.ranges is None
    assert narrowed == everything


async def test_a_statement_computes_the_digest_of_a_key_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {number: (str(number % 3), f"'key {number}'", *row(number)[2:]) for number in rows_of()}
    urls = filled(store, rows.values(), changed(rows, range(1, ROWS, 400)).values())
    _, ranges = await segmented(urls, monkeypatch, key=("code",))
    assert len(ranges.ranges or ()) > 10
    # Of the bounds, the samples (whose rows are selected by one) and the sums, in which the rows
    # have one too, and the rows.
    assert [each.count("MD5") for each in ranges.queries] == [0, 0, 3, 3, 2, 2, 1, 1]
    assert max(map(len, ranges.queries)) < 4000


async def test_a_sample_that_differs_is_an_end_to_sums(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, altered = rows_of(2000), range(1, 2000, 3)
    urls = filled(store, rows.values(), changed(rows, altered).values())
    result, ranges = await segmented(urls, monkeypatch)
    assert result["rows"]["differing"] == len(altered)
    assert ranges.ranges is None
    assert "more than a tenth of a sample" in ranges.sentence()
    assert len(ranges.queries) == 6  # the counts, the sample, and all rows


async def test_keys_that_a_rule_makes_the_same_are_found_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*rows_of(1000).values(), ("1", "'CODE 1'", *row(1)[2:])]
    rules = Rules(columns={"code": Rule(ignore_case=True)})
    urls = filled(store, rows, rows)
    result, ranges = await segmented(urls, monkeypatch, key=("code",), rules=rules)
    assert result["rows"]["duplicate_keys_a"] == 2  # and NULL, of each eleventh row
    assert "code of the key is compared by a rule" in ranges.sentence()


async def test_a_type_without_a_common_text_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "CREATE TABLE t AS SELECT i AS id, CAST('{{}}' AS JSON) AS doc FROM {} g (i)"
    a = store("postgres", made.format("generate_series(1, 2000)").replace("{{}}", "{}"))
    b = store("duckdb", made.format("range(1, 2001)").replace("{{}}", "{}"))
    result, ranges = await segmented([f"{a}#t", f"{b}#t"], monkeypatch)
    assert result["rows"]["matched"] == 2000
    assert ranges.ranges is None
    assert "doc is json, which both databases do not write alike" in ranges.sentence()


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
    async with aclosing(connect("x", url, Path())) as connector:
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


PARTS = ("ab", ("ab", ""), ("", "ab"), ("a;1:b", ""), (None, "-"), ("-", None), (None, None))


async def test_cells_that_are_joined_differ_wherever_their_boundaries_do(store: Store) -> None:
    rows = [
        f"({n}, {', '.join('NULL' if each is None else repr(each) for each in row)})"
        for n, row in enumerate(PARTS)
    ]
    insert = f"INSERT INTO cells VALUES {', '.join(rows)}"  # noqa: S608 - ours
    url = store("duckdb", "CREATE TABLE cells (n INT, a TEXT, b TEXT)", insert)
    assert len({row["d"] for row in await read(url, "ab")}) == len(PARTS)

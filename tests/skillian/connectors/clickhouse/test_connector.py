import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests.support.clickhouse import needs_clickhouse, write_clickhouse
from tests.support.waits import SECONDS

from skillian.connectors import connect
from skillian.connectors.base import ColumnType
from skillian.connectors.clickhouse.errors import ClickHouseError, explained
from skillian.connectors.dialects import compile_sql
from skillian.errors import QueryError, UnavailableError

pytestmark = [needs_clickhouse, pytest.mark.timeout(120)]

TABLE = """
CREATE TABLE "a ""b"" table" (
    "select" Nullable(Decimal(17, 2)), "Größe" UInt64, code LowCardinality(Nullable(String)),
    fixed FixedString(4), side Enum8('debit' = 1, 'credit' = 2), flag Bool, small Nullable(Int16),
    huge Int128, ratio Nullable(Float64), day Date32, first Date, moment DateTime64(6),
    second DateTime, instant DateTime64(3, 'Europe/Berlin'), id UUID, list Array(UInt8),
    wide Decimal(60, 2)
) ENGINE = MergeTree ORDER BY tuple()
"""
ROW = """
INSERT INTO "a ""b"" table" VALUES (
    -0.10, 18446744073709551615, 'Größe ', 'ab', 'credit', true, -7,
    -12345678901234567890123456789012345678, 0.1, '1950-01-31', '2024-01-31',
    '2024-01-31 10:00:00.000001', '2024-01-31 10:00:00', '2024-01-31 10:00:00.25',
    '61f0c404-5cb3-11e7-907b-a6006ad3dba0', [1, 2], 1.50
), (
    NULL, 0, NULL, 'abcd', 'debit', false, NULL, 0, nan, '2024-01-31', '1970-01-01',
    '1900-01-01 00:00:00', '1970-01-01 00:00:00', '2024-07-31 10:00:00',
    '00000000-0000-0000-0000-000000000000', [], -1.50
)
"""
OTHERS = (
    "CREATE VIEW v AS SELECT toDate32('2024-01-31') AS d",
    "CREATE DATABASE other",
    "CREATE TABLE other.t (x Nullable(String)) ENGINE = MergeTree ORDER BY tuple()",
    "INSERT INTO other.t VALUES (NULL), ('7'), ('-8')",
    "CREATE TABLE bytes (x String) ENGINE = MergeTree ORDER BY tuple()",
    "INSERT INTO bytes SELECT unhex('ff41')",
)
ENDLESS = 'SELECT SUM(sipHash64("number")) AS n FROM "system"."numbers"'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clickhouse") / "data"
    write_clickhouse(path, [TABLE, ROW, *OTHERS])
    return path


@pytest.fixture
async def connector(folder: Path) -> AsyncIterator[Any]:
    opened: Any = connect("books", f"clickhouse:///{folder}", Path())
    yield opened
    await opened.aclose()


async def rows(
    connector: Any, statement: str, parameters: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await connector.run(statement, parameters or {})).to_pylist()
    return listed


def parsed(text: str) -> exp.Expr:
    """Return the neutral tree of a statement or an expression."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    for kind in tree.find_all(exp.DataType):
        kind.replace(exp.DataType.build(kind.sql("duckdb")))
    return tree


async def value(connector: Any, tree: exp.Expr) -> Any:
    """Return the value of an expression of the neutral tree."""
    select = compile_sql(exp.select(exp.alias_(tree, "v", quoted=True)), connector.dialect)
    [row] = await rows(connector, select)
    return row["v"]


async def test_the_catalogue_has_tables_and_views_with_their_types(connector: Any) -> None:
    tables = await connector.catalog()
    names = [(table.schema, table.name) for table in tables]
    assert names == [
        ("default", 'a "b" table'), ("default", "bytes"), ("default", "v"), ("other", "t"),
    ]  # fmt: skip
    kinds = {name: (kind.kind, kind.scale) for name, kind in tables[0].columns.items()}
    assert kinds == {
        "select": ("decimal", 2),
        "Größe": ("integer", 0),
        "code": ("text", 0),
        "fixed": ("text", 0),
        "side": ("text", 0),
        "flag": ("boolean", 0),
        "small": ("integer", 0),
        "huge": ("integer", 0),
        "ratio": ("float", 0),
        "day": ("date", 0),
        "first": ("date", 0),
        "moment": ("timestamp", 0),
        "second": ("timestamp", 0),
        "instant": ("timestamptz", 0),
        "id": ("other", 0),
        "list": ("other", 0),
        "wide": ("decimal", 2),
    }
    nullable = [name for name, each in tables[0].declared.items() if each.nullable]
    assert nullable == ["select", "code", "small", "ratio"]
    assert tables[0].primary_key == ()


async def test_values_are_exact_and_typed(connector: Any) -> None:
    table: Any = await connector.run('SELECT * FROM "a ""b"" table" ORDER BY "day"', {})
    first, second = table.to_pylist()
    assert list(first.values()) == [
        Decimal("-0.10"), 2**64 - 1, "Größe ", "ab", "credit", True, -7,
        -12345678901234567890123456789012345678, 0.1, date(1950, 1, 31), date(2024, 1, 31),
        datetime(2024, 1, 31, 10, 0, 0, 1), datetime(2024, 1, 31, 10),  # noqa: DTZ001
        datetime(2024, 1, 31, 9, 0, 0, 250000, UTC), "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
        "[1,2]", Decimal("1.50"),
    ]  # fmt: skip
    assert [name for name, each in second.items() if each is None] == ["select", "code", "small"]
    assert second["ratio"] != second["ratio"]
    assert second["moment"] == datetime(1900, 1, 1)  # noqa: DTZ001
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert types["select"] == pa.decimal128(38, 2)
    assert types["Größe"] == pa.decimal128(38, 0)
    assert types["small"] == pa.int64()
    assert types["instant"] == pa.timestamp("us", tz="UTC")


async def test_parameters_are_values_whatever_they_hold(connector: Any) -> None:
    given: dict[str, object] = {
        "p0": "O'Hara \\ \" %s {p1: } -- ; \n\0\t\r ß😀",
        "p1": Decimal("-99999999999999999999.99"),
        "p2": 2**63,
        "p3": date(1950, 1, 31),
        "p4": datetime(2024, 1, 31, 10, 0, 0, 1),  # noqa: DTZ001
        "p5": datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
        "p6": True,
        "p7": None,
        "p8": "",
    }
    columns = ", ".join(f'{{{name}: }} AS "{name}"' for name in given)
    [row] = await rows(connector, f"SELECT {columns}, '{{p0: }} \\'' AS \"x\"", given)
    assert row == given | {"x": "{p0: } '"}


async def test_text_that_is_not_utf_8_is_an_error_that_names_the_column(connector: Any) -> None:
    with pytest.raises(QueryError, match=r"column 'x' .*UTF"):
        await connector.run('SELECT "x" FROM "bytes"', {})
    assert await rows(connector, 'SELECT hex("x") AS "x" FROM "bytes"') == [{"x": "FF41"}]


@pytest.mark.parametrize(
    "expression",
    [
        "SUM(a)",
        "toInt256('170141183460469231731687303715884105728')",
        "CAST('2024-01-31 10:00:00.000000001' AS DateTime64(9))",
    ],
)
async def test_what_38_digits_or_microseconds_cannot_hold_is_an_error(
    connector: Any, expression: str
) -> None:
    big = "SELECT CAST('99999999999999999999999999999999999999' AS Decimal(76, 0)) AS a"
    select = f"SELECT {expression} AS x FROM ({big} UNION ALL {big}) AS t"  # noqa: S608
    with pytest.raises(QueryError):
        await connector.run(select, {})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("CAST(x AS BIGINT)", "99999999999999999999"),
        ("CAST(x AS DECIMAL(38, 2))", "digits|too big|Decimal"),
        ("CAST('2024-02-30' AS DATE)", "2024-02-30 is not DATE"),
        ("CAST('2024-02-30 10:00:00' AS TIMESTAMP)", "2024-02-30 10:00:00 is not TIMESTAMP"),
        ("CAST('2024-01-01 25:00:00' AS TIMESTAMP)", "2024-01-01 25:00:00 is not TIMESTAMP"),
        ("CAST(y AS BIGINT)", "bad"),
        ("CAST(y AS DECIMAL(10, 2))", "bad"),
        ("CAST(y AS DATE)", "bad is not DATE"),
        ("CAST(y AS BOOLEAN)", "bad"),
        ("CAST(y || ' is not BIGINT' AS DECIMAL(10, 2))", "bad is not BIGINT"),
        ("STRPTIME('30.02.2024', '%d.%m.%Y')", "2024|30"),
    ],
)
async def test_what_clickhouse_would_make_up_is_an_error(
    connector: Any, expression: str, message: str
) -> None:
    tree = parsed(f"SELECT {expression} AS v FROM t")  # noqa: S608
    inner = sqlglot.parse_one(
        f"SELECT CAST('{'9' * 50}' AS TEXT) AS x, CAST('bad' AS TEXT) AS y", dialect="duckdb"
    )
    assert isinstance(tree, exp.Select)
    statement = compile_sql(tree.with_("t", as_=inner), connector.dialect)
    with pytest.raises(QueryError, match=message):
        await connector.run(statement, {})
    async with aclosing(connector.stream(statement, {})) as batches:
        with pytest.raises(QueryError, match=message):
            await anext(batches)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(CAST(NULL AS TEXT) AS BIGINT)", None),
        ("CAST(CAST(NULL AS TEXT) AS DATE)", None),
        ("CAST('1950-01-31' AS DATE)", date(1950, 1, 31)),
        ("CAST('1950-01-31T10:11' AS TIMESTAMP)", datetime(1950, 1, 31, 10, 11)),  # noqa: DTZ001
        ("STRPTIME('31.01.1950', '%d.%m.%Y')", datetime(1950, 1, 31)),  # noqa: DTZ001
        ("STRFTIME(CAST('1950-01-31' AS DATE), '%d|%M')", "31|00"),
        ("-7 // 2", Decimal(-3)),
        ("CAST(CAST(0.15 AS DOUBLE) AS TEXT)", "0.15"),
        ("UPPER('straße é')", "STRAßE É"),
        ("LPAD('é', 3, '😀')", "😀😀é"),
        ("LENGTH('😀')", 1),
        ("SUBSTRING('éa', 2, 1)", "a"),
        ("TRIM(' x\t ')", "x\t"),
    ],
)
async def test_functions_have_the_result_of_other_databases(
    connector: Any, expression: str, expected: object
) -> None:
    tree = parsed(expression)
    if "UPPER" in expression:
        tree = exp.Replace(
            this=tree,
            expression=exp.Literal.string("\u1e9e"),
            replacement=exp.Literal.string("\u00df"),
        )
    assert await value(connector, tree) == expected


async def test_a_text_of_a_decimal_keeps_its_zeros(connector: Any) -> None:
    number = exp.cast(exp.Literal.string("1.50"), exp.DataType.build("DECIMAL(10, 2)"))
    number.type = exp.DataType.build("DECIMAL(38, 2)")
    assert await value(connector, exp.cast(number, "TEXT")) == "1.50"


async def test_a_date_and_time_is_read_in_the_zone_of_the_url(folder: Path) -> None:
    zoned: Any = connect("books", f"clickhouse:///{folder}?timezone=Europe/Berlin", Path())
    try:
        [first, _] = await rows(
            zoned, 'SELECT "moment", "second", "instant" FROM "a ""b"" table" ORDER BY "day"'
        )
    finally:
        await zoned.aclose()
    assert first == {
        "moment": datetime(2024, 1, 31, 11, 0, 0, 1),  # noqa: DTZ001
        "second": datetime(2024, 1, 31, 11),  # noqa: DTZ001
        "instant": datetime(2024, 1, 31, 9, 0, 0, 250000, UTC),
    }


async def test_describe_returns_types_without_running(connector: Any) -> None:
    start = time.monotonic()
    described = await connector.describe(ENDLESS)
    assert time.monotonic() - start < 30
    assert described == {"n": ColumnType("integer", "UInt64")}


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO other.t VALUES ('x')",
        "DROP TABLE other.t",
        "SELECT 1; SELECT 2",
        "SELECT 1 INTO OUTFILE 'written.csv'",
        "SELECT 1 FORMAT CSV",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM url('http://127.0.0.1:9/', 'CSV', 'a String')",
        "SELECT file('/etc/passwd')",
        'SELECT * FROM "/etc/hostname"',
        'SELECT * FROM "default"."/etc/hostname"',
        "SELECT FILE('/etc/passwd')",
        "SELECT * FROM executable('x', 'CSV', 'a Int8')",
        "SYSTEM SHUTDOWN",
        "SET readonly = 0",
        "",
    ],
)
async def test_nothing_but_a_single_select_of_tables_runs(connector: Any, statement: str) -> None:
    with pytest.raises(QueryError, match="only a single SELECT of tables"):
        await connector.run(statement, {})


async def test_no_statement_changes_the_settings(connector: Any) -> None:
    with pytest.raises(QueryError, match="only a single SELECT"):
        await connector.run("SELECT 1 AS x SETTINGS readonly = 0", {})


async def test_errors_hold_no_path_and_no_statement(connector: Any, folder: Path) -> None:
    with pytest.raises(QueryError, match=r"connection 'books': .*nothing_like_it") as refused:
        await connector.run("SELECT nothing_like_it FROM other.t", {})
    assert "In scope" not in str(refused.value)
    assert str(folder) not in str(refused.value)
    locked = explained("b", ClickHouseError("Code: 76. DB::Exception: Cannot lock /a/b/c (X)"))
    assert "open in another process" in str(locked)
    assert str(explained("b", ClickHouseError("no /a/b/c here"))) == "connection 'b': no … here"


async def test_a_missing_folder_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    missing: Any = connect("books", "clickhouse:///nowhere", tmp_path)
    with pytest.raises(QueryError, match="'books': its folder is not a ClickHouse data folder"):
        await missing.catalog()
    await missing.aclose()
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("query", ["?timezone=Nowhere/City", "?zone=UTC"])
def test_an_unknown_option_is_refused(query: str) -> None:
    with pytest.raises(UnavailableError, match=r"'books': after a .* may have `timezone=`"):
        connect("books", f"clickhouse:///data{query}", Path())


async def test_a_cancelled_statement_stops_and_others_continue(connector: Any) -> None:
    endless = asyncio.create_task(connector.run(ENDLESS, {}))
    processes = """
        SELECT COUNT(*) AS n FROM "system"."processes" WHERE "query" LIKE '%sipHash64%'
            AND "query" NOT LIKE '%processes%'
    """
    async with asyncio.timeout(SECONDS):
        while not (await rows(connector, processes))[0]["n"]:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.05)
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    async with asyncio.timeout(SECONDS):
        while (await rows(connector, processes))[0]["n"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_time_is_limited(folder: Path) -> None:
    kind: Any = type(connect("x", f"clickhouse:///{folder}", Path()))
    limited = kind(folder, "books", timeout=1.0)
    try:
        with pytest.raises(QueryError, match="longer than 1 s"):
            await limited.run(ENDLESS, {})
    finally:
        await limited.aclose()


async def test_results_have_a_budget_and_streams_have_none(connector: Any) -> None:
    many = 'SELECT "number" AS n FROM "system"."numbers" LIMIT 200000'
    with pytest.raises(QueryError, match="larger than 100000 rows"):
        await connector.run(many, {})
    assert sum([batch.num_rows async for batch in connector.stream(many, {})]) == 200_000


async def test_a_stream_can_be_left_and_the_connector_closed_twice(connector: Any) -> None:
    batches = connector.stream('SELECT "number" AS n FROM "system"."numbers"', {})
    assert (await anext(batches)).num_rows
    await batches.aclose()
    assert await rows(connector, "SELECT 1 AS x WHERE 1 = 0") == []
    await connector.aclose()
    await connector.aclose()
    assert await rows(connector, "SELECT 1 AS x") == [{"x": 1}]


async def test_a_process_that_ended_is_started_again(connector: Any) -> None:
    await rows(connector, "SELECT 1 AS x")
    connector._process._process.kill()
    connector._process._process.wait()
    assert await rows(connector, "SELECT 1 AS x") == [{"x": 1}]

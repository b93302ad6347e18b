import time
from contextlib import aclosing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests.skillian.connectors.clickhouse.reading import rows
from tests.support.clickhouse import Server, needs_clickhouse

from skillian.connectors import connect
from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import compile_sql
from skillian.errors import QueryError

pytestmark = [needs_clickhouse, pytest.mark.timeout(120)]

ENDLESS = 'SELECT SUM(sipHash64("number")) AS n FROM "system"."numbers"'


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
    types = {name: (kind.kind, kind.scale) for name, kind in tables[0].columns.items()}
    assert (types["select"], types["wide"]) == (("decimal", 2), ("decimal", 2))
    assert [kind for kind, _ in types.values()] == [
        *("decimal", "integer", "text", "text", "text", "boolean", "integer", "integer", "float"),
        *("date", "date", "timestamp", "timestamp", "timestamptz", "other", "other", "decimal"),
    ]
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


TOO_MUCH = (
    "SUM(a)",
    "toInt256('170141183460469231731687303715884105728')",
    "CAST('2024-01-31 10:00:00.000000001' AS DateTime64(9))",
)


async def test_what_38_digits_or_microseconds_cannot_hold_is_an_error(connector: Any) -> None:
    big = f"SELECT CAST('{'9' * 38}' AS Decimal(76, 0)) AS a"
    for expression in TOO_MUCH:
        select = f"SELECT {expression} AS x FROM ({big} UNION ALL {big}) AS t"  # noqa: S608
        with pytest.raises(QueryError):
            await connector.run(select, {})


MADE_UP = {
    "CAST(x AS BIGINT)": "99999999999999999999",
    "CAST(x AS DECIMAL(38, 2))": "digits|too big|Decimal",
    "CAST('2024-02-30' AS DATE)": "2024-02-30 is not DATE",
    "CAST('2024-02-30 10:00:00' AS TIMESTAMP)": "2024-02-30 10:00:00 is not TIMESTAMP",
    "CAST('2024-01-01 25:00:00' AS TIMESTAMP)": "2024-01-01 25:00:00 is not TIMESTAMP",
    "CAST(y AS BIGINT)": "bad",
    "CAST(y AS DECIMAL(10, 2))": "bad",
    "CAST(y AS DATE)": "bad is not DATE",
    "CAST(y AS BOOLEAN)": "bad",
    "CAST(y || ' is not BIGINT' AS DECIMAL(10, 2))": "bad is not BIGINT",
    "STRPTIME('30.02.2024', '%d.%m.%Y')": "2024|30",
}


@pytest.mark.parametrize("expression", MADE_UP)
async def test_what_clickhouse_would_make_up_is_an_error(connector: Any, expression: str) -> None:
    cells = f"SELECT CAST('{'9' * 50}' AS TEXT) AS x, CAST('bad' AS TEXT) AS y"
    tree = parsed(f"SELECT {expression} AS v FROM t")  # noqa: S608
    assert isinstance(tree, exp.Select)
    inner = sqlglot.parse_one(cells, dialect="duckdb")
    statement = compile_sql(tree.with_("t", as_=inner), connector.dialect)
    with pytest.raises(QueryError, match=MADE_UP[expression]):
        await connector.run(statement, {})
    async with aclosing(connector.stream(statement, {})) as batches:
        with pytest.raises(QueryError, match=MADE_UP[expression]):
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


async def test_a_date_and_time_is_read_in_the_zone_of_the_url(server: Server) -> None:
    url = f"clickhouse://{server.address}?timezone=Europe/Berlin"
    zoned: Any = connect("books", url, Path())
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

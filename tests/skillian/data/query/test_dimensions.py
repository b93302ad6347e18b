from decimal import Decimal
from typing import Any

import pytest
from sqlglot import exp
from tests.skillian.data.conftest import MakeServices
from tests.support.cost import cost_of

from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import compile_sql
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.data.query.filters import MAX_VALUES, check_size, condition_sql, parse_filter
from skillian.data.query.unfit import unfit_test
from skillian.data.sql import BoundValues, bare
from skillian.errors import InvalidInputError, QueryError

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
SOURCE = """
connections: {{db: 'duckdb:///test.duckdb'}}
sources:
  s: {{connection: db, table: t, dimensions: {{d: {{column: c{}}}}},
    measures: {{n: {{column: c, aggregation: count}}}}}}
"""


async def read(make_services: MakeServices, cell: str, declared: str) -> Any:
    """The value of a dimension, declared as given, for a cell."""
    services = make_services(f"CREATE TABLE t AS SELECT {cell} AS c", SOURCE.format(declared))
    return (await services.query.query("s", ["d"])).rows[0][0]


@pytest.mark.parametrize(
    ("cell", "declared", "value"),
    [
        ("1.5::DOUBLE", ", type: 'decimal(18,2)'", Decimal("1.50")),
        ("TRUE", ", type: integer", 1),
        ("'b'::ENUM ('a', 'b')", "", "b"),
        (f"'{UUID}'::UUID", ", type: text", UUID),
        ("NULL::VARCHAR", ", normalise: [trim], values: {a: b}, type: integer", None),
    ],
)
async def test_a_dimension_is_read_as_declared(
    make_services: MakeServices, cell: str, declared: str, value: object
) -> None:
    assert await read(make_services, cell, declared) == value


@pytest.mark.parametrize(
    ("cell", "declared", "message"),
    [
        ("'1.5'", ", type: integer", "1.5 is not BIGINT"),
        ("'1.005'", ", type: 'decimal(18,2)'", "1.005 is not DECIMAL"),
        ("'2024-01-31 10:00'", ", type: date", "is not DATE"),
        ("'20240131x'", ", type: date, format: '%Y%m%d'", "20240131x"),
        ("1.5::DECIMAL(17, 2)", ", type: integer", "would be rounded or cut"),
        ("1.5::DECIMAL(17, 2)", ", type: 'decimal(18,1)'", "would be rounded"),
        ("1.5::DOUBLE", "", r"declare `type: decimal\(18,2\)`"),
        ("1.5::DOUBLE", ", type: text", r"declare `type: decimal\(18,2\)`"),
        ("1.5::DOUBLE", ", type: integer", "would be rounded or cut"),
        (f"'{UUID}'::UUID", "", "declare `type: text`"),
        ("20240131", ", type: date", "declare a `format`"),
        ("'x'", ", type: text, format: '%Y'", "`format` writes dates"),
        ("DATE '2024-01-31'", ", type: 'decimal(18,2)'", "not a number"),
    ],
)
async def test_what_would_change_a_value_is_refused(
    make_services: MakeServices, cell: str, declared: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        await read(make_services, cell, declared)


def unfit(kind: str | None = None, pattern: str | None = None) -> exp.Expr | None:
    definition = Dimension(column="a", type=kind, format=pattern)
    builder = DimensionBuilder(definition, sql.BoundValues())
    text = ColumnType("text", "VARCHAR")
    return unfit_test(builder.build(sql.column("a", "source"), text)[0], "postgres")


def test_databases_that_cannot_try_a_conversion_test_the_pattern() -> None:
    test = unfit("integer")
    assert test is not None
    assert test.sql("postgres") == """NOT "source"."a" ~ '^[+-]?[0-9]+$'"""
    assert unfit("date", "%Y%m") is None
    assert unfit() is None


TEXT = ColumnType("text", "VARCHAR")
MONEY = ColumnType("decimal", "DECIMAL(17,2)", 2)
FLAG = ColumnType("boolean", "BOOLEAN")
JSON, UUID_TYPE, TIME = (ColumnType("other", name) for name in ("jsonb", "uuid", "time(6)"))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("abc", MONEY, r"'x' \(DECIMAL\(17,2\)\) takes a number such as 1234.50, not 'abc'"),
        ({"gte": "abc"}, MONEY, "not 'abc'"),
        ([1, "abc"], MONEY, "not 'abc'"),
        ([], TEXT, "an empty list matches no row"),
        ({}, TEXT, "has no operator"),
        ({"like": "a%"}, TEXT, "unknown operator 'like'; operators: ne, gte, gt, lte, lt, between"),
        ({"between": [1]}, MONEY, r"needs \[low, high\]"),
        ({"between": 1}, MONEY, r"needs \[low, high\]"),
        ({"between": [2, 1]}, MONEY, "from low to high, not 2 to 1"),
        ({"gt": None}, MONEY, "None has no order"),
        ({"gt": True}, FLAG, "True has no order"),
        ({"ne": {"ne": 1}}, MONEY, "not {'ne': 1}"),
        ("a" * 1001, TEXT, r"a text of at most 1000 characters, not 'a+\.\.\.a+'$"),
        (["\u202egnp.exe", "\n"], MONEY, r"not '\\u202egnp.exe'"),
        ("1e38", MONEY, r"takes a number of at most 38 digits, not '1e38'"),
        (2**256 - 1, ColumnType("integer", "UInt256"), "takes a number of at most 38 digits"),
        ("{}", JSON, r"'x' \(jsonb\) takes no value: a filter only tests"),
        ({"gt": "{}"}, JSON, "do not order jsonb"),
        ("1-2", UUID_TYPE, "takes a UUID such as"),
        ("25:00", TIME, "takes a time of day such as"),
        ("10:00+01:00", TIME, "takes a time of day such as"),
        ({"x" * 10_000: 1}, MONEY, r"unknown operator 'x+\.\.\.x+'; operators"),
    ],
)
def test_an_invalid_filter_is_refused_by_name(given: Any, kind: ColumnType, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_filter("x", given, kind)


def test_more_values_than_there_may_be_are_refused() -> None:
    most: list[Any] = list(range(MAX_VALUES))
    filters: tuple[list[Any], ...] = ([[*most, 1]], [{"ne": [*most, 1]}], [most, 1])
    for too_many in (*filters, [{"gte": 1, "ne": most}]):
        with pytest.raises(InvalidInputError, match="hold 1001 values; the limit is 1000"):
            check_size(too_many)
    check_size([most])
    check_size([None] * MAX_VALUES)


@pytest.mark.parametrize(
    ("dialect", "kind", "operator"),
    [("duckdb", TEXT, "in"), ("postgres", TEXT, "in"), ("mysql", TEXT, "ne")],
)
def test_each_value_costs_the_same(dialect: str, kind: ColumnType, operator: str) -> None:
    def work(values: int) -> float:
        given: Any = list(range(values))
        filtered = given if operator == "in" else {"ne": given}

        def compiled() -> None:
            parameters = BoundValues()
            [condition] = parse_filter("x", filtered, kind)
            test = condition_sql(condition, bare("x"), kind, parameters)
            compile_sql(exp.Select(expressions=[exp.Star()]).where(test), dialect)

        return cost_of(compiled)

    work(1)  # the first statement of a dialect makes its tables
    few, many = work(100), work(10 * 100)
    assert many < 30 * few  # linear is 10, quadratic is 100

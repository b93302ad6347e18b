from decimal import Decimal
from typing import Any

import pytest
from sqlglot import exp
from tests.skillian.data.conftest import MakeServices

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.data.query.unfit import unfit_test
from skillian.errors import QueryError

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
        ("1::INTEGER", ", values: {'1': \"o'ne\"}", "o'ne"),
        ("'x'", ", values: {x: '5'}, type: integer", 5),
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

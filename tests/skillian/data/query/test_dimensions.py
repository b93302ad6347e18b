from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from skillian.data.services import DataServices
from skillian.errors import QueryError

MakeServices = Callable[[str, str], DataServices]

UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
COLUMNS = {
    "text": "VARCHAR",
    "flag": "BOOLEAN",
    "whole": "INTEGER",
    "money": "DECIMAL(17, 2)",
    "binary": "DOUBLE",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "id": "UUID",
    "kind": "ENUM ('a', 'b')",
}


@pytest.fixture
def values(make_services: MakeServices) -> Callable[[str, str, str], Any]:
    """Return the value of a dimension, declared as given, for one value of a column."""

    async def read(column: str, literal: str, declared: str) -> Any:
        services = make_services(
            f"CREATE TABLE t AS SELECT CAST({literal} AS {COLUMNS[column]}) AS {column}",
            f"""
connections: {{db: 'duckdb:///test.duckdb'}}
sources:
  s:
    connection: db
    table: t
    dimensions:
      d: {{column: {column}{declared}}}
    measures: {{n: {{column: {column}, aggregation: count}}}}
""",
        )
        return (await services.query.query("s", ["d"])).rows[0][0]

    return read


@pytest.mark.parametrize(
    ("column", "literal", "declared", "value"),
    [
        ("whole", "1", ", values: {'1': \"o'ne\"}", "o'ne"),
        ("text", "'x'", ", values: {x: '5'}, type: integer", 5),
        ("binary", "1.5", ", type: 'decimal(18,2)'", Decimal("1.50")),
        ("flag", "TRUE", ", type: integer", 1),
        ("kind", "'b'", "", "b"),
        ("id", f"'{UUID}'", ", type: text", UUID),
        ("text", "NULL", ", normalise: [trim], values: {a: b}, type: integer", None),
    ],
)  # fmt: skip
async def test_a_dimension_is_read_as_declared(
    values: Callable[[str, str, str], Any], column: str, literal: str, declared: str, value: object
) -> None:
    assert await values(column, literal, declared) == value


@pytest.mark.parametrize(
    ("column", "literal", "declared", "message"),
    [
        ("text", "'1.5'", ", type: integer", "1.5 is not BIGINT"),
        ("text", "'1.005'", ", type: 'decimal(18,2)'", "1.005 is not DECIMAL"),
        ("text", "'2024-01-31 10:00'", ", type: date", "is not DATE"),
        ("text", "'20240131x'", ", type: date, format: '%Y%m%d'", "20240131x"),
        ("money", "1.5", ", type: integer", "would be rounded or cut"),
        ("money", "1.5", ", type: 'decimal(18,1)'", "would be rounded"),
        ("binary", "1.5", "", r"declare `type: decimal\(18,2\)`"),
        ("binary", "1.5", ", type: text", r"declare `type: decimal\(18,2\)`"),
        ("binary", "1.5", ", type: integer", "would be rounded or cut"),
        ("id", f"'{UUID}'", "", "declare `type: text`"),
        ("whole", "20240131", ", type: date", "declare a `format`"),
        ("text", "'x'", ", type: text, format: '%Y'", "`format` writes dates"),
        ("day", "'2024-01-31'", ", type: 'decimal(18,2)'", "not a number"),
    ],
)
async def test_what_would_change_a_value_is_refused(
    values: Callable[[str, str, str], Any], column: str, literal: str, declared: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        await values(column, literal, declared)

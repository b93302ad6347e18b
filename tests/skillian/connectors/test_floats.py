"""Every database gives the same decimal for a float: the shortest that reads back in its width.

NumPy and Python print just that, each by its own algorithm.
"""

import random
from contextlib import aclosing, closing
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sqlglot import exp
from tests.support.clickhouse import needs_clickhouse
from tests.support.places import ClickHousePlace, Column, DuckDBPlace, Table, in_postgres
from tests.support.postgres import Database
from tests.support.spark_connect import SPARK, spark_tables

from skillian.connectors import Connector, connect
from skillian.connectors.dialects import compile_sql
from skillian.data import sql

COUNT = 500
# What a decimal can hold; floats that take more are refused.
DIGITS = 38
NAMED = (
    *(429870.125, 64311768.0, 2.0e-3, 1.0e23, 2.0e23, 8.41e21, 1e-37, 9.9e37, 0.1, 0.0, -0.0),
    *(5.2314104e25, 1133209351221920512.0, 5450843434439018496.0, 2.0**-44, 2.0**89, 1.1e-5),
)


def values(width: int) -> list[float]:
    """Floats of 32 or 64 bits: named ones, powers of two, random bits, amounts, whole numbers."""
    chance = random.Random(width)  # noqa: S311 - nothing secret
    digits = 24 if width == 32 else 53

    def mantissa() -> int:
        return chance.randrange(2 ** (digits - 1), 2**digits)

    numbers = [*NAMED, *(2.0**power for power in range(-122, 127))]
    for _ in range(COUNT):
        numbers += [
            mantissa() * 2.0 ** chance.randrange(-120 - digits, 126 - digits),
            chance.randrange(10**10) / 10 ** chance.randrange(6),
            mantissa() * 2.0 ** chance.randrange(12),
            mantissa() / 2.0 ** chance.randrange(12),
        ]
    signed = [chance.choice((-1, 1)) * number for number in numbers]
    narrow = [float(np.float32(number)) for number in signed] if width == 32 else signed
    return [each for each in narrow if fits(shortest(each, width))]


def shortest(number: float, width: int) -> Decimal:
    if width == 64:
        return Decimal(repr(number))
    return Decimal(np.format_float_scientific(np.float32(number), unique=True))


def fits(number: Decimal) -> bool:
    digits, exponent = number.as_tuple()[1:]
    return isinstance(exponent, int) and exponent >= -DIGITS and len(digits) + exponent <= DIGITS


async def differing(connector: Connector, width: int) -> list[tuple[float, Decimal, str]]:
    """Values whose text in the database is not the shortest: value, expected, text."""
    value = sql.column(f"v{width}", "t")
    value.type = exp.DataType.build("FLOAT" if width == 32 else "DOUBLE")
    columns = [sql.named(sql.column("i", "t"), "i"), sql.named(exp.cast(value, "TEXT"), "text")]
    select = exp.Select(expressions=columns).from_(exp.alias_(sql.table("floats"), "t", table=True))
    numbers = values(width)
    texts: dict[int, str] = {}
    async for batch in connector.stream(compile_sql(select, connector.dialect), {}):
        texts |= {row["i"]: row["text"] for row in batch.to_pylist() if row["text"] is not None}
    assert len(texts) == len(numbers)
    return [
        (number, shortest(number, width), texts[index])
        for index, number in enumerate(numbers)
        if Decimal(texts[index]) != shortest(number, width)
    ]


def table() -> Table:
    """Every value, in the order of `values`."""
    columns = Column("i", "integer"), Column("v32", "single"), Column("v64", "float")
    pairs = enumerate(zip_longest(values(32), values(64)))
    return Table("floats", columns, tuple((n, *pair) for n, pair in pairs))


def in_duckdb(_: pytest.FixtureRequest, folder: Path) -> str:
    return DuckDBPlace(folder).put([table()])


def in_a_postgres(request: pytest.FixtureRequest, _: Path) -> str:
    database: Database = request.getfixturevalue("postgres_database")
    with closing(in_postgres(database.url)) as place:
        return place.put([table()])


def in_a_clickhouse(_: pytest.FixtureRequest, __: Path) -> str:
    return ClickHousePlace().put([table()])


def in_spark(request: pytest.FixtureRequest, folder: Path) -> str:
    (folder / "tables").mkdir()
    with duckdb.connect(in_duckdb(request, folder).removeprefix("duckdb:///")) as connection:
        connection.execute(f"COPY floats TO '{folder / 'tables' / 'floats.parquet'}'")
    return spark_tables(request.getfixturevalue("spark_server"), "binary", folder / "tables")


PLACES = (
    in_duckdb,
    in_a_postgres,
    pytest.param(in_a_clickhouse, marks=needs_clickhouse),
    pytest.param(in_spark, marks=SPARK),
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("put", PLACES)
async def test_a_float_is_the_shortest_decimal(
    request: pytest.FixtureRequest, tmp_path: Path, put: Any
) -> None:
    async with aclosing(connect("x", put(request, tmp_path), tmp_path)) as connector:
        for width in (32, 64):
            assert not (await differing(connector, width))[:5], width

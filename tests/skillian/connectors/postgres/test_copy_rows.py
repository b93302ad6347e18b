from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.support.postgres import rows_of

from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError


async def test_rows_keep_their_values(postgres_connector: PostgresConnector) -> None:
    statement = """
    SELECT CAST(%(p0)s AS text) AS text, CAST('' AS text) AS empty, CAST(NULL AS text) AS nothing,
        CAST(-0.10 AS numeric(17, 2)) AS money, CAST(%(p1)s AS numeric(38, 2)) AS wide,
        9223372036854775807 AS big, true AS flag, DATE '0001-01-01' AS day,
        TIMESTAMP '9999-12-31 23:59:59.999999' AS moment,
        TIMESTAMPTZ '2024-01-31 23:00:00+09' AS instant, CAST('-Infinity' AS float) AS ratio,
        CAST(1e308 AS float) AS large, 1.50 AS free, ARRAY[1, NULL] AS numbers
    """
    text = "\ufeffa,\"b\"\r\n'%(p0)s'\\. %"
    wide = Decimal("999999999999999999999999999999999999.99")
    assert await rows_of(postgres_connector, statement, p0=text, p1=wide) == [
        {
            "text": text,
            "empty": "",
            "nothing": None,
            "money": Decimal("-0.10"),
            "wide": wide,
            "big": 9223372036854775807,
            "flag": True,
            "day": date(1, 1, 1),
            "moment": datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 - it has no zone
            "instant": datetime(2024, 1, 31, 14, tzinfo=UTC),
            "ratio": float("-inf"),
            "large": 1e308,
            "free": "1.50",
            "numbers": "{1,NULL}",
        }
    ]


async def test_the_first_text_of_any_batch_keeps_its_byte_order_mark(
    postgres_connector: PostgresConnector,
) -> None:
    statement = "SELECT chr(65279) || n AS x FROM generate_series(1, 50000) AS n"
    batches = [batch async for batch in postgres_connector.stream(statement, {})]
    assert len(batches) > 1
    assert all(row["x"][0] == "\ufeff" for batch in batches for row in _pylist(batch))


PARAMETERS: dict[str, tuple[object, ...]] = {
    "text": ("o'neil", "50% %s %(p0)s \\"),
    "boolean": (True,),
    "numeric(38,0)": (0, -5, 2**31, 2**63 - 1, 10**30),
    "numeric(38,2)": (Decimal("-1.50"), Decimal("1E+3")),
    "date": (date(2024, 2, 29),),
    "timestamp": (datetime(2024, 1, 31, 18, 0, 0, 5),),  # noqa: DTZ001 - it has no zone
    "timestamptz": (datetime(2024, 1, 31, 18, tzinfo=UTC),),
}


async def test_parameters_are_bound_with_their_types(postgres_connector: PostgresConnector) -> None:
    for kind, values in PARAMETERS.items():
        select = f"SELECT CAST(%(p0)s AS {kind}) AS x, CAST(%(p0)s AS {kind}) = %(p0)s AS same"
        for value in values:
            [row] = await rows_of(postgres_connector, select, p0=value)
            assert row == {"x": value, "same": True}


async def test_only_placeholders_are_placeholders(postgres_connector: PostgresConnector) -> None:
    statement = """
    SELECT '%(p0)s' AS "%(p0)s", %(p0)s AS y, E'\\'%(p0)s' AS z, 7 %% 4 AS m /* %(p0)s */
    """.replace("%%", "%")
    assert await rows_of(postgres_connector, statement, p0=1) == [
        {"%(p0)s": "%(p0)s", "y": 1, "z": "'%(p0)s", "m": 3}
    ]
    assert await rows_of(postgres_connector, "SELECT 'a%' AS x -- %") == [{"x": "a%"}]


async def test_columns_may_have_one_name(postgres_connector: PostgresConnector) -> None:
    table: Any = await postgres_connector.run("SELECT 1 AS x, 'a' AS x", {})
    assert table.column_names == ["x", "x"]


NO_PLACE = {
    "DATE '10000-01-01'": "outside the years 1 to 9999; declare `type: text`",
    "TIMESTAMP '0044-03-15 BC'": "outside the years 1 to 9999",
    "DATE 'infinity'": "outside the years 1 to 9999",
    "CAST('NaN' AS numeric(17, 2))": "column 'x' .*NaN",
    "CAST(1e37 AS numeric(50, 2))": "column 'x' .*precision",
}


async def test_a_value_arrow_has_no_place_for_is_named(
    postgres_connector: PostgresConnector,
) -> None:
    for value, message in NO_PLACE.items():
        with pytest.raises(QueryError, match=message):
            await postgres_connector.run(f"SELECT {value} AS x", {})


async def test_no_rows_have_their_columns_all_the_same(
    postgres_connector: PostgresConnector,
) -> None:
    statement = "SELECT 1 AS x, CAST(1 AS numeric(5, 2)) AS y WHERE false"
    table: Any = await postgres_connector.run(statement, {})
    assert table.num_rows == 0
    assert [str(kind) for kind in table.schema.types] == ["int64", "decimal128(38, 2)"]
    [batch] = [batch async for batch in postgres_connector.stream(statement, {})]
    assert batch.num_rows == 0


async def test_large_rows_come_in_small_batches(postgres_connector: PostgresConnector) -> None:
    statement = "SELECT repeat('x', 1000000) AS x FROM generate_series(1, 40)"
    sizes = [batch.nbytes async for batch in postgres_connector.stream(statement, {})]
    assert sum(sizes) > 40_000_000
    assert max(sizes) < 6_000_000


def _pylist(batch: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows

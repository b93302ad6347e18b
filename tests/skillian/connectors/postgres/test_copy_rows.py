from typing import Any

import pytest
from tests.support.postgres import rows_of

from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError


async def test_the_first_text_of_any_batch_keeps_its_byte_order_mark(
    postgres_connector: PostgresConnector,
) -> None:
    statement = "SELECT chr(65279) || n AS x FROM generate_series(1, 50000) AS n"
    batches = [batch async for batch in postgres_connector.stream(statement, {})]
    assert len(batches) > 1
    assert all(row["x"][0] == "\ufeff" for batch in batches for row in _pylist(batch))


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

"""Snowflake's connector on fakesnow, which answers Snowflake's SQL from a DuckDB.

fakesnow asks for an older sqlglot than these tests run with: install it in an environment of its
own, with `snowflake-connector-python<5`.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.data.conftest import two_sources
from tests.support.asking import measures_asked

from skillian.data.declare.sources import SourceRegistry, read_definitions
from skillian.data.services import DataServices

fakesnow: Any = pytest.importorskip("fakesnow", reason="there is no fakesnow")

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")

URL = "snowflake://ann:secret@account/books/public"
ROWS = {
    "OLD": "('a', 1.50, '2024-01-31', '2024-01-31 10:00:00.5'), ('b', 2, '2024-02-01', NULL),"
    " (NULL, 3, NULL, NULL)",
    "NEW": "('a', 1.50, '2024-01-31', '2024-01-31 10:00:00.5'), ('b', 2.25, '2024-02-01', NULL),"
    " ('c', 1, NULL, NULL)",
}


@pytest.fixture
def snowflake() -> Iterator[None]:
    with fakesnow.patch():
        driver = import_module("snowflake.connector")

        connection: Any = driver.connect(database="books", schema="public", user="u", account="a")
        for table, rows in ROWS.items():
            cursor = connection.cursor()
            cursor.execute(
                f"CREATE TABLE {table} (K TEXT, V NUMBER(18, 2), D DATE, M TIMESTAMP_NTZ)"
            )
            cursor.execute(f"INSERT INTO {table} VALUES {rows}")  # noqa: S608 - our own
        yield


@pytest.mark.usefixtures("snowflake")
@pytest.mark.parametrize("other", ["one", "two"])
async def test_a_comparison(other: str) -> None:
    text = two_sources(
        "key: {column: K}, month: {column: D, type: text, format: '%Y-%m'},"
        " moment: {column: M, type: text}",
        "amount: {column: V, aggregation: sum}, average: {column: V, aggregation: avg}",
        tables=("connection: one, table: OLD", f"connection: {other}, table: NEW"),
        connections=f"one: '{URL}', two: '{URL}?role=other'",
    )
    names, keys = ["amount", "average"], ["key", "month", "moment"]
    asked = measures_asked("a", "b", names, keys, {"key": ["a", "b", "c", None]})
    async with DataServices(SourceRegistry(read_definitions(text, "x.yaml"), Path("/"))) as data:
        classes = (await data.comparison.compare(asked)).summary.classes
    assert [*classes.to_dict().values()] == [1, 0, 1, 1, 1]

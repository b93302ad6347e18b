"""Snowflake's connector on fakesnow, which answers Snowflake's SQL from a DuckDB.

fakesnow asks for an older sqlglot than these tests run with: install it in an environment of its
own, with `snowflake-connector-python<5`.
"""

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support.asking import measures_asked

from skillian.connectors import connect
from skillian.data.declare.definitions import SourcesFile
from skillian.data.declare.sources import SourceRegistry
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


@pytest.fixture
async def connector(snowflake: None) -> AsyncIterator[Any]:
    assert snowflake is None
    opened: Any = connect("c", URL, Path())
    yield opened
    await opened.aclose()


async def test_the_catalogue_has_types(connector: Any) -> None:
    [new, old] = [each for each in await connector.catalog() if each.name in ROWS]
    assert (new.name, old.name) == ("NEW", "OLD")
    kinds = {name: (kind.kind, kind.scale) for name, kind in old.columns.items()}
    assert kinds == {"K": ("text", 0), "V": ("decimal", 2), "D": ("date", 0), "M": ("timestamp", 0)}


async def test_values_are_bound_and_rows_exact(connector: Any) -> None:
    table = await connector.run(
        "SELECT V, K FROM OLD WHERE K = :p0 OR K = :p1", {"p0": "a", "p1": "'"}
    )
    assert table.to_pylist() == [{"V": Decimal("1.50"), "K": "a"}]


@pytest.mark.parametrize("connections", [1, 2])
async def test_a_comparison(snowflake: None, connections: int) -> None:
    assert snowflake is None
    urls = [URL, f"{URL}?role=other"][:connections] * 2
    dimensions = {
        "key": {"column": "K"},
        "month": {"column": "D", "type": "text", "format": "%Y-%m"},
        "moment": {"column": "M", "type": "text"},
    }
    measures = {
        "amount": {"column": "V", "aggregation": "sum"},
        "average": {"column": "V", "aggregation": "avg"},
    }
    names = ["one", "two"][:connections] * 2
    content = {
        "connections": dict(zip(names, urls, strict=False)),
        "sources": {
            side: {"connection": name, "table": table, "dimensions": dimensions,
                   "measures": measures}
            for side, name, table in zip(("a", "b"), names, ("OLD", "NEW"), strict=False)
        },
    }  # fmt: skip
    registry = SourceRegistry(SourcesFile.model_validate(content), Path("/"))
    async with DataServices(registry) as services:
        result = await services.comparison.compare(
            measures_asked(
                "a",
                "b",
                ["amount", "average"],
                ["key", "month", "moment"],
                {"key": ["a", "b", "c", None]},
            )
        )
    classes = {name: count for name, count in result.summary.classes.to_dict().items() if count}
    assert classes == {"match": 1, "major_diff": 1, "missing_in_a": 1, "missing_in_b": 1}

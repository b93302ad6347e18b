"""Outcomes to report: of the demo, of hostile values, and a failure."""

from pathlib import Path

import duckdb
import pytest
from tests.skillian.reports.comparisons import HOSTILE, SOURCES, comparison_of, outcomes_of

from skillian.demo.ledger import write_demo
from skillian.reports.outcome import Outcome


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def close(demo: Path) -> Outcome:
    """The demo's amounts: differences of every kind but `missing_in_a`."""
    return outcomes_of(demo, comparison_of())[0]


@pytest.fixture(scope="session")
def equal(demo: Path) -> Outcome:
    return outcomes_of(demo, comparison_of(name="equal", filters={"company": "1002"}))[0]


@pytest.fixture(scope="session")
def failed(demo: Path) -> Outcome:
    return outcomes_of(demo, comparison_of(name="failed", filters={"company": {"gt": None}}))[0]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Two measures over keys that look like markup, and amounts that no binary float holds."""
    folder = tmp_path_factory.mktemp("hostile")
    with duckdb.connect(folder / "test.duckdb") as connection:
        for table, amount in (("a", "123456789012345678.12"), ("b", "123456789012345678.13")):
            connection.execute(f"CREATE TABLE {table} (k VARCHAR, v DECIMAL(38, 2))")
            rows = [[key, amount] for key in HOSTILE] + [[None, "1.00"]]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)  # noqa: S608 - ours
        connection.execute("INSERT INTO a VALUES ('no amount', NULL), ('only a', -5)")
        connection.execute("INSERT INTO b VALUES ('no amount', 7), ('only b', 0.5)")
    (folder / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    name = "<h1>hostile</h1> &lt; @all"
    comparison = comparison_of(name=name, a="<b>a</b>", b="b", measures=["v", "n"])
    return outcomes_of(folder / "sources.yaml", comparison)[0]


ORDERS = """
connections: {main: duckdb:///orders.duckdb}
sources:
  shop: {connection: main, table: shop, dimensions: {id: {column: id}}, measures: {}}
  erp: {connection: main, table: erp, dimensions: {id: {column: id}}, measures: {}}
"""


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, ...]:
    """Whole rows whose names have blanks after them in b and whose nets are in cents; one row."""
    folder = tmp_path_factory.mktemp("orders")
    with duckdb.connect(folder / "orders.duckdb") as connection:
        connection.execute(
            "CREATE TABLE shop AS SELECT i AS id, 'Order ' || i AS name,"
            " (i * 1.25)::DECIMAL(12, 2) AS net FROM range(1, 41) t(i)"
        )
        connection.execute(
            "CREATE TABLE erp AS SELECT * REPLACE (name || ' ' AS name, net * 100 AS net) FROM shop"
        )
    path = folder / "sources.yaml"
    path.write_text(ORDERS, encoding="utf-8")
    asked = {"a": "shop", "b": "erp", "measures": ()}
    return outcomes_of(
        path, comparison_of(**asked), comparison_of(**asked, filters={"id": 1}, key=["id"])
    )

"""The tab Why of whole rows: rules with their proof, which one click applies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest
from nicegui import ui
from pydantic import SecretStr
from tests.skillian.web.views import (
    by_test_id,
    compared,
    fire,
    labels,
    open_tab,
    sees,
    viewed,
    written,
)
from tests.support.waits import endless, soon

from skillian.api.service import Service
from skillian.app import open_service
from skillian.data.tables.engine import TableEngine
from skillian.settings import Settings
from skillian.web.comparison.view import comparison_view

SOURCES = """
connections: {main: duckdb:///orders.duckdb}
sources:
  shop: {connection: main, table: shop, dimensions: {id: {column: id}},
    measures: {net: {column: net, aggregation: sum}}}
  erp: {connection: main, table: erp, dimensions: {id: {column: id}},
    measures: {net: {column: net, aggregation: sum}}}
"""


@pytest.fixture
async def orders(tmp_path: Path) -> AsyncIterator[Service]:
    """A service over orders whose names have blanks after them in the copy; nets are in cents."""
    with duckdb.connect(tmp_path / "orders.duckdb") as connection:
        connection.execute(
            "CREATE TABLE shop AS SELECT i AS id, 'Order ' || i AS name,"
            " (i * 1.25)::DECIMAL(12, 2) AS net FROM range(1, 41) t(i)"
        )
        connection.execute(
            "CREATE TABLE erp AS SELECT * REPLACE (name || ' ' AS name, net * 100 AS net) FROM shop"
        )
    (tmp_path / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    url = SecretStr(f"sqlite:///{tmp_path / 'sessions.db'}")
    settings = Settings(sources=tmp_path / "sources.yaml", database_url=url)
    async with open_service(settings) as opened:
        yield opened


async def of_rows(service: Service, **options: object) -> str:
    return await compared(service, **{"a": "shop", "b": "erp", "measures": (), **options})


async def test_each_rule_is_shown_with_its_proof_and_applied_with_one_click(
    orders: Service,
) -> None:
    key = await of_rows(orders)
    async with viewed(lambda: comparison_view(orders, key)) as user:
        await sees(user, "Rows differ")
        open_tab(user, "Why")
        await sees(user, "Apply")
        shown = written(user)
        assert (
            "name (trimmed) explains 40 of 40 differences; with this rule 0 of 40 rows match."
        ) in shown
        assert (
            "net (a multiplied by 100) explains 40 of 40 differences; with this rule and those"
            " above 40 of 40 rows match."
        ) in shown
        assert "--rule name:trim" in shown
        buttons = {
            each.props["aria-label"]: each
            for each in user.find(ui.button).elements
            if each.text == "Apply"
        }
        assert set(buttons) == {"Apply: name (trimmed)", "Apply: net (a multiplied by 100)"}
        with user:
            fire(buttons["Apply: net (a multiplied by 100)"], "click", None)
        await soon(lambda: user.back_history[-1].startswith("/compare/"))
    result = await orders.comparisons.find(user.back_history[-1].removeprefix("/compare/"))
    assert (result["equal"], result["rows"]["matched"]) == (True, 40)


async def test_without_a_common_cause_it_says_so(customers: Service) -> None:
    options = {"a": "customers", "b": "customers_copy", "measures": (), "key": ["id"]}
    key = await compared(customers, **options, filters={"id": [4, 5, 6]})
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Rows differ")
        open_tab(user, "Why")
        await sees(user, "No rule that was tried explains the differences.")
        assert "Apply" not in labels(by_test_id(user, "rules"))


async def test_only_rows_with_a_key_that_differ_have_the_tab(orders: Service) -> None:
    for options in ({"multiset": True}, {"b": "shop"}):
        key = await of_rows(orders, **options)
        async with viewed(lambda: comparison_view(orders, key)) as user:  # noqa: B023
            await sees(user, "SQL")
            assert "Why" not in [
                name
                for each in user.find(ui.element).elements
                if each.props.get("role") == "tab"
                for name in labels(each)
            ]


async def test_what_is_tried_is_shown_and_stops_when_the_reader_leaves(
    orders: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await of_rows(orders)
    events: list[str] = []
    monkeypatch.setattr(TableEngine, "compute", endless(events))
    free = orders.slots.free
    async with viewed(lambda: comparison_view(orders, key)) as user:
        await sees(user, "Rows differ")
        open_tab(user, "Why")
        await sees(user, "Comparing again with --rule name:trim …")
        assert user.client is not None
        user.client.delete()
        await soon(lambda: events == ["began", "ended"])
        await soon(lambda: orders.slots.free == free)


async def test_a_failure_is_shown_in_its_place(
    orders: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await of_rows(orders)
    async with viewed(lambda: comparison_view(orders, key)) as user:
        await sees(user, "Rows differ")
        monkeypatch.setattr(orders.slots, "free", 0)
        open_tab(user, "Why")
        await sees(user, "This server is busy")
        monkeypatch.setattr(orders.slots, "free", 9)
        user.find("Explain again").click()
        await sees(user, "Apply")

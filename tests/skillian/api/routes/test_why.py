"""Why two sources differ, over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.api.conftest import KEYS, Client, Serve
from tests.support.waits import endless, soon

from skillian.data.tables.engine import TableEngine

SOURCES = """
connections: {main: duckdb:///orders.duckdb}
sources:
  shop: {connection: main, table: shop, dimensions: {id: {column: id}},
    measures: {net: {column: net, aggregation: sum}}}
  erp: {connection: main, table: erp, dimensions: {id: {column: id}},
    measures: {net: {column: net, aggregation: sum}}}
"""
ASKED: dict[str, Any] = {"source_a": "shop", "source_b": "erp", "filters": {"id": {"gt": 2}}}


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Orders whose names have blanks after them in the copy, and whose amounts are in cents."""
    with duckdb.connect(tmp_path / "orders.duckdb") as connection:
        connection.execute(
            "CREATE TABLE shop AS SELECT i AS id, 'Order ' || i AS name,"
            " (i * 1.25)::DECIMAL(12, 2) AS net FROM range(1, 41) t(i)"
        )
        connection.execute(
            "CREATE TABLE erp AS SELECT * REPLACE (name || ' ' AS name, net * 100 AS net) FROM shop"
        )
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES, encoding="utf-8")
    return path


async def posted(client: Client, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    async with client.post("/compare", json=body, **more) as answer:
        assert answer.status == 200, await answer.text()
        result: dict[str, Any] = await answer.json()
        return result


async def explained(client: Client, key: str, **more: Any) -> dict[str, Any]:
    async with client.get(f"/comparisons/{key}/why", **more) as answer:
        assert answer.status == 200, await answer.text()
        result: dict[str, Any] = await answer.json()
        return result


async def test_a_client_applies_a_rule_and_the_rows_are_equal(serve: Serve, orders: Path) -> None:
    async with serve(sources=orders) as one, serve(sources=orders) as other:
        key = (await posted(one, ASKED))["cache_key"]
        body = await explained(one, key)
        assert await explained(other, key) == body
        assert (body["kind"], body["cache_key"], body["facts"]) == ("rows", key, [])
        assert [rule["option"] for rule in body["rules"]] == [
            "--rule name:trim",
            "--rule net:factor=100",
        ]
        assert [rule["sentence"] for rule in body["rules"]] == body["sentences"]
        last = body["rules"][-1]
        assert (last["explained"], last["differences"]) == (38, 38)
        assert last["changes"] == {
            "key": ["id"],
            "rules": {"columns": {"name": {"trim": True}, "net": {"factor": "100"}}},
        }
        again = await posted(one, {**ASKED, **last["changes"]})
        assert (again["rows"]["matched"], again["rows"]["a"]) == (last["matched"], last["total"])
        assert again["rows"]["matched"] == 38
        nothing = await explained(one, again["cache_key"])
        assert nothing["rules"] == []
        assert "nothing to explain" in nothing["sentences"][0]


async def test_of_measures_the_members_that_carry_the_gap_are_named(client: Client) -> None:
    asked = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
    key = (await posted(client, asked))["cache_key"]
    body = await explained(client, key)
    assert (body["kind"], body["grain"]) == ("measures", ["company", "period"])
    first = body["measures"]["amount"]["breakdowns"][0]
    assert first["contributions"][0]["member"]
    assert body["interpretation"]


async def test_files_are_explained_to_their_owner_only(serve: Serve, tmp_path: Path) -> None:
    async with serve(uploads=tmp_path / "files", api_keys=",".join(KEYS)) as server:
        mine, other = ({"Authorization": f"Bearer {key}"} for key in KEYS)
        names: list[str] = []
        for end in ("", " "):
            rows = "".join(f"{number},order {number}{end}\n" for number in range(1, 41))
            async with server.post(
                "/uploads?name=x.csv",
                data=f"id,name\n{rows}".encode(),
                headers={**mine, "Content-Type": "application/octet-stream"},
            ) as answer:
                names.append(f"upload:{(await answer.json())['id']}")
        asked = {"source_a": names[0], "source_b": names[1], "key": ["id"]}
        key = (await posted(server, asked, headers=mine))["cache_key"]
        [rule] = (await explained(server, key, headers=mine))["rules"]
        again = await posted(server, {**asked, **rule["changes"]}, headers=mine)
        assert again["rows"]["matched"] == 40
        async with server.get(f"/comparisons/{key}/why", headers=other) as hidden:
            assert hidden.status == 404


async def test_what_is_unknown_is_not_found(client: Client) -> None:
    async with client.get("/comparisons/0123456789abcdef/why") as answer:
        assert (answer.status, (await answer.json())["code"]) == (404, "comparison_not_found")


async def test_without_a_free_slot_it_is_refused(serve: Serve, orders: Path) -> None:
    async with serve(sources=orders) as server:
        key = (await posted(server, ASKED))["cache_key"]
        slots = server.service.slots
        free, slots.free = slots.free, 0
        async with server.get(f"/comparisons/{key}/why") as answer:
            assert answer.status == 503
        slots.free = free


async def test_a_client_that_leaves_stops_the_comparisons(
    serve: Serve, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(sources=orders) as server:
        key = (await posted(server, ASKED))["cache_key"]
        events: list[str] = []
        free = server.service.slots.free
        monkeypatch.setattr(TableEngine, "compute", endless(events))
        asking = asyncio.create_task(explained(server, key))
        await soon(lambda: events == ["began"])
        asking.cancel()
        await soon(lambda: events == ["began", "ended"])
        await soon(lambda: server.service.slots.free == free)


async def test_the_document_describes_the_changes(client: Client) -> None:
    async with client.get("/openapi.json") as answer:
        document = await answer.json()
    schemas = document["components"]["schemas"]
    assert set(schemas["RuleChanges"]["properties"]) == {"key", "map", "filters", "rules"}
    assert "RowsWhyBody" in json.dumps(document["paths"]["/comparisons/{key}/why"])

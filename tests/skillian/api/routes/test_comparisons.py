from __future__ import annotations

from typing import Any

import pytest
from tests.skillian.api.conftest import Client, Serve

ASKED = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
    "filters": {"company": "1001"},
}


async def compared(client: Client, **given: Any) -> dict[str, Any]:
    async with client.post("/compare", json={**ASKED, **given}) as answer:
        assert answer.status == 200, await answer.text()
        body: dict[str, Any] = await answer.json()
        return body


async def test_sources_are_compared_and_the_result_is_found_again(client: Client) -> None:
    body = await compared(client)
    assert body["summary"]["by_status"]["match"] == 7
    assert body["summary"]["measures"]["amount"]["total_a"] == "2172539.90"
    async with client.get(f"/comparisons/{body['cache_key']}") as answer:
        assert await answer.json() == body


async def test_rows_come_by_pages_and_classes(client: Client) -> None:
    path = f"/comparisons/{(await compared(client))['cache_key']}/rows"
    async with client.get(path) as answer:
        differing = await answer.json()
    assert differing["total"] == 5
    async with client.get(path, params={"status": "match", "offset": 5, "limit": 5}) as answer:
        page = await answer.json()
    assert (page["total"], len(page["rows"])) == (7, 2)
    two = [("status", "match"), ("status", "minor_diff")]
    async with client.get(path, params=two) as answer:
        assert (await answer.json())["total"] == 8
    for wrong in ({"status": "x"}, {"limit": 1001}, {"offset": -1}, {"other": "1"}):
        async with client.get(path, params=wrong) as answer:
            assert answer.status == 422
    async with client.get(path, params={"status": "x"}) as answer:
        assert [fault["where"] for fault in (await answer.json())["errors"]] == ["query.status.0"]


async def test_the_report_is_a_page_that_reaches_nothing(client: Client) -> None:
    key = (await compared(client))["cache_key"]
    async with client.get(f"/comparisons/{key}/report.html") as answer:
        page = await answer.text()
        assert answer.content_type == "text/html"
        policy = answer.headers["Content-Security-Policy"]
    assert "192,258.87" in page or "192258.87" in page
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy


async def test_another_process_knows_the_comparison_too(serve: Serve) -> None:
    async with serve() as one, serve() as other:
        body = await compared(one)
        key = body["cache_key"]
        async with other.get(f"/comparisons/{key}") as answer:
            assert await answer.json() == body
        async with other.get(f"/comparisons/{key}/rows") as answer:
            assert (await answer.json())["total"] == 5
        async with other.get(f"/comparisons/{key}/report.html") as answer:
            assert answer.status == 200


async def test_an_amount_keeps_its_digits_in_the_thresholds(client: Client) -> None:
    wide = {"match": {"absolute": "1000000000", "percentage": "1000"}}
    body = await compared(client, thresholds=wide)
    assert body["summary"]["by_status"]["major_diff"] == 0


async def test_an_unknown_name_is_answered_with_the_nearest(client: Client) -> None:
    async with client.post("/compare", json={**ASKED, "source_b": "bpc"}) as answer:
        body = await answer.json()
    assert (answer.status, body["code"]) == (422, "not_found")
    assert body["available_sources"][0] == "bpc_reporting"


@pytest.mark.parametrize(
    "given",
    [
        {"measures": []},
        {"measures": ["nothing"]},
        {"measures": "amount"},
        {"filters": {"company": {"like": "1%"}}},
        {"filters": {"company": []}},
        {"filters": {"company": "of no row"}},
        {"filters": {"company": "\ud800"}},
        {"filters": {"period": {"between": ["2", "1"]}}},
        {"align_on": ["nothing"]},
        {"thresholds": {"match": {"absolute": -1}}},
        {"thresholds": {"match": {"absolute": "NaN"}}},
        {"unknown": 1},
    ],
)
async def test_a_wrong_comparison_is_refused(client: Client, given: dict[str, Any]) -> None:
    async with client.post("/compare", json={**ASKED, **given}) as answer:
        text = await answer.text()
    assert answer.status == 422, text
    assert "SELECT" not in text


@pytest.mark.parametrize("key", ["0" * 64, "..%2f..%2fx", "%00", "ü", "' OR 1=1"])
async def test_a_key_that_is_not_there_is_not_found(client: Client, key: str) -> None:
    for part in ("", "/rows", "/report.html"):
        async with client.get(f"/comparisons/{key}{part}") as answer:
            assert answer.status == 404

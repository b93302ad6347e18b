"""Comparisons of whole rows over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.skillian.api.conftest import Client, Serve

from skillian.storage import comparisons as storage

ROWS = {
    "source_a": "fi_reporting",
    "source_b": "fi_reporting",
    "multiset": True,
}


async def compared(client: Client, **changes: Any) -> dict[str, Any]:
    async with client.post("/compare", json={**ROWS, **changes}) as answer:
        assert answer.status == 200, await answer.text()
        body: dict[str, Any] = await answer.json()
        return body


async def test_without_measures_whole_rows_are_compared(client: Client) -> None:
    body = await compared(client)
    assert (body["kind"], body["equal"]) == ("rows", True)
    assert body["rows"]["matched"] == body["rows"]["a"] > 0
    async with client.get(f"/comparisons/{body['cache_key']}") as answer:
        assert await answer.json() == body


async def test_filters_that_leave_no_rows_are_refused(client: Client) -> None:
    assert (await compared(client, filters={"company": "1001"}))["equal"]
    asked = {**ROWS, "filters": {"company": "of no row"}}
    async with client.post("/compare", json=asked) as answer:
        body = await answer.json()
    assert (answer.status, body["code"]) == (422, "validation_error")


async def test_another_process_knows_the_result_and_makes_its_report(serve: Serve) -> None:
    async with serve() as one, serve() as other:
        body = await compared(one)
        path = f"/comparisons/{body['cache_key']}"
        async with other.get(path) as answer:
            assert await answer.json() == body
        async with other.get(f"{path}/report.html") as answer:
            assert answer.status == 200
        async with other.get(f"{path}/report.json") as answer:
            report = await answer.json(content_type=None)
            assert report["comparisons"][0]["kind"] == "rows"


async def test_a_result_that_is_too_long_is_stored_without_its_values(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"source_b": "bpc_reporting", "map": {"HSL": "signed_data"}}
    async with serve() as one, serve() as other:
        body = await compared(one, **changes)
        assert body["samples"]["only_in_a"]
        monkeypatch.setattr(storage, "MAX_BYTES", len(json.dumps(body, separators=(",", ":"))))
        path = f"/comparisons/{(await compared(one, **changes))['cache_key']}"
        async with other.get(path) as answer:
            stored = await answer.json()
    assert stored["rows"] == body["rows"]
    assert not any(stored["samples"].values())
    assert "are not stored" in stored["sentences"][-1]


async def test_all_rows_that_differ_come_in_pages_and_files_of_another_process_too(
    serve: Serve,
) -> None:
    changes = {"source_b": "bpc_reporting", "map": {"HSL": "signed_data"}}
    async with serve() as one, serve() as other:
        body = await compared(one, **changes)
        total = body["rows"]["only_in_a"] + body["rows"]["only_in_b"]
        for client in (one, other):
            path = f"/comparisons/{body['cache_key']}/rows"
            async with client.get(path, params={"status": "only_in_b", "limit": 2}) as answer:
                page = await answer.json()
            rows = sum(row["rows_b"] - row["rows_a"] for row in page["rows"])
            assert len(page["rows"]) == rows == 2
            assert {row["status"] for row in page["rows"]} == {"only_in_b"}
            async with client.get(f"{path}.jsonl") as answer:
                assert answer.content_type == "application/jsonl"
                lines = [json.loads(line) for line in (await answer.text()).splitlines()]
            assert sum(abs(line["rows a"] - line["rows b"]) for line in lines) == total
            for form, begin in (("csv", b"\xef\xbb\xbf"), ("xlsx", b"PK"), ("parquet", b"PAR1")):
                async with client.get(f"{path}.{form}", params={"limit": "1"}) as answer:
                    assert answer.status == 422  # a file has no pages
                async with client.get(f"{path}.{form}") as answer:
                    assert (await answer.read()).startswith(begin)


async def test_a_page_of_rows_says_what_is_wrong_with_it(client: Client) -> None:
    path = f"/comparisons/{(await compared(client))['cache_key']}/rows"
    for query in (
        {"status": "major_diff"},
        {"order": json.dumps({"column": "a", "of": "nothing"})},
        {"where": json.dumps([{"column": "gap", "of": "company", "filter": 1}])},
    ):
        async with client.get(path, params=query) as answer:
            assert answer.status == 422, query


async def test_it_runs_in_the_background(client: Client) -> None:
    async with client.post("/compare", json=ROWS, headers={"Prefer": "respond-async"}) as answer:
        assert answer.status == 202
        run = await answer.json()
    while run["state"] in {"queued", "running"}:
        await asyncio.sleep(0.05)
        async with client.get(f"/runs/{run['id']}") as answer:
            run = await answer.json()
    assert run["state"] == "completed"
    async with client.get(f"/comparisons/{run['cache_key']}") as answer:
        assert (await answer.json())["kind"] == "rows"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"measures": ["amount"]}, "multiset"),
        ({"align_on": ["company"]}, "measures"),
        ({"thresholds": {"match": {"absolute": "1"}}}, "measures"),
        ({"key": []}, "key"),
        ({"rules": {"all": {"nonsense": 1}}}, "nonsense"),
        ({"rules": {"all": {"absolute": "-1"}}}, "absolute"),
        ({"columns": ["x"] * 1001}, "columns"),
    ],
)
async def test_what_does_not_fit_together_is_refused(
    client: Client, changes: dict[str, Any], words: str
) -> None:
    async with client.post("/compare", json={**ROWS, **changes}) as answer:
        assert answer.status == 422
        assert words in await answer.text()


@pytest.mark.parametrize("changes", [{"source_b": "nothing"}, {"key": ["no such column"]}])
async def test_names_that_do_not_exist_are_refused(client: Client, changes: dict[str, Any]) -> None:
    body = {**ROWS, "multiset": False, **changes}
    async with client.post("/compare", json=body) as answer:
        assert answer.status in {404, 422}, await answer.text()

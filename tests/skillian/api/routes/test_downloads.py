from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from tests.skillian.api.conftest import Client, Serve
from tests.skillian.api.routes.test_comparisons import compared


async def downloaded(client: Client, path: str, **params: Any) -> tuple[str, bytes]:
    async with client.get(path, params=params) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        return answer.content_type, await answer.read()


async def test_groups_come_as_csv_in_the_order_and_of_the_classes_asked_for(
    client: Client,
) -> None:
    path = f"/comparisons/{(await compared(client))['cache_key']}/rows.csv"
    kind, data = await downloaded(client, path)
    lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert kind == "text/csv"
    assert [line[1] for line in lines[1:]] == [
        "2024004", "2024007", "2024009", "2024012", "2024006",
    ]  # fmt: skip
    order = json.dumps({"column": "key", "of": "period", "descending": True})
    where = json.dumps([{"column": "gap", "of": "amount", "filter": {"lt": -1}}])
    _, data = await downloaded(client, path, order=order, where=where)
    lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert [line[1] for line in lines[1:]] == ["2024012", "2024009", "2024007"]
    _, data = await downloaded(client, path, status="match")
    assert len(data.decode().splitlines()) == 1 + 7


async def test_groups_come_as_a_workbook(client: Client) -> None:
    path = f"/comparisons/{(await compared(client))['cache_key']}/rows.xlsx"
    kind, data = await downloaded(client, path, status="match")
    assert kind.endswith("spreadsheetml.sheet")
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    assert len(book.get_sheet_by_name("Rows").to_python()) == 1 + 7


async def test_the_report_as_json(client: Client) -> None:
    path = f"/comparisons/{(await compared(client))['cache_key']}/report.json"
    kind, data = await downloaded(client, path)
    content = json.loads(data)["comparisons"][0]
    assert kind == "application/json"
    assert (content["verdict"], len(content["rows"]["rows"])) == ("findings", 5)


async def test_another_process_delivers_the_files_too(serve: Serve) -> None:
    async with serve() as one, serve() as other:
        key = (await compared(one))["cache_key"]
        for name in ("rows.csv", "rows.xlsx", "report.json"):
            await downloaded(other, f"/comparisons/{key}/{name}")


@pytest.mark.parametrize(
    "params",
    [
        {"where": "["},
        {"where": "{}"},
        {"where": '[{"column": "key", "of": "nothing", "filter": 1}]'},
        {"where": '[{"column": "gap", "of": "amount", "filter": "x"}]'},
        {"where": '[{"column": "nothing", "filter": 1}]'},
        {"where": json.dumps([{"column": "rows_a", "filter": 1}] * 51)},
        {"order": "amount"},
        {"order": '{"column": "a", "of": "period"}'},
        {"status": "x"},
    ],
)
async def test_a_wrong_query_is_refused_before_a_download_begins(
    client: Client, params: dict[str, str]
) -> None:
    key = (await compared(client))["cache_key"]
    for name in ("rows", "rows.csv", "rows.xlsx"):
        async with client.get(f"/comparisons/{key}/{name}", params=params) as answer:
            body = await answer.json()
        assert answer.status == 422, body
        assert "SELECT" not in body["detail"]


async def test_an_unknown_key_has_no_files(client: Client) -> None:
    for name in ("rows.csv", "rows.xlsx", "report.json"):
        async with client.get(f"/comparisons/{'0' * 64}/{name}") as answer:
            assert answer.status == 404

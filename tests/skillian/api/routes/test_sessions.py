from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.skillian.api.conftest import Client, Serve


async def new(client: Client, **given: Any) -> dict[str, Any]:
    async with client.post("/sessions", json=given or None) as answer:
        assert answer.status == 201
        made: dict[str, Any] = await answer.json()
        assert answer.headers["Location"] == f"/sessions/{made['id']}"
        return made


async def test_a_session_is_made_renamed_read_and_deleted(client: Client) -> None:
    made = await new(client, title="The gap")
    assert set(made) == {"id", "title", "created", "updated"}  # whose it is, is nobody's business
    path = f"/sessions/{made['id']}"
    async with client.patch(path, json={"title": "Another\x00\n name"}) as answer:
        assert (await answer.json())["title"] == "Another name"
    async with client.get(path) as answer:
        read = await answer.json()
    assert (read["title"], read["messages"]) == ("Another name", [])
    async with client.delete(path) as answer:
        assert (answer.status, await answer.read()) == (204, b"")
    for method in ("get", "delete"):
        async with getattr(client, method)(path) as answer:
            assert answer.status == 404
            assert (await answer.json())["code"] == "session_not_found"


async def test_sessions_are_listed_by_pages(serve: Serve) -> None:
    async with serve() as client:
        await _listed_by_pages(client)


async def _listed_by_pages(client: Client) -> None:
    made = [await new(client) for _ in range(3)]
    async with client.post(f"/sessions/{made[0]['id']}/chat", json={"message": "Hi"}) as answer:
        assert answer.status == 200
    async with client.get("/sessions", params={"limit": 2}) as answer:
        first = await answer.json()
    async with client.get("/sessions", params={"offset": 2, "limit": 2}) as answer:
        second = await answer.json()
    assert (first["total"], first["offset"], first["limit"]) == (3, 0, 2)
    ids = [each["id"] for each in first["sessions"] + second["sessions"]]
    assert ids[0] == made[0]["id"]  # used last
    assert sorted(ids) == sorted(each["id"] for each in made)


@pytest.mark.parametrize(
    "query", ["offset=-1", "limit=0", "limit=201", "offset=x", "offset=99999999999999999999"]
)
async def test_an_invalid_page_is_refused(client: Client, query: str) -> None:
    async with client.get(f"/sessions?{query}") as answer:
        assert answer.status == 422
        [fault] = (await answer.json())["errors"]
    assert fault["where"] == f"query.{query.partition('=')[0]}"


async def test_a_session_is_exported(client: Client) -> None:
    made = await new(client)
    path = f"/sessions/{made['id']}"
    async with client.post(f"{path}/chat", json={"message": "# which sources?"}) as answer:
        assert answer.status == 200
    async with client.get(f"{path}/export") as answer:
        exported = json.loads(await answer.text())
        assert answer.headers["Content-Disposition"].endswith(f'"{made["id"]}.json"')
    assert exported["messages"][0] == {"role": "user", "content": "# which sources?"}
    async with client.get(f"{path}/export", params={"format": "markdown"}) as answer:
        assert answer.content_type == "text/markdown"
        assert "## You" in await answer.text()
    async with client.get(f"{path}/export", params={"format": "pdf"}) as answer:
        assert answer.status == 422


@pytest.mark.parametrize(
    "path",
    [
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%ff%fe",
        "' OR 1=1 --",
        "0" * 32,
        "A" * 5000,
    ],
)
async def test_path_tricks_find_nothing(client: Client, path: str) -> None:
    async with client.get(f"/sessions/{path}") as answer:
        assert answer.status in {404, 422}
        text = await answer.text()
    assert "Traceback" not in text
    assert "etc" not in text


async def test_many_at_once_do_not_disturb_each_other(client: Client) -> None:
    made = await asyncio.gather(*(new(client, title=str(number)) for number in range(20)))
    assert len({each["id"] for each in made}) == 20
    assert sorted(int(each["title"]) for each in made) == list(range(20))

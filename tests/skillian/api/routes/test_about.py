from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.skillian.api.conftest import KEYS, Client, Serve


async def test_health_and_readiness_need_no_key(serve: Serve) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        async with client.get("/health") as answer:
            assert (answer.status, await answer.json()) == (200, {"status": "ok"})
        async with client.get("/ready") as answer:
            body = await answer.json()
    assert (answer.status, body["checks"]) == (200, {"store": "ok", "sources": "ok"})


async def test_a_store_that_fails_is_reported_without_its_place(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "broken.db"
    async with serve(database_url=f"sqlite:///{file}") as client:
        broken = create_engine(f"sqlite:///{file}")
        with broken.begin() as connection:
            connection.execute(text("ALTER TABLE skillian_sessions RENAME TO others"))
        async with client.get("/sessions") as answer:
            body = await answer.json()
        broken.dispose()
    assert (answer.status, body["code"]) == (503, "store_unavailable")
    assert answer.headers["Retry-After"] == "5"
    assert "broken" not in str(body)
    assert "sessions WHERE" not in str(body)


async def test_skills_and_sources_are_listed(client: Client) -> None:
    async with client.get("/skills") as answer:
        skills = {each["name"]: each for each in (await answer.json())["skills"]}
    tools = {tool["name"]: tool for tool in skills["data-analyst"]["tools"]}
    assert tools["compare_sources"]["input"]["required"] == ["source_a", "source_b"]
    async with client.get("/sources") as answer:
        sources = (await answer.json())["sources"]
    assert [each["name"] for each in sources] == ["fi_reporting", "bpc_reporting"]
    assert sources[0]["dimensions"]["company"]["values"]


async def test_knowledge_is_searched(client: Client) -> None:
    async with client.post("/knowledge/search", json={"query": "a load that ran twice"}) as answer:
        body = await answer.json()
    assert answer.status == 200
    assert all(set(each) == {"skill", "file", "heading", "text"} for each in body["passages"])
    for query in ('" OR *', "NEAR(", "\x00", "'; DROP TABLE x --"):
        async with client.post("/knowledge/search", json={"query": query}) as answer:
            assert answer.status == 200


async def test_a_file_that_is_no_longer_kept_is_not_found(client: Client) -> None:
    async with client.get("/artifacts/..%2f..%2fetc%2fpasswd") as answer:
        assert answer.status == 404


@pytest.mark.parametrize("path", ["/", "/ui"])
async def test_without_the_page_its_address_says_how_to_get_it(serve: Serve, path: str) -> None:
    async with serve(api_keys="a-key-of-some-length") as client:
        answer = await client.get(path)
        assert (answer.status, answer.content_type) == (200, "text/plain")
        assert "pip install '.[web]'" in await answer.text()

"""`/mcp`, asked by the official client over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.skillian.api.conftest import KEYS, Client, Opened, Serve
from tests.support.serving import Serving
from tests.support.waits import soon

from skillian.api.protocols.mcp import as_json

COMPARED = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
SKILL = """---
name: slow
description: Takes its time.
---
Wait.
"""
TOOLS = """
import asyncio
from pathlib import Path
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Nothing(BaseModel):
    pass

async def wait(_):
    here = Path(__file__).parent
    (here / "started").touch()
    try:
        await asyncio.Event().wait()
    finally:
        (here / "ended").touch()

def tools(services):
    guarded = SkillTool("guarded", "Ask first.", Nothing, wait, requires_approval=True)
    return [SkillTool("wait", "Wait for ever.", Nothing, wait), guarded]
"""


def connect(served: Serving | Opened, mode: str = "auto") -> McpClient:
    return McpClient(mcp_url(served), mode=mode)


def mcp_url(served: Serving | Opened) -> str:
    return f"{served.url}/mcp"


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_tools_are_listed_and_called(server: Serving, mode: str) -> None:
    async with connect(server, mode) as asked:
        tools = {tool.name for tool in (await asked.list_tools()).tools}
        assert {"list_sources", "compare_sources", "search_knowledge"} <= tools
        compared = await asked.call_tool("compare_sources", COMPARED)
        assert not compared.is_error
        content: Any = compared.structured_content
        assert json.loads(text_of(compared)) == content
    async with connect(server, mode) as another:  # no session: any client knows the result
        key = {"cache_key": content["cache_key"]}
        explained = await another.call_tool("explain_difference", key)
        assert "of the gross gap" in text_of(explained)


async def test_instructions_are_those_of_the_skills(server: Serving) -> None:
    async with connect(server) as asked:
        assert asked.instructions is not None
        assert "# Skill: data-analyst" in asked.instructions


async def test_failures_are_results_and_unknown_tools_are_errors(server: Serving) -> None:
    async with connect(server) as asked:
        unknown = await asked.call_tool("describe_source", {"source": "fi_report"})
        assert unknown.is_error
        assert "fi_reporting" in text_of(unknown)
        with pytest.raises(MCPError, match="nearest first: describe_source"):
            await asked.call_tool("describe_sources", {})


async def test_parallel_calls(server: Serving) -> None:
    async with connect(server) as one, connect(server) as other:
        results = await asyncio.gather(
            *(asked.call_tool("list_sources", {}) for asked in (one, other) for _ in range(5))
        )
    assert len({text_of(each) for each in results}) == 1


async def test_a_request_without_a_key_is_refused(serve: Serve) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        with pytest.raises(ExceptionGroup):
            async with connect(client) as asked:
                await asked.list_tools()
        async with _with_key(client, KEYS[1]) as asked:
            assert (await asked.list_tools()).tools


@asynccontextmanager
async def _with_key(opened: Opened, key: str) -> AsyncGenerator[McpClient]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        McpClient(streamable_http_client(mcp_url(opened), http_client=http)) as asked,
    ):
        yield asked


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
async def test_foreign_pages_and_names_are_refused(
    client: Client, headers: dict[str, str], status: int
) -> None:
    async with client.post("/mcp", json={}, headers=headers) as answer:
        assert answer.status == status


async def test_an_invalid_message_is_refused(client: Client) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    async with client.post("/mcp", json={"no": "message"}, headers=accept) as answer:
        assert answer.status == 400
        assert "Traceback" not in await answer.text()


def slow_skill(tmp_path: Path) -> Path:
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    return folder


async def test_tools_that_need_approval_are_not_served(serve: Serve, tmp_path: Path) -> None:
    folder = slow_skill(tmp_path)
    async with serve(skills=(folder,)) as client, connect(client) as asked:
        names = {tool.name for tool in (await asked.list_tools()).tools}
        assert "wait" in names
        assert "guarded" not in names
        with pytest.raises(MCPError, match="a person's approval"):
            await asked.call_tool("guarded", {})
    assert not (folder / "started").exists()


async def test_a_client_that_disconnects_ends_its_call_and_calls_are_limited(
    serve: Serve, tmp_path: Path
) -> None:
    folder = slow_skill(tmp_path)
    async with serve(skills=(folder,), max_turns=1) as client:
        leaving = asyncio.create_task(_call_and_wait(client))
        await soon((folder / "started").exists)
        async with connect(client) as asked:
            with pytest.raises(MCPError, match="is busy"):
                await asked.call_tool("list_sources", {})
        leaving.cancel()
        await soon((folder / "ended").exists)


async def _call_and_wait(client: Opened) -> None:
    async with connect(client) as asked:
        await asked.call_tool("wait", {})


def test_values_without_a_json_form_become_text() -> None:
    value = as_json({"a": object, "b": {1, 2}, "c": Path("x")})
    assert json.loads(json.dumps(value))["c"] == "x"

"""`skillian mcp`, started by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPError

from tinyagent import ReactAgent, ScriptedModel, scripted_call
from tinyagent.mcp import mcp_tools

COMMAND = str(Path(sys.executable).parent / "skillian")


def command(sources: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=COMMAND, args=["mcp", "--sources", str(sources)], cwd=sources.parent
    )


def read(result: types.CallToolResult) -> Any:
    """The JSON of a result, which has it twice."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert json.loads(block.text) == result.structured_content
    return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_compares_and_looks_further(demo: Path, mode: str) -> None:
    async with Client(command(demo), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"list_sources", "compare_sources", "explain_difference"} <= set(tools)
        assert "source_a" in tools["compare_sources"].input_schema["required"]
        asked = {
            "source_a": "fi_reporting",
            "source_b": "bpc_reporting",
            "measures": ["amount"],
            "filters": {"company": "1001"},
        }
        compared = await client.call_tool("compare_sources", asked)
        assert not compared.is_error
        key = {"cache_key": read(compared)["cache_key"]}
        explained = await client.call_tool("explain_difference", key)
        assert read(explained)["interpretation"]


async def test_errors_are_reported_to_the_client(demo: Path) -> None:
    async with Client(command(demo)) as client:
        unknown = await client.call_tool("describe_source", {"source": "fi_report"})
        assert unknown.is_error
        assert read(unknown)["available_sources"][0] == "fi_reporting"
        wrong = await client.call_tool("describe_source", {"self": 1, "sauce": "x"})
        assert wrong.is_error
        assert read(wrong)["type"] == "validation_error"
        with pytest.raises(MCPError, match="compare_sources"):
            await client.call_tool("compare_source", {})


async def test_a_tinyagent_agent_can_be_the_client(demo: Path) -> None:
    async with mcp_tools(command(demo)) as tools:
        model = ScriptedModel([scripted_call("list_sources"), "Four."])
        result = await ReactAgent(model, tools).run("Which sources are there?")
    assert "fi_reporting" in result.steps[0].results[0].content


async def test_unreadable_sources_end_the_command_with_a_message(tmp_path: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        COMMAND, "mcp", cwd=tmp_path, env=os.environ, stdin=pipe, stdout=pipe, stderr=pipe
    )
    output, errors = await process.communicate()
    assert (process.returncode, output) == (2, b"")
    assert b"sources.yaml" in errors
    assert b"Traceback" not in errors

"""A real MCP server that is not ours, used by an agent."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from tinyagent import ReactAgent, ScriptedModel, scripted_call
from tinyagent.core import ModelRequest, RawToolCall
from tinyagent.core.errors import ToolArgumentsError, ToolRetry, ToolServerError
from tinyagent.mcp import mcp_tools

NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def _answer_of_the_tool(request: ModelRequest) -> RawToolCall | str:
    """Call the tool, then answer with its result."""
    last = request.messages[-1]
    return last.text if last.role == "tool" else scripted_call("convert_time", **NOON)


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_an_agent_uses_its_tools(over: str, time_command: list[str], time_http: str) -> None:
    address = time_command if over == "stdio" else time_http
    async with mcp_tools(address) as tools:
        assert sorted(tool.name for tool in tools) == ["convert_time", "get_current_time"]
        result = await ReactAgent(ScriptedModel(_answer_of_the_tool), tools).run("Noon in Tokyo?")
    assert '"time_difference": "+9.0h"' in result.output
    assert "T21:00:00+09:00" in result.output


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_the_model_reads_what_it_did_wrong(
    over: str, time_command: list[str], time_http: str
) -> None:
    async with mcp_tools(time_command if over == "stdio" else time_http) as tools:
        (convert,) = (tool for tool in tools if tool.name == "convert_time")
        with pytest.raises(ToolArgumentsError) as wrong:
            await convert.run({"source_timezone": "UTC", "time": 12})
        assert str(wrong.value).splitlines() == [
            "target_timezone: required, but missing",
            "time: expected string, got 12",
        ]
        with pytest.raises(ToolRetry, match="No time zone found with key Nowhere"):
            await convert.run({**NOON, "target_timezone": "Nowhere"})


async def test_one_connection_serves_many_calls_at_once(time_command: list[str]) -> None:
    zones = ["Asia/Tokyo", "Asia/Kathmandu", "Europe/Kyiv", "America/Lima", "UTC"] * 8
    async with mcp_tools(time_command) as tools:
        (convert,) = (tool for tool in tools if tool.name == "convert_time")
        answers = await asyncio.gather(
            *(convert.run({**NOON, "target_timezone": zone}) for zone in zones)
        )
    assert all(zone in answer for zone, answer in zip(zones, answers, strict=True))


async def test_several_servers_give_one_list_of_unlike_names(
    time_command: list[str], time_http: str
) -> None:
    async with mcp_tools(time_command, time_http) as tools:
        assert [tool.name for tool in tools] == [
            "get_current_time",
            "convert_time",
            "get_current_time_2",
            "convert_time_2",
        ]
        first, second = [await tool.run(NOON) for tool in tools if "convert" in tool.name]
    assert first == second


async def test_a_server_that_dies_between_calls_raises_a_typed_error(
    mortal_time_http: tuple[str, subprocess.Popen[str]],
) -> None:
    url, process = mortal_time_http
    async with mcp_tools(url, timeout=20) as tools:
        (convert,) = (tool for tool in tools if tool.name == "convert_time")
        assert "+9.0h" in await convert.run(NOON)
        process.kill()
        process.wait()
        with pytest.raises(ToolServerError, match=url):
            await convert.run(NOON)
    with pytest.raises(ToolServerError, match=url):
        async with mcp_tools(url):
            raise AssertionError("not reached")

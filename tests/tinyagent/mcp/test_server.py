"""Our tools, listed and called by a real MCP client."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPError

from tinyagent import RunContext, Tool, ToolDefinitionError, UsageLimitReached, tool
from tinyagent.core.errors import ConfigurationError
from tinyagent.mcp import mcp_server, mcp_tools, serve_mcp


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def _exercise(client: Client) -> None:
    """List and call the tools of `servers/ours.py`."""
    listed = {entry.name: entry for entry in (await client.list_tools()).tools}
    assert list(listed) == ["add", "chat", "fail", "advise", "task"]
    assert listed["add"].description == "Add two numbers."
    assert listed["add"].input_schema["properties"]["a"] == {
        "type": "integer",
        "description": "the first.",
    }
    assert listed["task"].input_schema["properties"] == {}
    right = await client.call_tool("add", {"a": 40, "b": 2})
    assert (_text(right), right.is_error) == ("42", False)
    assert _text(await client.call_tool("add", {"a": "40"})) == "41"
    wrong = await client.call_tool("add", {"b": "two", "c": 3})
    assert wrong.is_error
    assert _text(wrong).splitlines() == [
        "Error: wrong arguments for add:",
        "a: required, but missing",
        "b: Input should be a valid integer, unable to parse string as an integer, got 'two'",
        "c: there is no such argument",
        "It is called as add(a: int, b: int = 1) -> int",
    ]
    assert _text(await client.call_tool("chat", {"text": "hi"})) == '["hi","hi"]'
    failed = await client.call_tool("fail")
    assert (_text(failed), failed.is_error) == (
        "Error: fail failed: LookupError: no such thing",
        True,
    )
    advice = await client.call_tool("advise", {})
    assert (_text(advice), advice.is_error) == ("Try again: ask for a city", True)
    assert _text(await client.call_tool("task", {})) == "a call to task by an MCP client"
    with pytest.raises(MCPError, match=r"there is no tool 'ad'; did you mean add\?"):
        await client.call_tool("ad", {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_starts_our_program(ours_command: list[str], mode: str) -> None:
    command = StdioServerParameters(command=ours_command[0], args=ours_command[1:])
    async with Client(command, mode=mode) as client:
        await _exercise(client)


async def test_clients_of_a_running_http_server(
    ours_http: tuple[str, subprocess.Popen[str]],
) -> None:
    url, _ = ours_http
    for mode in ("auto", "legacy"):
        async with Client(url, mode=mode) as client:
            await _exercise(client)
    async with Client(url) as one, Client(url) as other:
        results = await asyncio.gather(
            *(client.call_tool("add", {"a": n}) for n in range(10) for client in (one, other))
        )
    assert [_text(result) for result in results] == [str(n + 1) for n in range(10) for _ in "12"]


async def test_served_tools_can_be_used(ours_command: list[str]) -> None:
    async with mcp_tools(ours_command) as tools:
        (add,) = (entry for entry in tools if entry.name == "add")
        assert await add.run({"a": 1, "b": 2}) == "3"


def hello() -> str:
    """Say hello."""
    return "hello"


async def test_http_is_served_until_the_task_is_cancelled() -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_mcp([hello], transport="http", port=0, ready=ready.set_result)
    )
    url = await ready
    async with Client(url) as client:
        assert _text(await client.call_tool("hello")) == "hello"
    port = int(url.removesuffix("/mcp").rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1, port {port}: "):
        await serve_mcp([hello], transport="http", port=port)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Host: evil.example", "421 Misdirected Request"),
        ("Host: 127.0.0.1:%d\r\nOrigin: http://evil.example", "403 Forbidden"),
    ],
)
async def test_a_web_page_of_another_origin_is_turned_away(
    ours_http: tuple[str, subprocess.Popen[str]], headers: str, status: str
) -> None:
    port = int(ours_http[0].removesuffix("/mcp").rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = headers.replace("%d", str(port))
    writer.write(
        f"POST /mcp HTTP/1.1\r\n{sent}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Length: 2\r\n\r\n{}".encode()
    )
    assert (await reader.readline()).decode() == f"HTTP/1.1 {status}\r\n"
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("host", ["192.0.2.1", "", "example.com"])
async def test_nothing_is_served_to_other_machines(host: str) -> None:
    with pytest.raises(ConfigurationError, match="listens on this machine only"):
        await serve_mcp([hello], transport="http", host=host)


async def test_the_end_of_a_run_is_an_error_result_too() -> None:
    def spend() -> str:
        """Spend too much."""
        raise UsageLimitReached("no more")

    async with Client(mcp_server([spend])) as client:
        result = await client.call_tool("spend")
    assert (_text(result), result.is_error) == (
        "Error: spend failed: UsageLimitReached: no more",
        True,
    )


@tool(requires_approval=True)
def delete() -> str:
    """Delete everything."""
    return "gone"


def stock(context: RunContext[dict[str, int]]) -> int:
    """Count what is there."""
    return context.deps["apples"]


@pytest.mark.parametrize(
    ("tools", "kind", "message"),
    [
        ([hello, hello], ToolDefinitionError, "two tools are called 'hello'"),
        ([lambda: 1], ToolDefinitionError, "has no docstring"),
        ([delete], ConfigurationError, "'delete' requires approval, and a server has nobody"),
        ([stock], ConfigurationError, "'stock' needs the deps of a run, and a server has none"),
    ],
)
def test_what_cannot_be_served_is_reported_at_once(
    tools: list[Tool | Callable[..., Any]], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        mcp_server(tools)


async def test_a_tool_that_needs_no_approval_any_more_is_served() -> None:
    async with Client(mcp_server([dataclasses.replace(delete, requires_approval=False)])) as client:
        assert _text(await client.call_tool("delete")) == "gone"

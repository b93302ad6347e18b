"""Tools served to MCP clients."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ConfigurationError, RunEnded
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.mcp.client import require_sdk
from tinyagent.tools.registry import collect_tools
from tinyagent.tools.tool import Tool, call_tool, unknown_tool

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import Server

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_SHUTDOWN_SECONDS = 5


def mcp_server(
    tools: Iterable[Tool | Callable[..., Any]], *, name: str = "tinyagent"
) -> Server[Any]:
    """The SDK's server object for `tools`, to be run or mounted.

    Wrong arguments and a tool's failure become error results with the text that a model would
    read; the traceback goes to the log.

    Raises:
        ToolDefinitionError: An item is not a tool, or two share a name.
        ConfigurationError: A tool requires approval or needs `deps`, or the SDK is missing.
    """
    require_sdk()
    from mcp import types  # noqa: PLC0415 - takes seconds
    from mcp.server import Server  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    from tinyagent.mcp.content import result_blocks  # noqa: PLC0415 - loads the SDK

    served = _servable(tools)
    listing = types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=dict(tool.json_schema),
            )
            for tool in served.values()
        ]
    )

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return listing

    async def call(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in served:
            raise MCPError(types.INVALID_PARAMS, unknown_tool(params.name, served))
        result = await _call(served, params.name, params.arguments or {})
        return types.CallToolResult(content=result_blocks(result), is_error=result.is_error)

    return Server(name, on_list_tools=list_tools, on_call_tool=call)


async def serve_mcp(
    tools: Iterable[Tool | Callable[..., Any]],
    *,
    name: str = "tinyagent",
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8000,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve `tools` to MCP clients until the client leaves (stdio) or the task is cancelled.

    Args:
        tools: `Tool` objects, or functions that `@tool` would take.
        name: The server's name.
        transport: `"stdio"`, for a client that starts this program (output that tools print
            goes to standard error), or `"http"`: streamable HTTP at `/mcp`.
        host: The address for HTTP, on this machine only. To serve others, mount
            `mcp_server(tools).streamable_http_app()` behind your own authentication.
        port: The port for HTTP; 0 selects a free one.
        ready: Called with the URL once HTTP listens.

    Raises:
        ToolDefinitionError: An item is not a tool, or two share a name.
        ConfigurationError: A tool requires approval or needs `deps`, the address cannot be served,
            or the SDK is missing.
    """
    server = mcp_server(tools, name=name)
    if transport == "stdio":
        await _serve_stdio(server)
        return
    with _listen(host, port) as listener:
        bound = listener.getsockname()[1]
        url_host = f"[{host}]" if ":" in host else host
        if ready is not None:
            ready(f"http://{url_host}:{bound}/mcp")
        await _serve_http(server, listener)


def _servable(tools: Iterable[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    served = collect_tools(tools)
    for tool in served.values():
        if tool.requires_approval:
            raise ConfigurationError(
                f"tool {tool.name!r} requires approval, and a server has nobody to ask; if the"
                " client asks, serve dataclasses.replace(tool, requires_approval=False)"
            )
        if tool.deps_type is not None:
            raise ConfigurationError(
                f"tool {tool.name!r} needs the deps of a run, and a server has none; serve a"
                " function that has what it needs"
            )
    return served


async def _call(served: Mapping[str, Tool], name: str, arguments: Mapping[str, Any]) -> ToolResult:
    call = ToolCall(os.urandom(6).hex(), name, arguments)
    run = RunControl(task=f"a call to {name} by an MCP client", max_steps=1, tools=served)
    try:
        return await call_tool(served, call, run.context)
    except RunEnded as end:
        failed = f"Error: {name} failed: {type(end).__name__}: {end}"
        return ToolResult(call, failed, is_error=True)


async def _serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _listen(host: str, port: int) -> socket.socket:
    if host not in _LOOPBACK:
        raise ConfigurationError(
            f"serve_mcp listens on this machine only, not on {host!r}; to serve others, mount"
            " mcp_server(tools).streamable_http_app() behind your own authentication"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}, port {port}: {error.strerror}"
        ) from None


async def _serve_http(server: Server[Any], listener: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415 - comes with the SDK

    config = uvicorn.Config(
        server.streamable_http_app(),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    web = uvicorn.Server(config)
    serving = asyncio.create_task(web.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        web.should_exit = True
        await serving
        raise

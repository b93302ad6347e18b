"""One MCP server, held open: its address, its connection and its errors.

This module imports the SDK, so it is imported only when a server is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from mcp import Client, StdioServerParameters, types
from mcp.client import Transport
from mcp.server import MCPServer, Server
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from tinyagent.core.errors import ConfigurationError, TinyAgentError, ToolServerError
from tinyagent.core.logs import logger

Address = str | Sequence[str] | StdioServerParameters | Transport | Server[Any] | MCPServer
_MAX_PAGES = 100
_CLOSING_SECONDS = 10.0

_answers: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_MAX_ERROR_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How long to wait for a server, in seconds, and how many tools it may have."""

    call_seconds: float
    connect_seconds: float
    tools: int


class Connection:
    """A server.

    A separate task holds it open: the SDK's client must be closed by the task that opened it, and
    it cancels that task when the connection breaks. That must not be a task that uses the tools.
    """

    def __init__(self, address: Address, limits: ServerLimits) -> None:
        self.label = label_of(address)
        self._client = Client(checked(address), cache=None)
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._listed: asyncio.Future[list[types.Tool]] = self._loop.create_future()
        self._closing = asyncio.Event()
        self.holder = asyncio.create_task(self._hold())

    async def tools(self) -> list[types.Tool]:
        """The tools of the server, once it is connected.

        Raises:
            ToolServerError: It cannot be reached, does not answer, or sends invalid data.
            ConfigurationError: Its command cannot be run.
        """
        first: list[asyncio.Future[Any]] = [self.holder, self._listed]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not self._listed.done():
            raise self._ended()
        return self._listed.result()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool.

        Raises:
            ToolServerError: The server failed, ended, or did not answer in time.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise ConfigurationError(
                f"the tools of {self.label} belong to another event loop; run the agent with"
                " `await agent.run(...)` inside `async with mcp_tools(...)`"
            )
        if self.holder.done():
            raise self._ended()
        request = asyncio.create_task(self._request(name, arguments))
        try:
            await asyncio.wait(
                [request, self.holder],
                timeout=self._limits.call_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if not request.done():
                request.cancel()
                await _until_done([request])
        return self._outcome(name, request)

    def close(self) -> None:
        """Start to close; the `holder` task is done when the connection is closed."""
        self._closing.set()
        if not self._listed.done():
            self.holder.cancel()

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._limits.connect_seconds):
                client = await stack.enter_async_context(self._client)
                listed = await self._list(client)
            self._listed.set_result(listed)
            await self._closing.wait()

    async def _list(self, client: Client) -> list[types.Tool]:
        tools: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if len(tools) > self._limits.tools:
                raise ToolServerError(
                    f"the MCP server {self.label} has more than {self._limits.tools} tools"
                    " (allow more with mcp_tools(..., max_tools=...))"
                )
            if not cursor:
                return tools
        raise ToolServerError(
            f"the MCP server {self.label} lists its tools on more than {_MAX_PAGES} pages"
        )

    async def _request(
        self, name: str, arguments: Mapping[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        # Not `client.call_tool`: it validates the result against the server's output schema, and a
        # hostile schema can make the validation take forever.
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        return await self._client.session.send_request(
            types.CallToolRequest(params=params), _answers
        )

    def _outcome(
        self,
        name: str,
        request: asyncio.Task[types.CallToolResult | types.InputRequiredResult],
    ) -> types.CallToolResult:
        if request.done() and not request.cancelled():
            error = request.exception()
            if error is not None:
                raise as_error(self.label, error)
            answer = request.result()
            if isinstance(answer, types.CallToolResult):
                return answer
            raise ToolServerError(
                f"the MCP server {self.label} asks for input during the call to {name!r}, which an"
                " agent cannot give"
            )
        if self.holder.done():
            raise self._ended()
        raise ToolServerError(
            f"the MCP server {self.label} did not answer the call to {name!r} within"
            f" {self._limits.call_seconds:g} s"
        )

    def _ended(self) -> TinyAgentError:
        error = None if self.holder.cancelled() else self.holder.exception()
        if isinstance(error, TimeoutError):
            return ToolServerError(
                f"the MCP server {self.label} did not connect and list its tools within"
                f" {self._limits.connect_seconds:g} s"
            )
        if error is None:
            return ToolServerError(
                f"the MCP server {self.label} is closed; use its tools inside"
                " `async with mcp_tools(...)`"
            )
        return as_error(self.label, error)


@asynccontextmanager
async def connected(
    addresses: Sequence[Address], limits: ServerLimits
) -> AsyncGenerator[list[tuple[Connection, list[types.Tool]]]]:
    """All servers with their tools, connected concurrently, closed with the block."""
    connections: list[Connection] = []
    try:
        connections.extend(Connection(address, limits) for address in addresses)
        listings = await asyncio.gather(*(connection.tools() for connection in connections))
        yield list(zip(connections, listings, strict=True))
    finally:
        for connection in connections:
            connection.close()
        await _until_done([connection.holder for connection in connections])
        for connection in connections:
            holder = connection.holder
            if holder.done() and not holder.cancelled() and holder.exception() is not None:
                logger.debug("%s ended with", connection.label, exc_info=holder.exception())


async def _until_done(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for the tasks, even if cancelled: otherwise their processes would be left behind.

    A task that does not end in time is cancelled and left. A cancellation is raised afterwards.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _CLOSING_SECONDS
    cancelled = False
    while pending := [task for task in tasks if not task.done()]:
        if loop.time() >= deadline:
            for task in pending:
                task.cancel()
            logger.warning("an MCP connection did not close within %g s", _CLOSING_SECONDS)
            break
        try:
            await asyncio.wait(pending, timeout=deadline - loop.time())
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


def checked(
    address: Address,
) -> str | StdioServerParameters | Transport | Server[Any] | MCPServer:
    """The address as the SDK takes it.

    Raises:
        ConfigurationError: It is not a valid address.
    """
    if isinstance(address, str):
        if urlsplit(address).scheme not in {"http", "https"}:
            raise ConfigurationError(
                f"{address!r} is not the address of an MCP server; write http://... or https://...,"
                " or a command as a list: ['python', '-m', 'my_server']"
            )
        return address
    if isinstance(address, Sequence):
        if not address:
            raise ConfigurationError("the command of an MCP server is empty")
        return StdioServerParameters(command=address[0], args=list(address[1:]))
    if isinstance(address, (StdioServerParameters, Server, MCPServer)) or hasattr(
        address, "__aenter__"
    ):
        return address
    raise ConfigurationError(
        f"{address!r} is not an MCP server; pass a URL, a command as a list, or an object that the"
        " SDK's Client takes"
    )


def label_of(address: Address) -> str:
    """The server's name in errors, without what may hold a key (query, login, arguments)."""
    match address:
        case str():
            parts = urlsplit(address)
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        case StdioServerParameters():
            return repr(address.command)
        case Server() | MCPServer():
            return repr(address.name)
        case Sequence():
            return repr(next(iter(address), ""))
        case _:
            return type(address).__name__


def as_error(label: str, error: BaseException) -> TinyAgentError:
    """An error of the SDK or of its transports, as one that names the server."""
    error = _first(error)
    if isinstance(error, TinyAgentError):
        return error
    if isinstance(error, (FileNotFoundError, PermissionError)):
        return ConfigurationError(f"the MCP server {label} cannot be started: {error.strerror}")
    if isinstance(error, MCPError):
        reason = f"answered with an error: {error.message}"
        if error.code == types.CONNECTION_CLOSED:
            reason = "ended the connection"
    elif isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"sent something that is not MCP: {where}: {first['msg']}"
    else:
        reason = f"failed: {type(error).__name__}: {error}"
    return ToolServerError(f"the MCP server {label} {reason[:_MAX_ERROR_CHARS]}")


def _first(error: BaseException) -> BaseException:
    """The error, or the first one of an exception group."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _first(group.exceptions[0])

"""The tools of MCP servers as tools of an agent."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError, missing_extra
from tinyagent.core.logs import logger
from tinyagent.core.parts import Document, Image
from tinyagent.core.provenance import Hints
from tinyagent.tools.tool import Tool

if TYPE_CHECKING:
    from mcp import StdioServerParameters, types
    from mcp.client import Transport
    from mcp.server import MCPServer, Server

    from tinyagent.mcp.connection import Connection

_NAME_CHARS = 64
_QUOTES = "'\""


@asynccontextmanager
async def mcp_tools(
    *servers: str | Sequence[str] | StdioServerParameters | Transport | Server[Any] | MCPServer,
    timeout: float = 60.0,  # noqa: ASYNC109 - it is each call's, not this function's
    connect_timeout: float = 30.0,
    max_tools: int = 200,
) -> AsyncGenerator[list[Tool]]:
    """The tools of one or more MCP servers, for as long as the block lasts.

    Use it as `async with mcp_tools("http://127.0.0.1:8000/mcp") as tools` and give `tools` to an
    agent that runs inside the block. Names that a model could not call are changed, and all names
    are made unique. Descriptions are shortened, but they are the server's text, and the model reads
    them: where the agent has a `Provenance`, their source is `mcp:SERVER`, and what a server says
    of its tools ("only reads") loosens no rule.

    Args:
        servers: Each a URL (streamable HTTP), a command as a list (stdio; it gets PATH, HOME and
            similar variables, not the rest of the environment, and ends with the block), or what
            the SDK's `Client` takes: `StdioServerParameters`, a transport, a server object.
        timeout: Seconds that one call of a tool may take.
        connect_timeout: Seconds to connect and list the tools.
        max_tools: The largest number of tools of one server.

    Raises:
        ToolServerError: A server cannot be reached, does not answer in time, has too many tools or
            sends invalid data. A call raises it too; the model then reads it.
        ConfigurationError: An address is not valid, a command cannot be run, or the SDK is missing.
    """
    require_sdk()
    from tinyagent.mcp.connection import ServerLimits, connected  # noqa: PLC0415 - loads the SDK

    async with connected(servers, ServerLimits(timeout, connect_timeout, max_tools)) as connections:
        tools: dict[str, Tool] = {}
        for connection, listed in connections:
            for entry in listed:
                tool = _as_tool(connection, entry, _unique(_callable(entry.name), tools))
                if tool is not None:
                    tools[tool.name] = tool
        yield list(tools.values())


def _as_tool(connection: Connection, listed: types.Tool, name: str) -> Tool | None:
    """A tool that calls the server; None if the server's schema is too long for a model."""
    from tinyagent.mcp.content import result_content  # noqa: PLC0415 - loads the SDK
    from tinyagent.mcp.schema import (  # noqa: PLC0415 - loads jsonschema, a part of the SDK
        MAX_DESCRIPTION_CHARS,
        MAX_SCHEMA_CHARS,
        argument_check,
        bounded_schema,
        visible,
    )

    schema = bounded_schema(listed.input_schema)
    if schema is None:
        logger.warning(
            "the tool %s of %s is left out: its schema is longer than %d characters",
            name,
            connection.label,
            MAX_SCHEMA_CHARS,
        )
        return None

    async def call(**arguments: Any) -> str | list[str | Image | Document]:
        return result_content(await connection.call(listed.name, arguments))

    doc = visible(listed.description or listed.title or listed.name, MAX_DESCRIPTION_CHARS)
    source = f"mcp:{connection.label.strip(_QUOTES)}"
    check, hints = argument_check(schema), _hints(listed.annotations)
    return Tool(name, call, doc, schema, check, described_by=source, hints=hints)


def _hints(given: types.ToolAnnotations | None) -> Hints:
    """What the server says of a tool, without what it leaves out."""
    hints = Hints()
    if given is not None and given.read_only_hint is not None:
        hints["read_only"] = given.read_only_hint
    if given is not None and given.destructive_hint is not None:
        hints["destructive"] = given.destructive_hint
    if given is not None and given.open_world_hint is not None:
        hints["open_world"] = given.open_world_hint
    return hints


def _callable(name: str) -> str:
    """The name as a model may call it."""
    clean = re.sub(r"[^a-zA-Z0-9_]", "_", name)[:_NAME_CHARS]
    return clean if re.match(r"[a-zA-Z_]", clean) else f"tool_{clean}"[:_NAME_CHARS]


def _unique(name: str, taken: dict[str, Tool]) -> str:
    """The name, with a number appended if it is taken."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = f"{name[: _NAME_CHARS - len(suffix)]}{suffix}"
    return candidate


def require_sdk() -> None:
    """Check that the SDK is installed.

    Raises:
        ConfigurationError: The extra `mcp` is not installed.
    """
    if any(importlib.util.find_spec(package) is None for package in ("mcp", "jsonschema")):
        raise ConfigurationError(missing_extra("tinyagent.mcp", "mcp"))

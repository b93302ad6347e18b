"""Where an MCP server is: a URL, a command, or an object of the SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.server import MCPServer, Server

from tinyagent.core.errors import ConfigurationError

Address = str | Sequence[str] | StdioServerParameters | Transport | Server[Any] | MCPServer


def checked(
    address: Address,
) -> str | StdioServerParameters | Transport | Server[Any] | MCPServer:
    """The address as the SDK takes it.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(address, str):
        if urlsplit(address).scheme not in {"http", "https"}:
            raise ConfigurationError(
                f"{address!r} is no address of an MCP server; write http://... or https://..., or"
                " a command as a list: ['python', '-m', 'my_server']"
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
        f"{address!r} is no MCP server; give a URL, a command as a list, or an object that the"
        " SDK's Client takes"
    )


def label_of(address: Address) -> str:
    """How a server is called in errors: without what may hold a key (query, login, arguments)."""
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

"""Tools of MCP servers for agents, and tools served to MCP clients, over the official SDK.

The SDK (package `mcp`) is an extra and takes seconds to import: the first call loads it.
"""

from tinyagent.mcp.client import mcp_tools
from tinyagent.mcp.server import mcp_server, serve_mcp

__all__ = ["mcp_server", "mcp_tools", "serve_mcp"]

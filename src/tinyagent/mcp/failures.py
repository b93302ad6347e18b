"""From an error of the SDK or of its transports to one that says which server did what."""

from __future__ import annotations

from typing import cast

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from tinyagent.core.errors import ConfigurationError, TinyAgentError, ToolServerError

_SHOWN = 1_000


def as_error(label: str, error: BaseException) -> TinyAgentError:
    """An error of the SDK or of its transports, as one that says which server."""
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
    return ToolServerError(f"the MCP server {label} {reason[:_SHOWN]}")


def _first(error: BaseException) -> BaseException:
    """The error, or the first of those that a task group put together."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _first(group.exceptions[0])

"""Whether the official SDK is there."""

from __future__ import annotations

import importlib.util

from tinyagent.core.errors import ConfigurationError


def require_sdk() -> None:
    """Say how to get the SDK where it is missing.

    Raises:
        ConfigurationError: the package `mcp` is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise ConfigurationError(
            "MCP needs its official SDK; install it with: pip install 'mcp>=2.3' jsonschema"
        )

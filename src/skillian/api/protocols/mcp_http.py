"""`/mcp`: the tools of the skills over streamable HTTP.

There are no MCP sessions: each request is independent, so any process can answer it, and there is
no session to hijack.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from skillian.api.limits import Slots
from skillian.api.problems import ProblemError
from skillian.api.protocols.mcp import mcp_server
from skillian.skills.registry import SkillRegistry

PATH = "/mcp"


class McpEndpoint:
    """Passes requests to the SDK. The application has checked keys, hosts and sizes before."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application."""
        manager: StreamableHTTPSessionManager = scope["app"].state.mcp
        await manager.asgi_app(scope, receive, send)


def add_mcp(app: FastAPI) -> None:
    """Serve MCP at `/mcp`, once `open_mcp` is entered."""
    app.router.routes.append(Route(PATH, McpEndpoint(), include_in_schema=False))


@asynccontextmanager
async def open_mcp(app: FastAPI, skills: SkillRegistry, slots: Slots) -> AsyncGenerator[None, None]:
    """During the block `/mcp` answers. Each tool call takes a slot."""
    # The SDK logs two lines for each request; the application logs it already.
    logging.getLogger("mcp.server").setLevel(logging.WARNING)
    server = mcp_server(skills, partial(_in_slot, slots))
    manager = StreamableHTTPSessionManager(server, stateless=True)
    async with manager.run():
        app.state.mcp = manager
        yield


@contextmanager
def _in_slot(slots: Slots) -> Generator[None]:
    try:
        slots.check()
    except ProblemError as problem:
        raise MCPError(INTERNAL_ERROR, problem.detail) from None
    with slots.taken():
        yield

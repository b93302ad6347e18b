"""`/mcp`: the tools of the skills over streamable HTTP.

There are no MCP sessions: each request stands alone, so any process can answer it, and there is
none to be taken over.
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

from skillian.api.mcp import mcp_server
from skillian.api.problems import ProblemError
from skillian.api.runs import Slots
from skillian.skills.registry import SkillRegistry

PATH = "/mcp"


class McpEndpoint:
    """Hands requests on to the SDK. Keys, hosts, sizes: the application has checked them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application."""
        manager: StreamableHTTPSessionManager = scope["app"].state.mcp
        await manager.asgi_app(scope, receive, send)


def add_mcp(app: FastAPI) -> None:
    """Serve MCP at `/mcp`, once `open_mcp` has been entered."""
    app.router.routes.append(Route(PATH, McpEndpoint(), include_in_schema=False))


@asynccontextmanager
async def open_mcp(app: FastAPI, skills: SkillRegistry, slots: Slots) -> AsyncGenerator[None, None]:
    """During the block `/mcp` answers. Each tool call takes a slot."""
    # It logs two lines for each request, which the application has logged already.
    logging.getLogger("mcp.server").setLevel(logging.WARNING)
    server = mcp_server(skills, partial(_in_slot, slots))
    manager = StreamableHTTPSessionManager(server, stateless=True)
    async with manager.run():
        app.state.mcp = manager
        yield


@contextmanager
def _in_slot(slots: Slots) -> Generator[None]:
    try:
        slots.take()
    except ProblemError as problem:
        raise MCPError(INTERNAL_ERROR, problem.detail) from None
    try:
        yield
    finally:
        slots.give_back()

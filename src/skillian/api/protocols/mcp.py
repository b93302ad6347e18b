"""The tools of the skills for MCP clients, by the official SDK.

The SDK (package `mcp`) is an extra and takes seconds to import; the first call loads it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import to_jsonable_python

from skillian.errors import UnavailableError, UnknownNameError, missing_extra
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import in_session

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import Server

NAME = "skillian"

Hold = Callable[[], AbstractContextManager[object]]


def mcp_server(skills: SkillRegistry, hold: Hold = nullcontext) -> Server[Any]:
    """The SDK's server object for these skills, to run or to mount.

    A result is JSON, as text and as structured content; a failure is the same with `isError`. The
    server's instructions are those of the skills.

    Args:
        skills: Their tools are served, except those that need approval.
        hold: Entered around each call.

    Raises:
        UnavailableError: The package `mcp` is not installed.
    """
    _require_sdk()
    from mcp import types  # noqa: PLC0415 - takes seconds
    from mcp.server import Server  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    tools = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_model.model_json_schema(),
        )
        for tool in skills.get_all_tools()
        if not tool.requires_approval
    ]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool = skills.get_tool(params.name)
        except UnknownNameError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        if tool.requires_approval:
            detail = f"{tool.name} needs a person's approval, and nobody is available to give it"
            raise MCPError(types.INVALID_PARAMS, detail)
        with hold():
            result = as_json(await tool.aexecute(**(params.arguments or {})))
        text = types.TextContent(text=json.dumps(result, ensure_ascii=False))
        is_error = result.get("error") is True
        return types.CallToolResult(content=[text], structured_content=result, is_error=is_error)

    return Server(
        NAME,
        version=version("tinyagent-skillian"),
        instructions=skills.system_prompt(),
        on_list_tools=list_tools,
        on_call_tool=call,
    )


async def serve_stdio(skills: SkillRegistry) -> None:
    """Serve the client that started this process until it disconnects, as one session.

    What tools print goes to standard error.

    Raises:
        UnavailableError: The package `mcp` is not installed.
    """
    server = mcp_server(skills, partial(in_session, NAME))
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - as above

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def as_json(result: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result as JSON; values without a JSON form become text."""
    return cast("dict[str, Any]", to_jsonable_python(dict(result), fallback=str))


def _require_sdk() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise UnavailableError(missing_extra("MCP", "service"))

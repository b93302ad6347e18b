"""TurnSession: what a turn's tools keep belongs to the session, or else to the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from skillian.skills.skill import in_session, session_id
from tinyagent import Middleware, RunContext, ToolCall, ToolResult


class TurnSession(Middleware):
    """Gives the tool calls of a turn that is in no session the turn itself as one."""

    def bind(self, run: RunContext) -> Middleware:
        """A turn of its own."""
        return _Turn(session_id() or run.run_id)


class _Turn(Middleware):
    def __init__(self, name: str) -> None:
        self._name = name

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        with in_session(self._name):
            return await call_next(call)

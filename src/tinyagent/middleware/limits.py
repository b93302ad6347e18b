"""UsageLimits: no run goes on for ever, with nothing configured."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tinyagent.core.context import RunContext
from tinyagent.core.errors import UsageLimitReached
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.middleware.base import Middleware, ModelCall, ToolCallHandler

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True)
class UsageLimits(Middleware):
    """Ends a run that has used up its share.

    Args:
        requests: model requests of one run.
        total_tokens: input and output tokens of one run, as the server counts them.
        tool_calls: tool calls of one run.
        wall_seconds: seconds from the start of the run; a call under way is cut off.

    A call that would pass a limit is not made: `UsageLimitReached` ends the run instead.
    Agents that are given none have one with these defaults.
    """

    requests: int = 100
    total_tokens: int = 2_000_000
    tool_calls: int = 500
    wall_seconds: float = 600.0

    def bind(self, run: RunContext) -> Middleware:
        """Start counting for one run."""
        return _Meter(self, run)


class _Meter(Middleware):
    """What one run has used so far."""

    def __init__(self, limits: UsageLimits, run: RunContext) -> None:
        self._limits = limits
        self._run = run
        self._requests = 0
        self._tool_calls = 0

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        self._admit("requests", self._requests, self._limits.requests)
        self._admit("total_tokens", self._run.usage.total_tokens, self._limits.total_tokens)
        self._requests += 1
        return await self._in_time(request, call_next, "the model's answer")

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        self._admit("tool_calls", self._tool_calls, self._limits.tool_calls)
        self._tool_calls += 1
        return await self._in_time(call, call_next, f"the tool {call.name!r}")

    def _admit(self, name: str, used: int, limit: int) -> None:
        if used >= limit:
            raise UsageLimitReached(
                f"the run has used its {name}: {used} of {limit}"
                f" (raise it with UsageLimits({name}=...))"
            )

    async def _in_time(
        self, argument: A, call_next: Callable[[A], Awaitable[R]], waiting_for: str
    ) -> R:
        left = self._limits.wall_seconds - self._run.seconds
        deadline = asyncio.timeout(left)
        try:
            async with deadline:
                return await call_next(argument)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise UsageLimitReached(
                f"the run has used its wall_seconds: {self._limits.wall_seconds:g} s were over"
                f" while waiting for {waiting_for} (raise it with UsageLimits(wall_seconds=...))"
            ) from None

"""Approval: some tools wait for a yes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from tinyagent.core.context import RunContext
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.middleware.base import Middleware, ToolCallHandler


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a question for approval; the model reads the `reason` of a no."""

    approved: bool
    reason: str = ""


Ask = Callable[[ToolCall], Awaitable[Decision | bool]]


async def nobody(call: ToolCall) -> Decision:
    """Refuse: where nobody was named, nobody has said yes."""
    del call
    return Decision(approved=False, reason="there is nobody to approve it")


class Approval(Middleware):
    """Asks before each call of a tool that is marked `requires_approval`.

    Args:
        ask: called with the `ToolCall`; gives a `Decision`, or just whether it is approved. How
            long it takes does not count as time of the run.

    A no becomes the result of the call, with its reason. Agents that are given no `Approval` refuse
    all such calls.
    """

    def __init__(self, ask: Ask = nobody) -> None:
        self._ask = ask

    def bind(self, run: RunContext) -> Middleware:
        """Know the tools of one run."""
        return _Gate(self._ask, run)


class _Gate(Middleware):
    def __init__(self, ask: Ask, run: RunContext) -> None:
        self._ask = ask
        self._run = run
        self._questions = 0
        self._since = 0.0

    @contextmanager
    def _waiting(self) -> Generator[None]:
        """Count the time as waited; that of questions side by side only once."""
        if not self._questions:
            self._since = time.monotonic()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._run.waited_seconds += time.monotonic() - self._since

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        tool = self._run.tools.get(call.name)
        if tool is None or not tool.requires_approval or call.fault is not None:
            return await call_next(call)
        with self._waiting():
            answer = await self._ask(call)
        decision = answer if isinstance(answer, Decision) else Decision(answer is True)
        if decision.approved:
            return await call_next(call)
        reason = decision.reason or "no reason was given"
        return ToolResult(call, f"Error: {call.name} was not approved: {reason}", is_error=True)

"""Approval: some tools wait for a yes."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from tinyagent.core.context import RunContext
from tinyagent.core.errors import UsageLimitReached
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.middleware.base import Middleware, ToolCallHandler

_MAX_REFUSED = 10


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

    A no becomes the result of the call, with its reason; the same call is not asked for again, and
    more than 10 refused ones end the run. Agents that are given no `Approval` refuse
    all such calls.
    """

    def __init__(self, ask: Ask = nobody) -> None:
        self._ask = ask

    def bind(self, run: RunContext) -> Middleware:
        """Know the tools of one run."""
        return _Gate(run.asking(self._ask), run)


class _Gate(Middleware):
    def __init__(self, ask: Ask, run: RunContext) -> None:
        self._ask = ask
        self._run = run
        self._questions = 0
        self._refused: dict[str, Decision] = {}

    @contextmanager
    def _waiting(self) -> Generator[None]:
        """Count the time as waited; that of questions side by side only once."""
        if not self._questions:
            self._run.waiting_since = time.monotonic()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions and self._run.waiting_since is not None:
                self._run.waited_seconds += time.monotonic() - self._run.waiting_since
                self._run.waiting_since = None

    async def _decide(self, call: ToolCall) -> Decision:
        with self._waiting():
            answer = await self._ask(call)
        return answer if isinstance(answer, Decision) else Decision(answer is True)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        tool = self._run.tools.get(call.name)
        if tool is None or not tool.requires_approval or call.fault is not None:
            return await call_next(call)
        wish = f"{call.name}\n{json.dumps(dict(call.arguments), sort_keys=True, default=str)}"
        decision = self._refused.get(wish) or await self._decide(call)
        if decision.approved:
            return await call_next(call)
        self._refused[wish] = decision
        if len(self._refused) > _MAX_REFUSED:
            raise UsageLimitReached(
                f"{_MAX_REFUSED} calls were refused; the run does not ask again"
            )
        reason = decision.reason or "no reason was given"
        text = f"{call.name} was not approved: {reason}"
        return ToolResult(call, f"Error: {text}", is_error=True, error=PermissionError(text))

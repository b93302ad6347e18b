"""Approval: calls of some tools wait for a person's approval."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager

from tinyagent.core.context import Ask, Decision, RunControl
from tinyagent.core.errors import UsageLimitReached
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.middleware.base import Middleware, SteeringMiddleware, ToolCallHandler
from tinyagent.options import checks_options

__all__ = ["Approval", "Decision", "nobody"]

_MAX_REFUSED = 10


async def nobody(call: ToolCall) -> Decision:
    """Refuse every call: the default where no `ask` is configured."""
    del call
    return Decision(approved=False, reason="there is nobody to approve it")


@checks_options()
class Approval(SteeringMiddleware):
    """Asks before each call of a tool that is marked `requires_approval`.

    Args:
        ask: Called with the `ToolCall`, whose arguments are checked and in the tool's types;
            returns a `Decision`, or a bool for whether the call is approved. The time that it takes
            does not count as time of the run.

    A refusal becomes the result of the call, with its reason. The same call is not asked about
    again, and more than 10 refused calls end the run. Agents without an `Approval` refuse all such
    calls.

    A call that a `Provenance` asks about has a `doubt` and `origins`. The calls `beside` it are in
    the same reply and break a rule, too: `Decision(approved=True, beside=True)` approves them all.
    """

    def __init__(self, ask: Ask = nobody) -> None:
        self._ask = ask

    def steer(self, run: RunControl) -> Middleware:
        """Guard the tools of one run."""
        gate = _Gate(run.wrap_ask(self._ask), run)
        run.approve = gate.approve
        return gate


class _Gate(Middleware):
    def __init__(self, ask: Ask, run: RunControl) -> None:
        self._ask = ask
        self._run = run
        self._questions = 0
        self._refused: dict[str, Decision] = {}
        self._count = 0  # of the refused ones, without those that break a rule
        self._approved: set[str] = set()

    @contextmanager
    def _waiting(self) -> Generator[None]:
        """Count the time as waiting; that of concurrent questions only once."""
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

    async def approve(self, call: ToolCall) -> Decision:
        """Ask about a call that is about to be made; a refused one is not asked about again.

        Raises:
            UsageLimitReached: Too many calls were refused.
        """
        wish = _wish(call)
        decision = self._refused.get(wish) or await self._decide(call)
        if decision.approved:
            self._approved |= {wish, *map(_wish, call.beside if decision.beside else ())}
            return decision
        if wish not in self._refused and not call.doubt:  # an attacker may want many of those
            self._count += 1
        self._refused[wish] = decision
        if self._count > _MAX_REFUSED:
            raise UsageLimitReached(
                f"{_MAX_REFUSED} calls were refused; the run does not ask again"
            )
        return decision

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        tool = self._run.tools.get(call.name)
        if tool is None or not tool.requires_approval:
            return await call_next(call)
        wish = _wish(call)
        if wish in self._approved:
            self._approved.discard(wish)
            return await call_next(call)
        decision = await self.approve(call)
        if decision.approved:
            self._approved.discard(wish)
            return await call_next(call)
        text = f"{call.name} was not approved: {decision.reason or 'no reason was given'}"
        return ToolResult(call, f"Error: {text}", is_error=True, error=PermissionError(text))


def _wish(call: ToolCall) -> str:
    """What a decision is about: the tool and its arguments."""
    return f"{call.name}\n{json.dumps(dict(call.arguments), sort_keys=True, default=str)}"

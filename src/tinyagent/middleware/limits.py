"""UsageLimits: every run ends, even if nothing is configured."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.cost import Cost, check_prices, cost_of
from tinyagent.core.errors import NoProgress, UsageLimitReached
from tinyagent.core.events import Event, ToolFinished
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.middleware.base import (
    CodeRun,
    Middleware,
    ModelCall,
    SteeringMiddleware,
    ToolCallHandler,
)
from tinyagent.options import checks_options, require_least

_WARN_AT = 3

A = TypeVar("A")
R = TypeVar("R")


@checks_options()
@dataclass(frozen=True)
class UsageLimits(SteeringMiddleware):
    """Ends a run that reaches a limit.

    Args:
        requests: Model requests in one run.
        total_tokens: Input and output tokens in one run, as the server counts them.
        tool_calls: Tool calls in one run.
        cost: US dollars for one run; None for no limit. A run whose cost is not known, since its
            model has no known price or its server reports no tokens, ends before its second
            request: only the first reply says both. Needs the extra `prices`.
        wall_seconds: Seconds from the start of the run; a call in progress is cancelled.
        same_results: How often the same call, or the same block of code, may give the same
            result. The third time, the model is warned; after the fourth it may only answer; the
            last one ends the run (`NoProgress`). Calls made by code may repeat.

    A call that would exceed a limit is not made: `UsageLimitReached` ends the run instead.
    Agents without `UsageLimits` have one with these defaults.

    Raises:
        ConfigurationError: A limit is negative, or the extra `prices` is missing.
    """

    requests: int = 100
    total_tokens: int = 2_000_000
    tool_calls: int = 500
    wall_seconds: float = 600.0
    same_results: int = 6
    cost: float | Decimal | None = None

    def __post_init__(self) -> None:
        require_least(0, requests=self.requests, total_tokens=self.total_tokens)
        require_least(0, tool_calls=self.tool_calls, wall_seconds=self.wall_seconds)
        require_least(1, same_results=self.same_results)
        if self.cost is not None:
            require_least(0, cost=float(self.cost))
            check_prices()

    def steer(self, run: RunControl) -> Middleware:
        """Start counting for one run."""
        return _Meter(self, run)


class _Meter(Middleware):
    """What one run has used so far."""

    def __init__(self, limits: UsageLimits, run: RunControl) -> None:
        self._limits = limits
        self._run = run
        self._requests = 0
        self._tool_calls = 0
        self._seen: Counter[str] = Counter()
        self._in_code = False
        self._cost = Cost()
        self._priced = 0

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        used = max(self._requests, self._run.usage.requests)  # includes those of agents as tools
        self._admit("requests", used, self._limits.requests)
        self._admit("total_tokens", self._run.usage.total_tokens, self._limits.total_tokens)
        self._admit_cost()
        self._requests += 1
        return await self._in_time(request, call_next, "the model's answer")

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        self._admit("tool_calls", self._tool_calls, self._limits.tool_calls)
        self._tool_calls += 1
        result = await self._in_time(call, call_next, f"the tool {call.name!r}")
        if self._in_code:
            return result
        note = self._remark_on(call, result)
        return replace(result, note=note) if note else result

    def on_event(self, event: Event) -> None:
        """Count a call that was not made because of its arguments: it reaches no middleware."""
        if isinstance(event, ToolFinished) and event.result.call.fault and not self._in_code:
            self._remark_on(event.result.call, event.result)

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        # Each step of the code has its own time limit, and each of its tool calls this run's.
        self._in_code = True
        try:
            result = await call_next(code)
        finally:
            self._in_code = False
        if result.is_final:
            return result
        outcome = f"{result.output}\n{result.value_text}\n{result.error}"
        note = self._remark(f"{code}\n{outcome}", "block of code")
        return replace(result, note=note) if note else result

    def _remark_on(self, call: ToolCall, result: ToolResult) -> str:
        arguments = json.dumps(dict(call.arguments), sort_keys=True, default=str)
        return self._remark(f"{call.name}\n{arguments}\n{result.content}", f"call to {call.name}")

    def _remark(self, seen: str, what: str) -> str:
        """A warning for the model if the same action keeps giving the same result."""
        self._seen[seen] += 1
        times = self._seen[seen]
        if times >= self._limits.same_results:
            raise NoProgress(
                f"the same {what} gave the same result {times} times"
                " (allow more with UsageLimits(same_results=...))"
            )
        if times > _WARN_AT:
            self._run.answer_only = True
        if times != _WARN_AT:
            return ""
        return (
            f"[The same {what} has given the same result {times} times. Do something else, or"
            " give your answer.]"
        )

    def _admit(self, name: str, used: int, limit: int) -> None:
        if used >= limit:
            raise UsageLimitReached(
                f"the run has used its {name}: {used} of {limit}"
                f" (raise it with UsageLimits({name}=...))"
            )

    def _admit_cost(self) -> None:
        limit = self._limits.cost
        if limit is None:
            return
        new = self._run.uses[self._priced :]
        self._priced += len(new)
        self._cost += cost_of(new)
        if self._cost.unknown:
            raise UsageLimitReached(
                f"the run's cost cannot be limited to ${limit}: {'; '.join(self._cost.unknown)}"
                " (leave out UsageLimits(cost=...))"
            )
        if self._cost.known >= limit:
            raise UsageLimitReached(
                f"the run has used its cost: {self._cost} of ${limit}"
                " (raise it with UsageLimits(cost=...))"
            )

    async def _in_time(
        self, argument: A, call_next: Callable[[A], Awaitable[R]], waiting_for: str
    ) -> R:
        left = self._limits.wall_seconds - self._run.seconds
        if left <= 0:  # asyncio would let the call begin
            raise self._out_of_time(f"before {waiting_for}")
        deadline = asyncio.timeout(left)
        try:
            async with deadline:
                return await call_next(argument)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise self._out_of_time(f"while waiting for {waiting_for}") from None

    def _out_of_time(self, when: str) -> UsageLimitReached:
        return UsageLimitReached(
            f"the run has used its wall_seconds: {self._limits.wall_seconds:g} s had passed {when}"
            " (raise it with UsageLimits(wall_seconds=...))"
        )

"""Tool calls that wait for a person's approval."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from skillian.skills.skill import session_id
from tinyagent import Approval, Decision, Middleware, ToolCall
from tinyagent.core import RunControl

APPROVAL_SECONDS = 1800.0

_NOBODY = Decision(approved=False, reason="there is nobody here to approve it")
LATE = Decision(approved=False, reason="nobody answered in time")

_SUSPENDS: ContextVar[bool] = ContextVar("skillian_suspends", default=False)


@dataclass(frozen=True, slots=True)
class ApprovalWanted:
    """A call waits for approval."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """The call was approved or refused."""

    call: ToolCall
    decision: Decision


Emit = Callable[[ApprovalWanted | ApprovalGiven], None]


class Approvals:
    """The calls of this process that wait, by session.

    Args:
        seconds: How long each waits; after that it is refused.
    """

    def __init__(self, seconds: float = APPROVAL_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[tuple[str, str], asyncio.Future[Decision]] = {}
        self._possible: Counter[str] = Counter()

    @contextmanager
    def possible(self, session: str) -> Generator[None]:
        """Calls of this session may wait during the block: people see its events."""
        # A cancelled turn may still be ending when the next turn of its session has begun.
        self._possible[session] += 1
        try:
            yield
        finally:
            self._possible[session] -= 1
            self._possible += Counter()  # drops sessions at zero

    @staticmethod
    @contextmanager
    def asked_by(*, suspends: bool) -> Generator[None]:
        """Runs that start in the block ask as a durable run does, if `suspends`.

        A durable run is suspended while a call waits; it waits in no process.
        """
        token = _SUSPENDS.set(suspends)
        try:
            yield
        finally:
            _SUSPENDS.reset(token)

    async def ask(self, call: ToolCall, emit: Emit) -> Decision:
        """Wait for the answer; refused at once if nobody sees the session's events."""
        session = session_id()
        if session not in self._possible:
            return _NOBODY
        key = session, call.id
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        emit(ApprovalWanted(call))
        try:
            decision = await asyncio.wait_for(answer, self._seconds)
        except TimeoutError:
            decision = LATE
        finally:
            del self._waiting[key]
        emit(ApprovalGiven(call, decision))
        return decision

    def answer(self, session: str, call_id: str, decision: Decision) -> bool:
        """Answer a call that waits; False if it does not wait."""
        waiting = self._waiting.get((session, call_id))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        return True


class AskPerson(Approval):
    """Asks a person through the turn's own events, in their order.

    Args:
        approvals: Where the calls wait.
    """

    def __init__(self, approvals: Approvals) -> None:
        super().__init__()
        self._approvals = approvals

    def steer(self, run: RunControl) -> Middleware:
        """Ask through the events of this run."""
        if _SUSPENDS.get():
            return _bound_to_suspend(run)

        async def ask(call: ToolCall) -> Decision:
            # The stream passes on any event; its readers here know these two as well.
            return await self._approvals.ask(call, cast("Emit", run.emit))

        return Approval(ask).steer(run)


def _bound_to_suspend(run: RunControl) -> Middleware:
    """Let the durable run ask, and emit the events of it."""
    asking, emit = run.wrap_ask, cast("Emit", run.emit)

    def with_events(
        ask: Callable[[ToolCall], Awaitable[Any]],
    ) -> Callable[[ToolCall], Awaitable[Any]]:
        question = asking(ask)

        async def ask_with_events(call: ToolCall) -> Decision:
            emit(ApprovalWanted(call))
            decision = cast("Decision", await question(call))
            emit(ApprovalGiven(call, decision))
            return decision

        return ask_with_events

    run.wrap_ask = with_events
    try:
        return Approval().steer(run)
    finally:
        run.wrap_ask = asking

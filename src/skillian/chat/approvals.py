"""Calls of tools that wait for a person's yes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from skillian.skills.skill import session_id
from tinyagent import Approval, Decision, Middleware, ToolCall
from tinyagent.core import RunControl

APPROVAL_SECONDS = 1800.0

_NOBODY = Decision(approved=False, reason="there is nobody here to approve it")
LATE = Decision(approved=False, reason="nobody answered in time")


@dataclass(frozen=True, slots=True)
class ApprovalWanted:
    """A call waits for a yes."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """It waits no more."""

    call: ToolCall
    decision: Decision


Tell = Callable[[ApprovalWanted | ApprovalGiven], None]


class Approvals:
    """The calls of this process that wait, by session.

    Args:
        seconds: how long each waits; then the answer is no.
    """

    def __init__(self, seconds: float = APPROVAL_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[tuple[str, str], asyncio.Future[Decision]] = {}
        self._heard: defaultdict[str, list[bool]] = defaultdict(list)

    @contextmanager
    def heard(self, session: str, *, put_away: bool = False) -> Generator[None]:
        """Calls of this session may wait during the block: people are shown its events.

        Args:
            session: whose calls.
            put_away: whether its run is a durable one, which waits in no process.
        """
        # A turn that was cancelled may still be ending when the session's next one has begun.
        ways = self._heard[session]
        ways.append(put_away)
        try:
            yield
        finally:
            ways.remove(put_away)
            if not ways:
                self._heard.pop(session, None)

    def puts_away(self, session: str) -> bool:
        """Whether a run of this session is put away while it waits."""
        return any(self._heard.get(session, ()))

    async def ask(self, call: ToolCall, tell: Tell) -> Decision:
        """Wait for the answer, and tell that; no at once where nobody would hear of it."""
        session = session_id()
        if session not in self._heard:
            return _NOBODY
        key = session, call.id
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        tell(ApprovalWanted(call))
        try:
            decision = await asyncio.wait_for(answer, self._seconds)
        except TimeoutError:
            decision = LATE
        finally:
            del self._waiting[key]
        tell(ApprovalGiven(call, decision))
        return decision

    def answer(self, session: str, call_id: str, decision: Decision) -> bool:
        """Answer a call that waits; False where it does not."""
        waiting = self._waiting.get((session, call_id))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        return True


class AskPerson(Approval):
    """Asks a person through the turn's own events, in their order.

    Args:
        approvals: where the calls wait.
    """

    def __init__(self, approvals: Approvals) -> None:
        super().__init__()
        self._approvals = approvals

    def steer(self, run: RunControl) -> Middleware:
        """Know the run whose events tell of its calls."""
        if self._approvals.puts_away(session_id()):
            return _bound_to_wait(run)

        async def ask(call: ToolCall) -> Decision:
            # The stream hands on what it is given; its readers here know these two as well.
            return await self._approvals.ask(call, cast("Tell", run.emit))

        return Approval(ask).steer(run)


def _bound_to_wait(run: RunControl) -> Middleware:
    """Leave the asking to the durable run, and tell of it."""
    asking, tell = run.wrap_ask, cast("Tell", run.emit)

    def telling(ask: Callable[[ToolCall], Awaitable[Any]]) -> Callable[[ToolCall], Awaitable[Any]]:
        question = asking(ask)

        async def told(call: ToolCall) -> Decision:
            tell(ApprovalWanted(call))
            decision = cast("Decision", await question(call))
            tell(ApprovalGiven(call, decision))
            return decision

        return told

    run.wrap_ask = telling
    try:
        return Approval().steer(run)
    finally:
        run.wrap_ask = asking

"""DurableTurns: turns that survive the process that works on them (extra `durable`).

A turn is one durable run, named by its session and number. A server stores the question, enqueues
the run, and reads along; whichever process takes the run holds the turn. Where that process dies,
another goes through the turn again: the run's journal answers what was done, and the store is told
only what is new.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from skillian.chat.approvals import LATE
from skillian.chat.durable_work import DurableWork, answering, result_of
from skillian.chat.sessions import follow
from skillian.chat.turns import FAILED, TurnRunner
from skillian.storage import (
    HANDED_SECONDS,
    SessionStore,
    StoreUnavailable,
    TooManyWaiting,
    TurnEvent,
    TurnLost,
)
from tinyagent import Decision, RunResult, TinyAgentError

if TYPE_CHECKING:
    from tinyagent.durable import DurableState, Question, RunRecord

logger = logging.getLogger("skillian")

TURN = "skillian-turns"
APPROVAL_SECONDS = HANDED_SECONDS - 86400.0
"""How long a call waits for a person's yes, in no process; then the answer is no."""

MAX_WAITING = 200
"""How many turns of an owner may wait to be worked on."""

_ASKED_SECONDS = 10.0
_ALL = 100_000


class DurableTurns:
    """Runs turns, here and in any number of other processes at one store.

    Args:
        work: what they are work of.
        turns: works on a turn.
        store: where sessions are kept.
        at_once: how many turns are worked on here at once.
    """

    def __init__(
        self, work: DurableWork, turns: TurnRunner, store: SessionStore, at_once: int
    ) -> None:
        self._work = work
        self._turns = turns
        self._store = store
        self._over: set[str] = set()
        work.add(TURN, self._go_through, at_once=at_once, per_owner=at_once, tend=self._settle)

    async def run_turn(
        self, session_id: str, owner: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events as they are stored, whoever works on it; the last is `turn_ended`.

        Leaving early leaves the turn to itself; `cancel` ends it.

        Raises:
            SessionNotFound: the owner has no such session.
            SessionBusy: the turns in front took too long.
            MessageTooLong: the message is.
            TooManyWaiting: as many turns of the owner wait already as may.
            TurnLost: the session was deleted.
        """
        if await self._work.waiting(TURN, owner, MAX_WAITING) == MAX_WAITING:
            raise TooManyWaiting("turns", MAX_WAITING)
        async with self._turns.opened(session_id, owner, message) as turn:
            await self._enqueue(session_id, turn.number, owner)
            await turn.hand_over(HANDED_SECONDS)
        for event in turn.opened:
            yield event
        after = turn.opened[-1].number
        async with aclosing(follow(self._store, session_id, owner, after)) as events:
            async for event in events:
                if event.turn != turn.number:
                    break
                yield event
                if event.type == "turn_ended":
                    return
        raise TurnLost

    async def cancel(self, session_id: str) -> None:
        """End the session's turn under way; who works on it learns of it within seconds."""
        number = await self._store.cancel_turn(session_id)
        if number is not None:
            with suppress(TinyAgentError):  # it has not begun, or has ended
                await self._work.runs.cancel(_run_id(session_id, number))

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> bool:
        """Answer a call of the session's turn under way; False where it does not wait."""
        wanted = await self._wanted(session_id, call_id)
        if wanted is None:
            return False
        run_id = _run_id(session_id, wanted.turn)
        try:
            with answering():
                # It is told that a call waits, a moment before it does.
                record = await self._work.runs.wait(run_id, timeout=_ASKED_SECONDS)
                question = _question_of(wanted, record.questions)
                if question is None:
                    return False
                await self._work.runs.approve(
                    run_id,
                    approved=decision.approved,
                    reason=decision.reason,
                    call=question.place,
                )
        except (TinyAgentError, TimeoutError):  # it has ended, or another answer was first
            return False
        return True

    async def _wanted(self, session_id: str, call_id: str) -> TurnEvent | None:
        """The event that says that the call waits."""
        number = await self._store.running_turn(session_id)
        events = () if number is None else await self._store.events_of(session_id, number)
        of_call = [event for event in events if event.data.get("id") == call_id]
        asked = [event for event in of_call if event.type.startswith("approval_")]
        return asked[-1] if asked and asked[-1].type == "approval_wanted" else None

    async def _go_through(self, task: str) -> RunResult[Any]:
        """Go through the turn that the task names to its end, within its run."""
        session_id, number = turn_of(task)

        async def is_ours() -> bool:
            return await self._work.is_ours(_run_id(session_id, number))

        result: RunResult[Any] | None = None
        try:
            async with self._store.taken_over(session_id, number, is_ours) as turn:
                result = await self._turns.go_on(turn, session_id)
        except TurnLost:
            logger.info("turn %d of a session was ended by others", number)
        except (StoreUnavailable, SQLAlchemyError):
            # The run is not over: it is put back, and the turn gone through again.
            raise asyncio.CancelledError from None
        except Exception:
            logger.exception("turn %d of a session failed", number)
            await self._store.cancel_turn(session_id, number)
            return result_of(error=FAILED)
        return result_of(cancelled=True) if result is None else result

    async def _enqueue(self, session_id: str, number: int, owner: str) -> None:
        task = json.dumps({"session_id": session_id, "turn": number})
        await self._work.enqueue(TURN, task, _run_id(session_id, number), owner)

    async def _settle(self) -> None:
        """See to turns that would otherwise wait for ever."""
        # Of a call in doubt the model is told, and says so.
        for record in await self._listed("needs_decision"):
            for question in record.questions:
                with suppress(TinyAgentError):  # another process was first
                    await self._work.runs.decide(record.run_id, "skip", call=question.place)
        for record in await self._listed("waiting"):
            with suppress(TinyAgentError):
                await self._see_to(record)
        # Nobody takes up a run that was ended from outside, or has taken its process with it often.
        over = (*await self._listed("cancelled"), *await self._listed("lost"))
        for record in over:
            if record.run_id not in self._over:
                await self._store.cancel_turn(*turn_of(record.task))
        self._over = {record.run_id for record in over}

    async def _see_to(self, waiting: RunRecord) -> None:
        """End the waiting of a run whose turn is over, or which has waited for too long."""
        session_id, number = turn_of(waiting.task)
        if await self._store.running_turn(session_id) != number:
            await self._work.runs.cancel(waiting.run_id)
            return
        late = datetime.now(UTC) - timedelta(seconds=APPROVAL_SECONDS)
        for question in waiting.questions:
            if question.asked < late:
                await self._work.runs.approve(
                    waiting.run_id, approved=False, reason=LATE.reason, call=question.place
                )

    async def _listed(self, state: DurableState) -> Sequence[RunRecord]:
        return await self._work.runs.list(state=state, agent=TURN, limit=_ALL)


def turn_of(task: str) -> tuple[str, int]:
    """The session and the number of the turn that a task names."""
    named = json.loads(task)
    return named["session_id"], named["turn"]


def _question_of(wanted: TurnEvent, questions: Sequence[Question]) -> Question | None:
    """The question that the event tells of; what was stored of arguments may be cut or mended."""
    of_tool = [each for each in questions if each.tool == wanted.data["tool"]]
    same = [each for each in of_tool if each.arguments == wanted.data["args"]]
    meant = same or (of_tool if len(of_tool) == 1 else [])
    return meant[0] if meant else None


def _run_id(session_id: str, number: int) -> str:
    return f"{session_id}-{number}"

"""TurnRunner: one message of a session from the question to the answer, stored as it happens."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from skillian.chat.approvals import Approvals
from skillian.chat.batches import Batches
from skillian.chat.conversation import Conversation
from skillian.chat.resumed import ResumedRecord
from skillian.chat.turn_events import Check, TurnRecord
from skillian.skills.skill import in_session
from skillian.storage import (
    CANCELLED,
    Draft,
    HandedTurn,
    MessageTooLong,
    SessionStore,
    StorageError,
    Turn,
    TurnEvent,
    TurnLost,
)
from tinyagent import Event, RunResult

logger = logging.getLogger("skillian")

TURN_SECONDS = 600.0
FAILED = "This turn failed; the reason is in the log of skillian."


class Streams(Protocol):
    """What a turn needs of an agent; `chat.agent.Agent` is one."""

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        """The turn as tinyagent's events while it happens."""
        ...


class TurnRunner:
    """Runs turns, one at a time in each session, across all processes at one store.

    Args:
        agent_factory: gives the agent of a turn.
        store: where sessions are kept.
        approvals: where calls wait that a person is to approve; without it they are refused.
        check: looks up the answer's numbers in the tool results.
        turn_seconds: how long a turn waits for those in front of it.
    """

    def __init__(
        self,
        agent_factory: Callable[[], Streams],
        store: SessionStore,
        *,
        approvals: Approvals | None = None,
        check: Check | None = None,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self._agent_factory = agent_factory
        self._store = store
        self._approvals = approvals or Approvals()
        self._check = check
        self._turn_seconds = turn_seconds

    async def run_turn(
        self, session_id: str, owner: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events, each stored before it is given; the last is `turn_ended`.

        Leaving early, or cancelling the task, cancels the run and ends the turn: its message is
        kept, and the stored events end with `turn_failed` and `turn_ended`.

        Raises:
            SessionNotFound: the owner has no such session.
            SessionBusy: the turns in front took longer than `turn_seconds`.
            MessageTooLong: the message is.
            TurnLost: others took this process for dead, or the session was deleted.
        """
        async with self.opened(session_id, owner, message) as turn:
            for event in turn.opened:
                yield event
            async with aclosing(self._work(turn, session_id, TurnRecord(message))) as events:
                async for event in events:
                    yield event

    async def cancel(self, session_id: str) -> None:
        """End the session's turn under way, whoever holds it; that one learns of it in seconds."""
        await self._store.cancel_turn(session_id)

    @asynccontextmanager
    async def opened(self, session_id: str, owner: str, message: str) -> AsyncGenerator[Turn]:
        """Hold the session's turn during the block, its message stored; raises as `run_turn`."""
        await self._store.get(owner, session_id)
        asked = [{"role": "user", "content": message}]
        started = [Draft("turn_started", {"message": message})]
        async with self._store.turn(session_id, asked, started, seconds=self._turn_seconds) as turn:
            yield turn

    async def go_on(self, turn: HandedTurn, session_id: str) -> RunResult[Any] | None:
        """Go through a turn that was begun before, and store what is new of it, to its end.

        Gives what the agent came to, if it came to anything. Cancelled, the turn is left as it is.

        Raises:
            TurnLost: it is not ours any more, or was cancelled.
            StoreUnavailable: it cannot be stored.
        """
        record = ResumedRecord(turn.question, stored=turn.stored, kept=turn.kept)
        if restarts := record.restarts():
            await turn.write((), restarts)
        async with aclosing(self._work(turn, session_id, record)) as events:
            async for _ in events:
                pass
        return record.result

    async def _work(
        self, turn: Turn, session_id: str, record: TurnRecord
    ) -> AsyncGenerator[TurnEvent, None]:
        try:
            conversation = Conversation.from_list(turn.history)
            with in_session(session_id):
                # The task that reads the stream stays in the session that it is started in.
                reading = Batches(self._agent_factory().stream(record.question, conversation))
            async with reading as batches:
                turn.on_lost = batches.stop
                put_away = isinstance(turn, HandedTurn)
                with self._approvals.heard(session_id, put_away=put_away):
                    while not record.is_answered and (batch := await batches.next()):
                        record.read(batch)
                        # What comes with the end is stored with the end.
                        if record.result is None and any(new := record.taken()):
                            for event in await turn.write(*new):
                                yield event
            ended = await self._end(turn, record)
        except MessageTooLong as error:
            ended = await turn.break_off("runtime_error", f"This turn failed: {error}.")
        except StorageError:
            raise  # there is no place to tell of it but the caller
        except Exception:
            logger.exception("turn %d of a session failed", turn.number)
            ended = await turn.break_off("runtime_error", FAILED)
        for event in ended:
            yield event

    async def _end(self, turn: Turn, record: TurnRecord) -> tuple[TurnEvent, ...]:
        result = record.result
        if result is None or not record.is_answered:
            if turn.is_lost:
                raise TurnLost
            return await turn.break_off("cancelled", CANCELLED)
        answer = record.answer(self._check)
        messages, drafts = record.taken()
        said = record.said(answer["content"])
        return await turn.finish([*messages, said], [*drafts, Draft("answer", answer)])

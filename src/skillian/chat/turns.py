"""TurnRunner: one message of a session from the question to the answer, stored as it happens."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from skillian.chat.batches import Batches
from skillian.chat.conversation import Conversation
from skillian.chat.turn_events import Check, TurnRecord
from skillian.skills.session import in_session
from skillian.storage import (
    CANCELLED,
    Draft,
    MessageTooLong,
    SessionStore,
    StorageError,
    Turn,
    TurnEvent,
    TurnLost,
)
from tinyagent import Event

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
        check: looks up the answer's numbers in the tool results.
        turn_seconds: how long a turn waits for those in front of it.
    """

    def __init__(
        self,
        agent_factory: Callable[[], Streams],
        store: SessionStore,
        *,
        check: Check | None = None,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self._agent_factory = agent_factory
        self._store = store
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
        await self._store.get(owner, session_id)
        asked = [{"role": "user", "content": message}]
        started = [Draft("turn_started", {"message": message})]
        async with self._store.turn(session_id, asked, started, seconds=self._turn_seconds) as turn:
            for event in turn.opened:
                yield event
            async with aclosing(self._work(turn, session_id, message)) as events:
                async for event in events:
                    yield event

    async def _work(
        self, turn: Turn, session_id: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        record = TurnRecord(message)
        try:
            conversation = Conversation.from_list(turn.history)
            with in_session(session_id):
                # The task that reads the stream stays in the session that it is started in.
                reading = Batches(self._agent_factory().stream(message, conversation))
            async with reading as batches:
                turn.on_lost = batches.stop
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
        said = {"role": "assistant", "content": answer["content"]}
        return await turn.finish([*messages, said], [*drafts, Draft("answer", answer)])

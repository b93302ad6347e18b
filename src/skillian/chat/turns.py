"""Turns: one message of a session from the question to the answer, stored as it happens.

`Turns` is what the service and the page use. `LocalTurns` works on a turn in the process that was
asked; `chat.durable_turns.DurableTurns` hands it to a durable run. Both use `TurnWork`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from skillian.chat.agent import Approvals, Conversation
from skillian.chat.resumed import ResumedRecord
from skillian.chat.turn_events import Batches, Check, TurnRecord, Verify
from skillian.skills.skill import in_session
from skillian.storage import (
    CANCELLED,
    MAX_EVENTS,
    Draft,
    HeldTurn,
    MessageTooLong,
    SessionStore,
    StorageError,
    TurnEvent,
    TurnLost,
)
from tinyagent import Decision, Event, RunResult

logger = logging.getLogger("skillian")

TURN_SECONDS = 600.0
FAILED = "This turn failed; the reason is in the log of skillian."
POLL_SECONDS = 0.1
# The store reports changes made in this process; polling only notices that a holder has died.
_LOCAL_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """A turn in progress, or one that ended a short time ago.

    `state` is one of `tinyagent.durable.DurableState`. Times are in ISO 8601.
    """

    session_id: str
    number: int
    title: str
    state: str
    created: str
    updated: str
    error: str | None = None


class Turns(Protocol):
    """Runs turns, one at a time in each session, across all processes at one store."""

    def run(self, session_id: str, owner: str, message: str) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events, each stored before it is yielded; the last is `turn_ended`.

        Raises:
            SessionNotFound: The owner has no such session.
            SessionBusy: The turns ahead of it took too long.
            MessageTooLong: The message is too long.
            TooManyWaiting: Too many turns of the owner wait already.
            TurnLost: The session was deleted, or another process took this one for dead.
        """
        ...

    async def cancel(self, session_id: str, number: int | None = None) -> None:
        """End the session's running turn, or only turn `number`, whichever process works on it."""
        ...

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> bool:
        """Answer a call of the running turn that waits for approval; False if it does not wait."""
        ...

    async def list(self, owner: str, limit: int) -> Sequence[TurnStatus]:
        """The owner's turns that are known to be running, or ended within the last hour."""
        ...

    async def get(self, owner: str, session_id: str, number: int) -> TurnStatus | None:
        """One of these turns; None if the owner has no such turn among them."""
        ...


class StreamingAgent(Protocol):
    """What a turn needs of an agent; `chat.agent.Agent` is one."""

    model_name: str

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        """The turn as tinyagent's events while it happens."""
        ...


class TurnWork:
    """Works on a turn: takes it, runs the agent, stores what happens.

    Args:
        agent: Answers.
        store: Where sessions are kept.
        approvals: Where calls wait for a person; without it they are refused.
        check: Looks up the numbers of an answer in the tool results.
        verify: Compares answers with those that the team has verified.
        turn_seconds: How long a turn waits for those ahead of it.

    Attributes:
        agent: Answers the turns that begin from now on; it may be replaced.
    """

    def __init__(
        self,
        agent: StreamingAgent,
        store: SessionStore,
        *,
        approvals: Approvals | None = None,
        check: Check | None = None,
        verify: Verify | None = None,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self.agent = agent
        self.store = store
        self.approvals = approvals or Approvals()
        self._check = check
        self._verify = verify
        self._turn_seconds = turn_seconds

    @asynccontextmanager
    async def opened(self, session_id: str, owner: str, message: str) -> AsyncGenerator[HeldTurn]:
        """Hold the session's turn during the block, its message stored; raises as `Turns.run`."""
        await self.store.get(owner, session_id)
        messages = [{"role": "user", "content": message}]
        started = [Draft("turn_started", {"message": message})]
        async with self.store.turn(
            session_id, messages, started, seconds=self._turn_seconds
        ) as turn:
            yield turn

    async def go_on(self, turn: HeldTurn) -> RunResult[Any] | None:
        """Work on a turn that another process may have begun, within a durable run.

        Only what is not stored yet is stored. If the task is cancelled, the turn is left as it is.

        Returns:
            The agent's result, if it came to one.

        Raises:
            TurnLost: The turn is not ours any more, or was cancelled.
            StoreUnavailable: It cannot be stored.
        """
        record = ResumedRecord(
            turn.question, stored=turn.stored, messages_stored=turn.messages_stored
        )
        if restarts := record.restarts():
            await turn.write((), restarts)
        async with aclosing(self.events(turn, record, suspends=True)) as events:
            async for _ in events:
                pass
        return record.result

    async def events(
        self, turn: HeldTurn, record: TurnRecord, *, suspends: bool = False
    ) -> AsyncGenerator[TurnEvent, None]:
        """The events that are added to the turn, each once it is stored.

        Args:
            turn: The turn, held by this process.
            record: Reads the agent's events.
            suspends: Whether the turn is suspended while a call waits for approval.
        """
        try:
            conversation = Conversation.from_list(turn.history)
            # The task that reads the stream keeps the context that it is started in.
            with in_session(turn.session_id), self.approvals.asked_by(suspends=suspends):
                reading = Batches(self.agent.stream(record.question, conversation))
            async with reading as batches:
                turn.on_lost = batches.stop
                if turn.is_lost:
                    batches.stop()
                with self.approvals.possible(turn.session_id):
                    while not record.is_answered and (batch := await batches.next()):
                        record.read(batch)
                        # What comes with the end is stored with the end.
                        if record.result is None and any(new := record.taken()):
                            for event in await turn.write(*new):
                                yield event
            last = await self._end(turn, record)
        except MessageTooLong as error:
            last = await turn.break_off("runtime_error", f"This turn failed: {error}.")
        except StorageError:
            raise  # it cannot be stored either
        except Exception:
            logger.exception("turn %d of a session failed", turn.number)
            last = await turn.break_off("runtime_error", FAILED)
        for event in last:
            yield event

    async def _end(self, turn: HeldTurn, record: TurnRecord) -> tuple[TurnEvent, ...]:
        result = record.result
        if result is None or not record.is_answered:
            if turn.is_lost:
                raise TurnLost
            return await turn.break_off("cancelled", CANCELLED)
        answer = record.answer(self._check, self._verify)
        messages, drafts = record.taken()
        closing = record.closing_message(answer["content"])
        return await turn.finish([*messages, closing], [*drafts, Draft("answer", answer)])


class LocalTurns:
    """`Turns` in the process that is asked.

    Leaving the events of a turn early, or cancelling the task that reads them, cancels the turn:
    its message is kept, and its stored events end with `turn_failed` and `turn_ended`.

    Args:
        work: Works on a turn.
        hold: Entered around each turn; it may refuse by raising.
    """

    def __init__(
        self, work: TurnWork, hold: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> None:
        self._work = work
        self._store = work.store
        self._hold = hold

    async def run(
        self, session_id: str, owner: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events; see `Turns.run`."""
        with self._hold():
            async with self._work.opened(session_id, owner, message) as turn:
                last = 0
                for event in turn.stored:
                    last = event.number
                    yield event
                try:
                    async with aclosing(self._work.events(turn, TurnRecord(message))) as events:
                        async for event in events:
                            last = event.number
                            yield event
                except TurnLost:
                    rest = await self._store.events_of(session_id, turn.number)
                    if not rest:  # the session was deleted
                        raise
                    for event in rest:
                        if event.number > last:
                            yield event

    async def cancel(self, session_id: str, number: int | None = None) -> None:
        """End the session's running turn; see `Turns.cancel`."""
        await self._store.cancel_turn(session_id, number)

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> bool:
        """Answer a call that waits in this process."""
        return self._work.approvals.answer(session_id, call_id, decision)

    async def list(self, owner: str, limit: int) -> Sequence[TurnStatus]:
        """The owner's running turns, in all processes."""
        return [
            TurnStatus(record.id, number, record.title, "running", record.updated, record.updated)
            for record, number in await self._store.running_turns(owner, limit)
        ]

    async def get(self, owner: str, session_id: str, number: int) -> TurnStatus | None:
        """One of them."""
        running = await self.list(owner, _ALL)
        return next(
            (turn for turn in running if (turn.session_id, turn.number) == (session_id, number)),
            None,
        )


_ALL = 100_000


async def follow(
    store: SessionStore, session_id: str, owner: str, after: int = 0
) -> AsyncGenerator[TurnEvent, None]:
    """The events with a number above `after`: the stored ones, then new ones as they are stored.

    Ends when no turn is running in any process. A turn whose process has died ends when its lease
    does.

    Raises:
        SessionNotFound: The owner has no such session.
    """
    await store.get(owner, session_id)
    while True:
        alarm = store.alarm(session_id)
        progress = await store.progress(session_id, after)
        for event in progress.events:
            after = event.number
            yield event
        if len(progress.events) == MAX_EVENTS:
            continue
        if not progress.is_running:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOCAL_POLL_SECONDS if progress.is_here else POLL_SECONDS):
                await alarm.wait()

"""DurableTurns: turns that survive the process that works on them (extra `durable`).

A turn is one durable run, named by its session and number. A server stores the question, enqueues
the run, and reads along; whichever process takes the run holds the turn. Where that process dies,
another goes through the turn again: the run's journal answers what was done, and the store is told
only what is new.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from skillian.chat.approvals import APPROVAL_SECONDS, LATE
from skillian.chat.sessions import follow
from skillian.chat.turns import TurnRunner
from skillian.errors import UnavailableError
from skillian.storage import (
    HANDED_SECONDS,
    SessionStore,
    StoreUnavailable,
    TurnEvent,
    TurnLost,
)
from tinyagent import Decision, Event, Memory, RunFinished, RunResult, TinyAgentError, Usage

if TYPE_CHECKING:
    from tinyagent.durable import DurableRuns

logger = logging.getLogger("skillian")

TURN = "skillian.turn"
QUEUE = "skillian-turns"
KEPT = timedelta(hours=1)
"""How long the journal of a turn is kept that has ended."""

_POLL_SECONDS = 0.1
_DRAIN_SECONDS = 10.0
_TEND_SECONDS = 5.0


class DurableTurns:
    """Runs turns, here and in any number of other processes at one store; a context manager.

    Args:
        turns: works on a turn.
        store: where sessions are kept.
        url: the store's; the runs are in the same PostgreSQL, or in a file beside the store's.
        at_once: how many turns are worked on here at once.

    Raises:
        UnavailableError: the extra `durable` is not installed.
    """

    def __init__(self, turns: TurnRunner, store: SessionStore, url: str, at_once: int) -> None:
        if find_spec("dbos") is None:
            raise UnavailableError(
                "durable turns need an extra; install it with:"
                " pip install 'tinyagent-skillian[durable]'"
            )
        from tinyagent.durable import DurableRuns, QueueOptions  # noqa: PLC0415 - an extra

        options = QueueOptions(per_worker=at_once, poll_seconds=_POLL_SECONDS)
        self._turns = turns
        self._store = store
        self._ending = asyncio.Event()
        runs = runs_url(url)
        self._file = Path(runs.removeprefix("sqlite:///")) if runs.startswith("sqlite") else None
        self._runs: DurableRuns = DurableRuns(
            runs,
            {TURN: _TurnAgent(self)},
            queues={QUEUE: options},
            drain_seconds=_DRAIN_SECONDS,
        )

    async def __aenter__(self) -> Self:
        """Take turns, those of processes that have died too."""
        if self._file is not None:  # what was said is nobody else's business
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch(mode=0o600)
        await self._runs.__aenter__()
        self._tending = asyncio.create_task(self._tend())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the calls under way end, and leave the turns that are not over to others."""
        self._ending.set()  # to cancel it would leave connections behind
        await asyncio.wait([self._tending])
        await self._runs.__aexit__(kind, error, trace)

    async def run_turn(
        self, session_id: str, owner: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events as they are stored, whoever works on it; the last is `turn_ended`.

        Leaving early leaves the turn to itself; `cancel` ends it.

        Raises:
            SessionNotFound: the owner has no such session.
            SessionBusy: the turns in front took too long.
            MessageTooLong: the message is.
            TurnLost: the session was deleted.
        """
        async with self._turns.opened(session_id, owner, message) as turn:
            await self._enqueue(session_id, turn.number)
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
                await self._runs.cancel(_run_id(session_id, number))

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> bool:
        """Answer a call of the session's turn under way; False where it does not wait."""
        wanted = await self._wanted(session_id, call_id)
        if wanted is None:
            return False
        run_id = _run_id(session_id, wanted.turn)
        try:
            # It is told that a call waits, a moment before it does.
            record = await self._runs.wait(run_id, timeout=_POLL_SECONDS * 100)
            for question in record.questions:
                if (question.tool, question.arguments) == (
                    wanted.data["tool"],
                    wanted.data["args"],
                ):
                    await self._runs.approve(
                        run_id,
                        approved=decision.approved,
                        reason=decision.reason,
                        call=question.place,
                    )
                    return True
        except (TinyAgentError, TimeoutError):  # it has ended, or another answer was first
            return False
        return False

    async def _wanted(self, session_id: str, call_id: str) -> TurnEvent | None:
        """The event that says that the call waits."""
        number = await self._store.running_turn(session_id)
        events = () if number is None else await self._store.events_of(session_id, number)
        of_call = [event for event in events if event.data.get("id") == call_id]
        asked = [event for event in of_call if event.type.startswith("approval_")]
        return asked[-1] if asked and asked[-1].type == "approval_wanted" else None

    async def work_on(self, session_id: str, number: int) -> RunResult[Any]:
        """Go through a turn to its end, within its run."""

        async def is_ours() -> bool:
            # In a context of its own: what is read within a run would be a step of it.
            reading = self._runs.get(_run_id(session_id, number))
            record = await asyncio.create_task(reading, context=contextvars.Context())
            return record.executor_id == self._runs.executor_id

        result: RunResult[Any] | None = None
        try:
            async with self._store.taken_over(session_id, number, is_ours) as turn:
                result = await self._turns.go_on(turn, session_id)
        except TurnLost:
            logger.info("turn %d of a session was ended by others", number)
        except StoreUnavailable:
            # The run is not over: it is put back, and the turn gone through again.
            raise asyncio.CancelledError from None
        return _nothing() if result is None else result

    async def _enqueue(self, session_id: str, number: int) -> None:
        task = json.dumps({"session_id": session_id, "turn": number})
        try:
            await self._runs.start(TURN, task, run_id=_run_id(session_id, number), queue=QUEUE)
        except SQLAlchemyError as error:
            logger.error("a turn could not be enqueued: %s", type(error).__name__)  # noqa: TRY400 - it may name the database
            raise StoreUnavailable(
                "the database of the turns does not answer; the reason is in skillian's log"
            ) from None

    async def _tend(self) -> None:
        forgotten = 0.0
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _TEND_SECONDS)
            try:
                await self._settle()
                if monotonic() > forgotten + KEPT.total_seconds():
                    await self._runs.forget(KEPT)
                    forgotten = monotonic()
            except SQLAlchemyError as error:  # what is under way waits for it
                logger.warning("the turns are not tended now: %s", type(error).__name__)

    async def _settle(self) -> None:
        """Go on with turns that have met a call in doubt: the model is told, and says so."""
        await self._runs.tend()
        for record in await self._runs.list(state="needs_decision", agent=TURN):
            for question in record.questions:
                with suppress(TinyAgentError):  # another process was first
                    await self._runs.decide(record.run_id, "skip", call=question.place)
        late = datetime.now(UTC) - timedelta(seconds=APPROVAL_SECONDS)
        for record in await self._runs.list(state="waiting", agent=TURN):
            for question in record.questions:
                if question.asked < late:
                    with suppress(TinyAgentError):
                        await self._runs.approve(
                            record.run_id, approved=False, reason=LATE.reason, call=question.place
                        )


class _TurnAgent:
    """What durable runs are of: turns."""

    def __init__(self, turns: DurableTurns) -> None:
        self._turns = turns

    async def run(self, task: str, **_: Any) -> RunResult[Any]:
        """Work on the turn that the task names."""
        named = json.loads(task)
        return await self._turns.work_on(named["session_id"], named["turn"])

    async def stream(self, task: str, **_: Any) -> AsyncGenerator[Event, None]:
        """The same; the turn's events are in the store."""
        yield RunFinished(await self.run(task))


def runs_url(url: str) -> str:
    """Where the runs of the store at this URL are: a file beside an SQLite file, or the same."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        stem, dot, suffix = parsed.database.rpartition(".")
        named = f"{stem}-runs.{suffix}" if dot and "/" not in suffix else f"{parsed.database}-runs"
        return parsed.set(database=named).render_as_string()
    return parsed.set(drivername="postgresql").render_as_string(hide_password=False)


def _run_id(session_id: str, number: int) -> str:
    return f"{session_id}-{number}"


def _nothing() -> RunResult[Any]:
    return RunResult(None, "cancelled", 0, 0.0, Usage(), Memory())

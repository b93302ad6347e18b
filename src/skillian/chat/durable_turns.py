"""DurableTurns: turns that survive the process that works on them (extra `durable`).

A turn is one durable run, named by its session and number. A server stores the question, enqueues
the run and reads the turn's events; the process that takes the run holds the turn. If that process
dies, another goes through the turn again: the run's journal answers the calls that were made, and
only events that are not stored yet are stored (`chat.resumed`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from contextvars import Context
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from skillian.chat.agent import LATE
from skillian.chat.turns import FAILED, TurnStatus, TurnWork, follow
from skillian.errors import UnavailableError, missing_extra
from skillian.private_files import create_private
from skillian.storage import (
    HANDED_OVER_SECONDS,
    SessionNotFound,
    StorageError,
    StoreUnavailable,
    TooManyWaiting,
    TurnEvent,
    TurnLost,
)
from tinyagent import Decision, Event, Memory, RunFinished, RunResult, TinyAgentError, Usage

if TYPE_CHECKING:
    from tinyagent.durable import DurableRuns, DurableState, Question, RunRecord

logger = logging.getLogger("skillian")

TURN = "skillian-turns"
"""The agent and the queue of the runs."""
APPROVAL_SECONDS = HANDED_OVER_SECONDS - 86400.0
"""How long a call waits for approval, without a process, before it is refused."""
MAX_WAITING = 200
"""The maximum number of queued turns of an owner."""
KEPT = timedelta(hours=1)
"""How long a run that has ended is kept, with its journal."""

_QUESTION_SECONDS = 10.0
_POLL_SECONDS = 0.1
_DRAIN_SECONDS = 10.0
_TEND_SECONDS = 5.0
_FORGET_SECONDS = 300.0
_ALL = 100_000
_RUN_FAILED = "It failed; the reason is in the log of skillian."

T = TypeVar("T")


class DurableTurns:
    """`Turns` in this process and any number of others at one store; an async context manager.

    Args:
        work: Works on a turn.
        url: The session store's; the runs are in the same PostgreSQL, or in a file next to it.
        at_once: The maximum number of turns that run in this process at the same time.

    Raises:
        UnavailableError: The extra `durable` is not installed.
    """

    def __init__(self, work: TurnWork, url: str, at_once: int) -> None:
        if find_spec("dbos") is None:
            raise UnavailableError(missing_extra("SKILLIAN_DURABLE", "durable"))
        self._work = work
        self._store = work.store
        self._url = runs_url(url)
        self._at_once = at_once
        self._settled: set[str] = set()
        self._forgotten = -math.inf
        self._ending = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Take turns, those of processes that have died too."""
        from tinyagent.durable import DurableRuns, QueueOptions  # noqa: PLC0415 - an extra

        if self._url.startswith("sqlite"):
            file = Path(self._url.removeprefix("sqlite:///"))
            file.parent.mkdir(parents=True, exist_ok=True)
            create_private(file)  # it holds the texts of conversations
        options = QueueOptions(
            per_worker=self._at_once, per_key=self._at_once, poll_seconds=_POLL_SECONDS
        )
        self._worker: DurableRuns = DurableRuns(
            self._url,
            {TURN: _TurnAgent(self)},
            queues={TURN: options},
            drain_seconds=_DRAIN_SECONDS,
        )
        await self._worker.__aenter__()
        # The worker waits for a database that does not answer; requests must not.
        self.runs: DurableRuns = DurableRuns(self._url)
        await self.runs.__aenter__()
        self._tending = asyncio.create_task(self._tend())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the calls in progress end, and leave unfinished turns to other processes."""
        self._ending.set()  # cancelling the task would leave connections behind
        await asyncio.wait([self._tending])
        await self.runs.__aexit__(kind, error, trace)
        await self._worker.__aexit__(kind, error, trace)

    async def run(
        self, session_id: str, owner: str, message: str
    ) -> AsyncGenerator[TurnEvent, None]:
        """The turn's events as they are stored; see `Turns.run`.

        Leaving early leaves the turn running; `cancel` ends it.
        """
        with _answering():
            waiting = await self.runs.list(
                state="queued", agent=TURN, tags={"owner": owner}, limit=MAX_WAITING
            )
        if len(waiting) == MAX_WAITING:
            raise TooManyWaiting("turns", MAX_WAITING)
        async with self._work.opened(session_id, owner, message) as turn:
            await self._enqueue(session_id, turn.number, owner)
            await turn.hand_over(HANDED_OVER_SECONDS)
        for event in turn.stored:
            yield event
        after = turn.stored[-1].number
        async with aclosing(follow(self._store, session_id, owner, after)) as events:
            async for event in events:
                if event.turn != turn.number:
                    break
                yield event
                if event.type == "turn_ended":
                    return
        raise TurnLost

    async def cancel(self, session_id: str, number: int | None = None) -> None:
        """End the session's running turn; see `Turns.cancel`."""
        cancelled = await self._store.cancel_turn(session_id, number)
        if cancelled is not None:
            with suppress(TinyAgentError), _answering():  # it has not begun, or has ended
                await self.runs.cancel(_run_id(session_id, cancelled))

    async def answer(self, session_id: str, call_id: str, decision: Decision) -> bool:
        """Answer a call that waits; see `Turns.answer`."""
        request = await self._wanted(session_id, call_id)
        if request is None:
            return False
        run_id = _run_id(session_id, request.turn)
        try:
            with _answering():
                # The event is stored a moment before the run is suspended.
                record = await self.runs.wait(run_id, timeout=_QUESTION_SECONDS)
                question = _question_of(request, record.questions)
                if question is None:
                    return False
                await self.runs.approve(
                    run_id,
                    approved=decision.approved,
                    reason=decision.reason,
                    call=question.place,
                )
        except (TinyAgentError, TimeoutError):  # it has ended, or another answer was first
            return False
        return True

    async def list(self, owner: str, limit: int) -> Sequence[TurnStatus]:
        """The owner's turns in progress, and those that ended within the last hour."""
        with _answering():
            records = await self.runs.list(agent=TURN, tags={"owner": owner}, limit=limit)
        statuses = [await self._status(owner, record) for record in records]
        return [status for status in statuses if status is not None]

    async def get(self, owner: str, session_id: str, number: int) -> TurnStatus | None:
        """One of these turns."""
        try:
            with _answering():
                record = await self.runs.get(_run_id(session_id, number))
        except TinyAgentError:
            return None
        is_owned = record.tags.get("owner") == owner
        return await self._status(owner, record) if is_owned else None

    async def go_through(self, task: str) -> RunResult[Any]:
        """Work on the turn that the task names to its end, within its run."""
        session_id, number = _turn_of(task)

        async def is_ours() -> bool:
            record = await _apart(self._worker.get(_run_id(session_id, number)))
            return record.state == "running" and record.executor_id == self._worker.executor_id

        result: RunResult[Any] | None = None
        try:
            async with self._store.taken_over(session_id, number, is_ours) as turn:
                result = await self._work.go_on(turn)
        except TurnLost:
            logger.info("turn %d of a session was ended elsewhere", number)
        except (StoreUnavailable, SQLAlchemyError):
            # The run has not ended: it goes back into the queue and runs again.
            raise asyncio.CancelledError from None
        except Exception:
            logger.exception("turn %d of a session failed", number)
            await self._store.cancel_turn(session_id, number)
            return _result("error", FAILED)
        return _result("cancelled") if result is None else result

    async def _enqueue(self, session_id: str, number: int, owner: str) -> None:
        task = json.dumps({"session_id": session_id, "turn": number})
        with _answering():
            await self.runs.start(
                TURN,
                task,
                run_id=_run_id(session_id, number),
                queue=TURN,
                key=owner,
                tags={"owner": owner},
            )

    async def _wanted(self, session_id: str, call_id: str) -> TurnEvent | None:
        """The event that asks for approval of the call, unless the answer is stored too."""
        number = await self._store.running_turn(session_id)
        events = () if number is None else await self._store.events_of(session_id, number)
        approvals = [
            event
            for event in events
            if event.data.get("id") == call_id and event.type.startswith("approval_")
        ]
        is_waiting = bool(approvals) and approvals[-1].type == "approval_wanted"
        return approvals[-1] if is_waiting else None

    async def _status(self, owner: str, record: RunRecord) -> TurnStatus | None:
        """What an owner sees of a run; None if its session was deleted."""
        session_id, number = _turn_of(record.task)
        try:
            title = (await self._store.get(owner, session_id)).title
        except SessionNotFound:
            return None
        # An error without a kind is not ours, and may name the database.
        error = (record.error if record.error_kind else _RUN_FAILED) if record.error else None
        times = record.created.isoformat(), record.updated.isoformat()
        return TurnStatus(session_id, number, title, record.state, *times, error)

    async def _tend(self) -> None:
        """Do every few seconds what no run does."""
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _TEND_SECONDS)
            for tend in (self.runs.tend, self._forget, self._settle):
                task = asyncio.ensure_future(tend())
                await asyncio.wait([task])
                error = task.exception()
                if isinstance(error, SQLAlchemyError | StorageError):  # running turns wait for it
                    logger.warning("durable turns cannot be tended: %s", type(error).__name__)
                elif error is not None:
                    logger.error("durable turns cannot be tended", exc_info=error)

    async def _forget(self) -> None:
        if monotonic() > self._forgotten + _FORGET_SECONDS:
            await self.runs.forget(KEPT, agents=[TURN])
            self._forgotten = monotonic()

    async def _settle(self) -> None:
        """End what turns would otherwise wait for without end."""
        # The model learns that the result of the call is not known.
        for record in await self._listed("needs_decision"):
            for question in record.questions:
                with suppress(TinyAgentError):  # another process was first
                    await self.runs.decide(record.run_id, "skip", call=question.place)
        for record in await self._listed("waiting"):
            with suppress(TinyAgentError):
                await self._settle_waiting(record)
        # No process takes a run that was cancelled from outside, or that ended its process often.
        over = (*await self._listed("cancelled"), *await self._listed("lost"))
        for record in over:
            if record.run_id not in self._settled:
                await self._store.cancel_turn(*_turn_of(record.task))
        self._settled = {record.run_id for record in over}

    async def _settle_waiting(self, record: RunRecord) -> None:
        """Cancel a waiting run whose turn has ended; refuse a call that has waited for too long."""
        session_id, number = _turn_of(record.task)
        if await self._store.running_turn(session_id) != number:
            await self.runs.cancel(record.run_id)
            return
        late = datetime.now(UTC) - timedelta(seconds=APPROVAL_SECONDS)
        for question in record.questions:
            if question.asked < late:
                await self.runs.approve(
                    record.run_id, approved=False, reason=LATE.reason, call=question.place
                )

    async def _listed(self, state: DurableState) -> Sequence[RunRecord]:
        return await self.runs.list(state=state, agent=TURN, limit=_ALL)


class _TurnAgent:
    """The agent of the runs, as `DurableRuns` sees it: it works on a turn.

    Args:
        turns: Works on it.
    """

    def __init__(self, turns: DurableTurns) -> None:
        self._turns = turns

    async def run(self, task: str, **_: Any) -> RunResult[Any]:
        """Work on the turn that the task names."""
        return await self._turns.go_through(task)

    async def stream(self, task: str, **_: Any) -> AsyncGenerator[Event, None]:
        """The same; the turn's events are in the session store."""
        yield RunFinished(await self.run(task))


def runs_url(url: str) -> str:
    """The database of the runs of the store at this URL: a file next to a SQLite file, or it."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        stem, dot, suffix = parsed.database.rpartition(".")
        named = f"{stem}-runs.{suffix}" if dot and "/" not in suffix else f"{parsed.database}-runs"
        return parsed.set(database=named).render_as_string()
    return parsed.set(drivername="postgresql").render_as_string(hide_password=False)


def _result(state: Literal["error", "cancelled"], error: str = "") -> RunResult[Any]:
    """The result of a turn that has no agent's result."""
    fault = TinyAgentError(error) if error else None
    return RunResult(None, state, 0, 0.0, Usage(), Memory(), error=fault)


@contextmanager
def _answering() -> Generator[None]:
    """Raise `StoreUnavailable` if the database of the runs does not answer in the block."""
    try:
        yield
    except SQLAlchemyError as error:
        logger.error("durable turns cannot be reached: %s", type(error).__name__)  # noqa: TRY400 - it may name the database
        raise StoreUnavailable(
            "the database of durable turns does not answer; the reason is in skillian's log"
        ) from None


async def _apart(call: Coroutine[Any, Any, T]) -> T:
    """Await the call in a new context: in that of a run, DBOS would record it as a step."""
    return await asyncio.create_task(call, context=Context())


def _question_of(request: TurnEvent, questions: Sequence[Question]) -> Question | None:
    """The question that the event is about; the event's arguments may be cut or repaired."""
    of_tool = [question for question in questions if question.tool == request.data["tool"]]
    same = [question for question in of_tool if question.arguments == request.data["args"]]
    candidates = same or (of_tool if len(of_tool) == 1 else [])
    return candidates[0] if candidates else None


def _turn_of(task: str) -> tuple[str, int]:
    """The session and the number of the turn that a task names."""
    named = json.loads(task)
    return named["session_id"], named["turn"]


def _run_id(session_id: str, number: int) -> str:
    return f"{session_id}-{number}"

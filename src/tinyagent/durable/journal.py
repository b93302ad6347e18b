"""Journal: what a durable run has asked and was answered, as steps of its DBOS workflow.

It is the innermost middleware, around the calls themselves: what an earlier execution of the run
recorded is answered from the record, anything else is done and recorded. A record is found by its
place, not by its number, so calls side by side need no order:

    2.1 model                             the model's first answer in step 2 of the agent
    2.9f8e7d6c-1#1 begin send_mail        a call begins: its digest, its first occurrence, first try
    2.9f8e7d6c-1 tool send_mail           its result
    2.9f8e7d6c-1 ask send_mail            the answer to the question for approval
    3.ab12cd34-1 code                     the block of code of step 3
    4.0d1e2f3a-1/1.1 model                in step 1 of an agent that is a tool, called in step 4

DBOS refuses each record of an execution that no longer owns its run: two workers that hold the
same run do no harm, because a call that is not idempotent is begun on record before it is made.
"""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from dbos import DBOS
from dbos import error as dbos_error

from tinyagent.core.context import RunControl
from tinyagent.core.events import Event
from tinyagent.durable.approval import Question, Suspended, asking
from tinyagent.durable.bound import BoundJournal
from tinyagent.durable.entries import INSIDE, Entry
from tinyagent.durable.gate import Gate
from tinyagent.durable.records import Record
from tinyagent.middleware.base import Middleware, SteeringMiddleware

# The number of a record has another name, or another record, by now.
_TAKEN = (dbos_error.DBOSUnexpectedStepError, dbos_error.DBOSStepNondeterminismError)


class Journal(SteeringMiddleware):
    """The journal of one execution of a run, the runs of its agents as tools included.

    Made within the workflow, whose steps are written to.

    Args:
        run_id: the run's id.
        entries: what earlier executions recorded.
        answers: reads the answers that people have given, by question.
        gate: the process's.
        is_listened_to: whether somebody will ask of each event `was_again`.
    """

    def __init__(
        self,
        run_id: str,
        entries: Iterable[Entry],
        answers: Callable[[], Awaitable[Mapping[str, Any]]],
        gate: Gate,
        *,
        is_listened_to: bool = False,
    ) -> None:
        self.run_id = run_id
        self._execution = uuid.uuid4().hex
        self.questions: list[Question] = []
        self._is_listened_to = is_listened_to
        self._marks: dict[int, tuple[Event, bool]] = {}
        self._entries = {(entry.kind, entry.place): entry for entry in entries}
        self.has_waited = any(entry.kind == "ask" for entry in self._entries.values())
        self._unread = {key for key in self._entries if key[0] != "end"}
        self._bound: set[str] = set()
        self._read_answers = answers
        self._process = gate
        self._own = Gate()
        self._workflow = contextvars.copy_context()
        for _ in range(max((entry.number for entry in self._entries.values()), default=0)):
            DBOS.reserve_step()  # new records are numbered behind those there are

    def steer(self, run: RunControl) -> Middleware:
        """Journal one run: that of the workflow, or of an agent as a tool within it.

        Any other run that is begun meanwhile is part of the call that it is begun in.
        """
        inside = INSIDE.get()
        if inside in self._bound:  # a run that a tool or a listener starts for itself
            return Middleware()
        self._bound.add(inside)
        run.run_id = f"{self.run_id}/{inside}" if inside else self.run_id
        bound = BoundJournal(self, run, f"{inside}/" if inside else "")
        run.wrap_ask = lambda ask: asking(bound, ask)
        return bound

    @property
    def is_replaying(self) -> bool:
        """Whether there are records that were not asked for yet."""
        return bool(self._unread)

    def mark(self, event: Event) -> None:
        """Keep of an event whether it is told of again, which later is not to be seen."""
        if self._is_listened_to:
            self._marks[id(event)] = event, self.is_replaying

    def was_again(self, event: Event) -> bool:
        """Whether it was told of again; asked once an event."""
        return self._marks.pop(id(event), (event, self.is_replaying))[1]

    def find(self, kind: str, place: str) -> Entry | None:
        """The record of an earlier execution; it is then read."""
        self._unread.discard((kind, place))
        return self._entries.get((kind, place))

    def unread(self, kind: str, prefix: str) -> list[Entry]:
        """Records of a step of a run, which begins its places so, that nobody has asked for."""
        return [
            self._entries[key]
            for key in self._unread
            if key[0] == kind and key[1].startswith(prefix) and "/" not in key[1][len(prefix) :]
        ]

    def pass_over(self, prefix: str) -> None:
        """Take the records at places that begin so as read."""
        self._unread = {key for key in self._unread if not key[1].startswith(prefix)}

    async def record(self, kind: str, place: str, what: str, value: Record) -> None:
        """Write a record; it is complete even where the run is cancelled meanwhile.

        Raises:
            BaseException: DBOS's own, where the run is cancelled or has been handed on.
        """
        name = " ".join(filter(None, (place, kind, what)))
        own = {**value, "by": self._execution}
        context = self._workflow.copy()
        step = context.run(DBOS.reserve_step)
        writing = step.run_async({"name": name}, lambda: own)
        task = asyncio.create_task(writing, context=context)
        self._process.writes.add(task)
        task.add_done_callback(self._process.writes.discard)
        try:
            async with self.unfinished():
                there = await asyncio.shield(task)
        except _TAKEN as taken:
            raise dbos_error.DBOSWorkflowConflictIDError(self.run_id) from taken
        # Where the run's new owner has made a record of this number and name, DBOS gives that one
        # back and asks no further.
        if there.get("by") != self._execution:
            raise dbos_error.DBOSWorkflowConflictIDError(self.run_id)

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around each call to the outside."""
        if self.questions:  # the run is being put away: nothing new begins
            raise Suspended
        async with self._process.calling(), self.unfinished():
            yield

    def unfinished(self) -> AbstractAsyncContextManager[None]:
        """Around what the run is not put away before."""
        return self._own.calling()

    async def answer(self, question: Question) -> Mapping[str, Any]:
        """What somebody has answered; without an answer the run is put away.

        Raises:
            Suspended: once all that is under way beside this one has its records.
        """
        async with self.unfinished():  # who asks beside this one is waited for, too
            given: Mapping[str, Any] | None = (await self._read_answers()).get(question.place)
            if given is not None:
                self.has_waited = True
                return given
            self.questions.append(question)
        await self._own.idle()
        raise Suspended

"""Journal: the records of a durable run, as steps of its DBOS workflow.

What an earlier execution of the run recorded is answered from the record; everything else is done
and recorded. A record is found by its place, not by its number, so parallel calls need no order:

    2.1 model                             the model's first answer in step 2 of the agent
    2.9f8e7d6c-1#1 begin send_mail        a call begins: its digest, its first occurrence, first try
    2.9f8e7d6c-1 tool send_mail           its result
    2.9f8e7d6c-1 ask send_mail            the answer to the question for approval
    3.ab12cd34-1 code                     the block of code of step 3
    4.0d1e2f3a-1/1.1 model                in step 1 of an agent that is a tool, called in step 4

DBOS refuses the records of an execution that no longer owns its run. Two workers that hold the same
run do no harm, because a call that is not idempotent is recorded as started before it is made.
"""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from dbos import DBOS
from dbos import error as dbos_error

from tinyagent.core.events import Event
from tinyagent.durable.records import Record
from tinyagent.durable.states import Question

# The number of a record has another name, or another record, by now.
_TAKEN = (dbos_error.DBOSUnexpectedStepError, dbos_error.DBOSStepNondeterminismError)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record. `name` is the step's name: place, kind and, for a call, the tool."""

    number: int
    name: str
    value: Any

    @property
    def place(self) -> str:
        """Where in the run it is."""
        return self.name.split(" ", 2)[0]

    @property
    def kind(self) -> str:
        """`model`, `begin`, `tool`, `ask`, `code` or `end`."""
        return [*self.name.split(" ", 2), ""][1]


class Suspended(BaseException):
    """The run is suspended until its questions are answered; only the execution catches this."""


class CallGate:
    """Lets calls begin until it is closed; then those in progress end, and none begins."""

    def __init__(self) -> None:
        self.in_progress = 0
        self.writes: set[asyncio.Task[Any]] = set()
        """Records being written; they are completed even if their execution is cancelled."""
        self._is_open = True
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around a call; if the gate is closed, wait until the process ends."""
        if not self._is_open:
            await asyncio.get_running_loop().create_future()
        self.in_progress += 1
        try:
            yield
        finally:
            self.in_progress -= 1
            self._changed.set()

    async def idle(self) -> None:
        """Wait until no call is in progress."""
        while self.in_progress:
            self._changed.clear()
            await self._changed.wait()

    def close(self) -> None:
        """Let no call begin from now on."""
        self._is_open = False


class Journal:
    """The journal of one execution of a run, with the runs of its agents as tools.

    Made within the workflow whose steps are its records.

    Args:
        run_id: The run's id.
        entries: The records of earlier executions.
        answers: Reads the answers to the run's questions, by question.
        gate: The gate of the process.
        is_listened_to: Whether a listener will ask `was_repeated` about each event.
    """

    def __init__(
        self,
        run_id: str,
        entries: Iterable[Entry],
        answers: Callable[[], Awaitable[Mapping[str, Any]]],
        gate: CallGate,
        *,
        is_listened_to: bool = False,
    ) -> None:
        self.run_id = run_id
        self.questions: list[Question] = []
        self._execution = uuid.uuid4().hex
        self._is_listened_to = is_listened_to
        self._marks: dict[int, tuple[Event, bool]] = {}
        self._entries = {(entry.kind, entry.place): entry for entry in entries}
        self.has_waited = any(entry.kind == "ask" for entry in self._entries.values())
        self._unread = {key for key in self._entries if key[0] != "end"}
        self._claimed: set[str] = set()
        self._read_answers = answers
        self._process_gate = gate
        self._gate = CallGate()
        self._workflow = contextvars.copy_context()
        for _ in range(max((entry.number for entry in self._entries.values()), default=0)):
            DBOS.reserve_step()  # new records are numbered after the existing ones

    def claim(self, place: str) -> bool:
        """Reserve a place for the records of one run; False if a run there has them already."""
        if place in self._claimed:
            return False
        self._claimed.add(place)
        return True

    @property
    def is_replaying(self) -> bool:
        """Whether there are records that have not been read yet."""
        return bool(self._unread)

    def mark(self, event: Event) -> None:
        """Note whether an event repeats one of an earlier execution."""
        if self._is_listened_to:
            self._marks[id(event)] = event, self.is_replaying

    def was_repeated(self, event: Event) -> bool:
        """Whether an event repeats one of an earlier execution; asked once for each event."""
        return self._marks.pop(id(event), (event, self.is_replaying))[1]

    def find(self, kind: str, place: str) -> Entry | None:
        """The record of an earlier execution, if there is one; from now on it counts as read."""
        self._unread.discard((kind, place))
        return self._entries.get((kind, place))

    def unread(
        self, kinds: tuple[str, ...], prefix: str, *, with_agents: bool = False
    ) -> list[Entry]:
        """The unread records of a run, or of one of its steps, in their order.

        Args:
            kinds: Of the records.
            prefix: How the places of the run or step begin.
            with_agents: Whether to include those of agents as tools.
        """
        entries = [
            self._entries[key]
            for key in self._unread
            if key[0] in kinds
            and key[1].startswith(prefix)
            and (with_agents or "/" not in key[1][len(prefix) :])
        ]
        return sorted(entries, key=lambda entry: entry.number)

    def pass_over(self, prefix: str) -> None:
        """Count the records as read whose places begin so."""
        self._unread = {key for key in self._unread if not key[1].startswith(prefix)}

    async def record(self, kind: str, place: str, what: str, value: Record) -> None:
        """Write a record; it is completed even if the run is cancelled in the meantime.

        Raises:
            BaseException: DBOS's own, if the run is cancelled or another execution owns it.
        """
        name = " ".join(filter(None, (place, kind, what)))
        signed = {**value, "by": self._execution}
        context = self._workflow.copy()
        step = context.run(DBOS.reserve_step)
        writing = step.run_async({"name": name}, lambda: signed)
        task = asyncio.create_task(writing, context=context)
        self._process_gate.writes.add(task)
        task.add_done_callback(self._process_gate.writes.discard)
        try:
            async with self.unfinished():
                stored = await asyncio.shield(task)
        except _TAKEN as taken:
            raise dbos_error.DBOSWorkflowConflictIDError(self.run_id) from taken
        # If the run's new owner has made a record of this number and name, DBOS returns that one
        # without asking who owns the run.
        if stored.get("by") != self._execution:
            raise dbos_error.DBOSWorkflowConflictIDError(self.run_id)

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around each call to the outside."""
        if self.questions:  # the run is being suspended: nothing new begins
            raise Suspended
        async with self._process_gate.calling(), self.unfinished():
            yield

    def unfinished(self) -> AbstractAsyncContextManager[None]:
        """Around work that the run must finish before it is suspended."""
        return self._gate.calling()

    async def answer(self, question: Question) -> Mapping[str, Any]:
        """The answer to a question; without one, the run is suspended.

        Raises:
            Suspended: After all parallel work has its records.
        """
        async with self.unfinished():  # parallel questions are waited for, too
            answer: Mapping[str, Any] | None = (await self._read_answers()).get(question.place)
            if answer is not None:
                self.has_waited = True
                return answer
            self.questions.append(question)
        await self._gate.idle()
        raise Suspended

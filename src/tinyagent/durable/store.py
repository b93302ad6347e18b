"""RunStore: the runs in a database, to start, look at, answer and put away."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Unpack

from dbos import DBOSClient, WorkflowStatus
from dbos import error as dbos_error

from tinyagent.core.errors import RunConflict, UnknownRun
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import Task, task_to_json
from tinyagent.durable.approval import Choice
from tinyagent.durable.records import Record, execution_from_dict
from tinyagent.durable.starting import (
    NO_KEY,
    StartOptions,
    clean,
    enqueue_options,
    tag_attributes,
)
from tinyagent.durable.states import (
    WAITS,
    DurableState,
    RunRecord,
    StepRecord,
    only_question,
    run_record,
    spec_of,
    step_record,
)
from tinyagent.durable.workflow import ANSWER, WORKFLOW
from tinyagent.memory.memory import Memory, MemoryManager

NAME = "tinyagent"
"""The application that DBOS knows the runs by."""

_KEEP_ALL = 2**31 - 1
_PAGE = 100
_POLL_SECONDS = (0.02, 0.5)
_SETTLE_SECONDS = 10.0
_PUT_AWAY_SECONDS = 1.0
_STATUSES: dict[str, tuple[str, ...]] = {
    "queued": ("ENQUEUED", "DELAYED"),
    "running": ("PENDING",),
    "cancelled": ("CANCELLED",),
    "lost": ("MAX_RECOVERY_ATTEMPTS_EXCEEDED",),
    "error": ("SUCCESS", "ERROR"),
}
_UNDER_WAY = (*_STATUSES["queued"], *_STATUSES["running"])
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


class RunStore:
    """The runs in a database.

    Args:
        client: to it.
        is_sqlite: whether it is an SQLite file.
    """

    def __init__(self, client: DBOSClient, *, is_sqlite: bool) -> None:
        self._client = client
        self._is_sqlite = is_sqlite

    async def start(
        self, agent: str, task: Task, *, run_id: str | None = None, **options: Unpack[StartOptions]
    ) -> str:
        """Enqueue a run of the agent that the workers know by this name; gives its id.

        The same id again is the same run, however often and from wherever it is started.

        Raises:
            RunConflict: the id is that of a run of another agent or task.
            ConfigurationError: the task has parts that are no text, image or document.
        """
        memory = options.get("memory")
        asked = task_to_json(task)
        spec = {
            "agent": agent,
            "task": asked,
            "max_steps": options.get("max_steps"),
            "memory": memory.to_list() if isinstance(memory, Memory | MemoryManager) else memory,
        }
        started = run_id or uuid.uuid4().hex
        await self._client.enqueue_async(enqueue_options(started, agent, options), spec)
        if run_id is not None:
            there = spec_of(await self._status(run_id))
            if (there.get("agent"), there.get("task")) != (agent, asked):
                raise RunConflict(f"run {run_id!r} is there already, with another agent or task")
        return started

    async def run(
        self, agent: str, task: Task, *, run_id: str | None = None, **options: Unpack[StartOptions]
    ) -> RunRecord:
        """`start`, then `wait`."""
        return await self.wait(await self.start(agent, task, run_id=run_id, **options))

    async def wait(self, run_id: str, *, timeout: float | None = None) -> RunRecord:  # noqa: ASYNC109 - part of the name of a limit, as in asyncio
        """Wait until the run has ended, or waits for somebody itself.

        Raises:
            UnknownRun: there is none of this id.
            TimeoutError: it is neither after `timeout` seconds.
        """
        pause, most = _POLL_SECONDS
        async with asyncio.timeout(timeout):
            while (record := await self.get(run_id)).state in ("queued", "running"):
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, most)
        return record

    async def get(self, run_id: str) -> RunRecord:
        """What the run is and has come to; raises `UnknownRun`."""
        return run_record(await self._status(run_id))

    async def list(
        self,
        *,
        state: DurableState | None = None,
        agent: str | None = None,
        tags: Mapping[str, str] | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Sequence[RunRecord]:
        """The runs, newest first."""
        found: list[RunRecord] = []
        async for status in self._all(state, agent, tags or {}):
            record = run_record(status)
            if state in (None, record.state):
                found.append(record)
            if len(found) == offset + limit:
                break
        return found[offset:]

    async def tag(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Give the run tags beside those it has, or other values to these; raises `UnknownRun`."""
        await self._status(run_id)
        changed = tag_attributes(tags)
        await self._client.update_workflow_attributes_async(run_id, changed, merge=True)

    async def steps(self, run_id: str) -> Sequence[StepRecord]:
        """The run's journal; raises `UnknownRun`."""
        await self._status(run_id)
        return [step_record(step) for step in await self._client.list_workflow_steps_async(run_id)]

    async def memory(self, run_id: str) -> Sequence[Record] | None:
        """The memory of a run that has ended, as `start` takes it."""
        ends = [step.value for step in await self.steps(run_id) if step.name == "end end"]
        return ends[-1]["memory"] if ends else None

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """The files and figures that the code of the run has made."""
        blocks = [step.value for step in await self.steps(run_id) if step.name.endswith(" code")]
        return [made for block in blocks for made in execution_from_dict(block).artifacts]

    async def cancel(self, run_id: str) -> None:
        """End the run; a call under way is finished, and none is made after it.

        Raises:
            UnknownRun: there is none of this id.
            RunConflict: it has ended.
        """
        record = await self.get(run_id)
        if record.has_ended:
            raise RunConflict(f"run {run_id!r} has ended: {record.state}")
        if record.state in WAITS:
            # What is put away has ended for DBOS: it is taken up where nobody takes it from.
            await self._rewind(run_id, "tinyagent-cancelled")
        await self._client.cancel_workflow_async(run_id)

    async def resume(self, run_id: str) -> None:
        """Go on with a run that was cancelled or failed, from where it stood.

        Raises:
            UnknownRun: there is none of this id.
            RunConflict: it is queued or under way, waits for an answer, or has its own.
        """
        record = await self.get(run_id)
        if not record.has_ended or record.state == "completed":
            raise RunConflict(f"run {run_id!r} cannot be resumed: it is {record.state}")
        steps = await self._client.list_workflow_steps_async(run_id, load_output=False)
        ends = [step["function_id"] for step in steps if step["function_name"] == "end end"]
        await self._wake(run_id, ends[0] if ends else _KEEP_ALL)

    async def approve(
        self, run_id: str, *, approved: bool = True, reason: str = "", call: str = ""
    ) -> None:
        """Answer a question for approval; the run goes on at once.

        Args:
            run_id: the run.
            approved: yes or no.
            reason: of a no; the model reads it.
            call: the question's `place`, needed where more than one waits.

        Raises:
            UnknownRun: there is none of this id.
            RunConflict: it does not wait for this.
        """
        await self._answer(
            run_id, "approval", call, {"approved": approved, "reason": clean(reason)}
        )

    async def decide(self, run_id: str, choice: Choice, *, call: str = "") -> None:
        """Say what to do about a call in doubt; the run goes on at once.

        Args:
            run_id: the run.
            choice: `"retry"` makes the call again, `"skip"` tells the model that nobody knows what
                came of it, `"abort"` ends the run.
            call: the question's `place`, needed where more than one waits.

        Raises:
            UnknownRun: there is none of this id.
            RunConflict: it does not wait for this.
        """
        await self._answer(run_id, "in_doubt", call, {"choice": choice})

    async def forget(self, older_than: timedelta, *, agents: Collection[str] | None = None) -> int:
        """Delete the runs that ended longer ago than this, with their journals; gives their number.

        Runs that wait for an answer are kept.

        Args:
            older_than: how long ago.
            agents: only runs of these.
        """
        before = (datetime.now(UTC) - older_than).isoformat()
        forgotten = kept = 0
        while page := await self._client.list_workflows_async(
            name=WORKFLOW, status=_ENDED, completed_before=before, limit=_PAGE, offset=kept
        ):
            found = [run_record(status) for status in page]
            ended = [
                run.run_id
                for run in found
                if run.has_ended and (agents is None or run.agent in agents)
            ]
            kept += len(page) - len(ended)
            forgotten += len(ended)
            await self._client.delete_workflows_async(ended, delete_children=True)
        return forgotten

    async def tend(self) -> int:
        """Wake the runs that were answered in the very moment in which they were put away."""
        woken = 0
        async for status in self._all("waiting", None, {}):
            woken += await self._wake_if_answered(status)
        return woken

    async def _answer(self, run_id: str, kind: str, call: str, answer: Record) -> None:
        place = await self._place(run_id, kind, call)
        await self._client.update_workflow_attributes_async(
            run_id, {f"{ANSWER}{place}": answer}, merge=True
        )
        with suppress(TimeoutError):  # it may be under way, and just be being put away
            await self.wait(run_id, timeout=_PUT_AWAY_SECONDS)
        await self._wake_if_answered(await self._status(run_id))

    async def _wake_if_answered(self, status: WorkflowStatus) -> bool:
        given = status.attributes or {}
        questions = run_record(status).questions
        answered = any(f"{ANSWER}{question.place}" in given for question in questions)
        return answered and await self._wake(status.workflow_id)

    async def _place(self, run_id: str, kind: str, call: str) -> str:
        """The place of the question that is answered; raises RunConflict."""
        status = await self._status(run_id)
        asked: Record = (status.attributes or {}).get("asked", {})
        if asked.get(call) == kind and status.status in _UNDER_WAY:
            return call  # the run goes on with another answer, and will come to this one
        return only_question(await self._settled(run_id), kind, call).place

    async def _settled(self, run_id: str) -> RunRecord:
        """The run; one that goes on with another answer is given the time to wait again."""
        with suppress(TimeoutError):
            return await self.wait(run_id, timeout=_SETTLE_SECONDS)
        return await self.get(run_id)

    async def _wake(self, run_id: str, start_step: int = _KEEP_ALL) -> bool:
        """Enqueue a run that has ended or waits; False where another was first."""
        attributes = (await self._status(run_id)).attributes or {}
        queue, key = attributes.get("queue", "default"), attributes.get("key", NO_KEY)
        return await self._rewind(run_id, queue, start_step, key)

    async def _rewind(
        self, run_id: str, queue: str, start_step: int = _KEEP_ALL, key: str = NO_KEY
    ) -> bool:
        try:
            await self._client.rewind_workflow_async(
                run_id, start_step=start_step, queue_name=queue, queue_partition_key=key
            )
        except dbos_error.DBOSException:  # it is under way
            return False
        return True

    async def _status(self, run_id: str) -> WorkflowStatus:
        found = await self._client.list_workflows_async(workflow_ids=[run_id], name=WORKFLOW)
        if not found:
            raise UnknownRun(f"there is no run {run_id!r}")
        return found[0]

    async def _all(
        self, state: DurableState | None, agent: str | None, tags: Mapping[str, str]
    ) -> AsyncGenerator[WorkflowStatus]:
        """The workflows of runs that may be meant, newest first."""
        wanted: Record = tag_attributes(tags)
        wanted |= {} if agent is None else {"agent": agent}
        wanted |= {"waits": True} if state in WAITS else {}
        offset = 0
        while page := await self._client.list_workflows_async(
            name=WORKFLOW,
            status=None if state is None else list(_STATUSES.get(state, ("SUCCESS",))),
            sort_desc=True,
            limit=_PAGE,
            offset=offset,
            # SQLite does not look into attributes: there, only what is meant is read whole.
            attributes=None if self._is_sqlite else wanted or None,
            load_input=not self._is_sqlite,
            load_output=not self._is_sqlite,
        ):
            offset += len(page)
            meant = [
                status for status in page if wanted.items() <= (status.attributes or {}).items()
            ]
            for status in await self._whole(meant) if self._is_sqlite else meant:
                yield status

    async def _whole(self, page: Sequence[WorkflowStatus]) -> Sequence[WorkflowStatus]:
        ids = [status.workflow_id for status in page]
        if not ids:
            return []
        return await self._client.list_workflows_async(workflow_ids=ids, sort_desc=True)

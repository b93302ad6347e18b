"""RunStore: the runs in a database, to start, read, answer, cancel and delete."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Unpack

from dbos import DBOSClient, WorkflowStatus
from dbos import error as dbos_error

from tinyagent.core.context import delegation_of
from tinyagent.core.errors import ConfigurationError, RunConflict, UnknownRun
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import Task, task_to_json, words_of
from tinyagent.core.provenance import COMMON
from tinyagent.durable.queues import (
    NO_KEY,
    StartOptions,
    clean,
    enqueue_options,
    tag_attributes,
)
from tinyagent.durable.records import Record, execution_from_dict
from tinyagent.durable.states import (
    WAITS,
    Choice,
    DurableState,
    RunRecord,
    StepRecord,
    only_question,
    run_record,
    spec_of,
    step_record,
)
from tinyagent.durable.suspects import LIVES
from tinyagent.durable.workflow import ANSWER, WORKFLOW
from tinyagent.memory.memory import Memory, MemoryManager

NAME = "tinyagent"
"""The name of the application in DBOS."""

_KEEP_ALL = 2**31 - 1
_PAGE = 100
_MAX_ID = 200
_NAMED = 5
_POLL_SECONDS = (0.02, 0.5)
_SETTLE_SECONDS = 10.0
_SUSPENDING_SECONDS = 1.0
_STATUSES: dict[str, tuple[str, ...]] = {
    "queued": ("ENQUEUED", "DELAYED"),
    "running": ("PENDING",),
    "cancelled": ("CANCELLED",),
    "error": ("SUCCESS", "ERROR"),
}
_IN_PROGRESS = (*_STATUSES["queued"], *_STATUSES["running"])
_ENDED = ["SUCCESS", "ERROR", "CANCELLED"]


class RunStore:
    """The runs in a database.

    Args:
        client: For the database.
        is_sqlite: Whether it is a SQLite file.
    """

    def __init__(self, client: DBOSClient, *, is_sqlite: bool) -> None:
        self._client = client
        self._is_sqlite = is_sqlite

    async def start(
        self, agent: str, task: Task, *, run_id: str | None = None, **options: Unpack[StartOptions]
    ) -> str:
        """Enqueue a run of the agent that the workers know by this name; returns its id.

        Starting a run under an id that exists returns the run that has it.

        Raises:
            RunConflict: The id is that of a run of another agent or task.
            ConfigurationError: The task has parts other than text, images and documents, or the id
                is not a printable text.
        """
        if run_id is not None and not _is_id(run_id):
            raise ConfigurationError(
                f"run_id {run_id[:_MAX_ID]!r} cannot name a run: use 1 to {_MAX_ID} printable"
                " characters, without spaces around them"
            )
        memory = options.get("memory")
        task_json = task_to_json(task)
        spec: Record = {
            "agent": agent,
            "task": task_json,
            "max_steps": options.get("max_steps"),
            "memory": memory.to_list() if isinstance(memory, Memory | MemoryManager) else memory,
        }
        delegation = delegation_of(words_of(task))
        if delegation is not None and not delegation.task.sources <= COMMON:
            spec["label"] = delegation.task.to_dict()
        new_id = run_id or uuid.uuid4().hex
        await self._client.enqueue_async(enqueue_options(new_id, agent, options), spec)
        if run_id is not None:
            stored = spec_of(await self._status(run_id))
            if (stored.get("agent"), stored.get("task")) != (agent, task_json):
                raise RunConflict(f"run {run_id!r} exists already, with another agent or task")
        return new_id

    async def run(
        self, agent: str, task: Task, *, run_id: str | None = None, **options: Unpack[StartOptions]
    ) -> RunRecord:
        """`start`, then `wait`."""
        return await self.wait(await self.start(agent, task, run_id=run_id, **options))

    async def wait(self, run_id: str, *, timeout: float | None = None) -> RunRecord:  # noqa: ASYNC109 - part of the name of a limit, as in asyncio
        """Wait until the run has ended or is suspended.

        Raises:
            UnknownRun: There is no run of this id.
            TimeoutError: It is neither after `timeout` seconds.
        """
        pause, most = _POLL_SECONDS
        async with asyncio.timeout(timeout):
            while (record := await self.get(run_id)).state in ("queued", "running"):
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, most)
        return record

    async def get(self, run_id: str) -> RunRecord:
        """The run and its state; raises `UnknownRun`."""
        return run_record(await self._status(run_id))

    async def find(self, prefix: str) -> str:
        """The id of the only run whose id begins with this; the text itself if none does.

        An id that begins another one means the run that has it.

        Raises:
            UnknownRun: Several begin with it; the message names some.
        """
        begin = await self._client.list_workflows_async(
            name=WORKFLOW,
            workflow_id_prefix=prefix,
            limit=_PAGE,
            load_input=False,
            load_output=False,
        )
        # The database may ignore case, and read % and _ as other characters.
        ids = [each.workflow_id for each in begin if each.workflow_id.startswith(prefix)]
        if prefix in ids or not prefix or not ids:
            return prefix
        if len(ids) == 1:
            return ids[0]
        some = ", ".join(ids[:_NAMED])
        more = ", …" if len(ids) > _NAMED else ""
        raise UnknownRun(f"{len(ids)} runs begin with {prefix!r}; write more of it: {some}{more}")

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
        records: list[RunRecord] = []
        async for status in self._all(state, agent, tags or {}):
            record = run_record(status)
            if state in (None, record.state):
                records.append(record)
            if len(records) == offset + limit:
                break
        return records[offset:]

    async def tag(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Add tags to the run, or change their values; raises `UnknownRun`."""
        await self._status(run_id)
        changed = tag_attributes(tags)
        await self._client.update_workflow_attributes_async(run_id, changed, merge=True)

    async def steps(self, run_id: str) -> Sequence[StepRecord]:
        """The run's journal; raises `UnknownRun`."""
        await self._status(run_id)
        return [step_record(step) for step in await self._client.list_workflow_steps_async(run_id)]

    async def memory(self, run_id: str) -> Sequence[Record] | None:
        """The memory of a run that has ended, in the form that `start` takes."""
        ends = [step.value for step in await self.steps(run_id) if step.name == "end end"]
        return ends[-1]["memory"] if ends else None

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """The files and figures that the code of the run has made."""
        blocks = [step.value for step in await self.steps(run_id) if step.name.endswith(" code")]
        return [file for block in blocks for file in execution_from_dict(block).artifacts]

    async def cancel(self, run_id: str) -> None:
        """End the run; a call in progress is finished, and no other is made.

        Raises:
            UnknownRun: There is no run of this id.
            RunConflict: It has ended.
        """
        record = await self.get(run_id)
        if record.has_ended:
            raise RunConflict(f"run {run_id!r} has ended: {record.state}")
        if record.state in WAITS:
            # For DBOS a suspended run has ended: enqueue it again, where nobody takes it.
            await self._rewind(run_id, "tinyagent-cancelled")
        await self._client.cancel_workflow_async(run_id)

    async def resume(self, run_id: str) -> None:
        """Continue a run that was cancelled or failed, from its last record.

        Raises:
            UnknownRun: There is no run of this id.
            RunConflict: It is queued, running, suspended or completed.
        """
        record = await self.get(run_id)
        if not record.has_ended or record.state == "completed":
            raise RunConflict(f"run {run_id!r} cannot be resumed: it is {record.state}")
        steps = await self._client.list_workflow_steps_async(run_id, load_output=False)
        ends = [step["function_id"] for step in steps if step["function_name"] == "end end"]
        await self._client.update_workflow_attributes_async(run_id, {LIVES: None}, merge=True)
        await self._wake(run_id, ends[0] if ends else _KEEP_ALL)

    async def approve(
        self, run_id: str, *, approved: bool = True, reason: str = "", call: str = ""
    ) -> None:
        """Answer a question for approval; the run continues at once.

        Args:
            run_id: The run.
            approved: Whether the call may be made.
            reason: Of a refusal; the model reads it.
            call: The question's `place`, needed if several are open.

        Raises:
            UnknownRun: There is no run of this id.
            RunConflict: It does not wait for an approval of this call.
        """
        await self._answer(
            run_id, "approval", call, {"approved": approved, "reason": clean(reason)}
        )

    async def decide(self, run_id: str, choice: Choice, *, call: str = "") -> None:
        """Decide what to do about a call in doubt; the run continues at once.

        Args:
            run_id: The run.
            choice: `"retry"` makes the call again, `"skip"` tells the model that its result is not
                known, `"abort"` ends the run.
            call: The question's `place`, needed if several are open.

        Raises:
            UnknownRun: There is no run of this id.
            RunConflict: It does not wait for a decision on this call.
        """
        await self._answer(run_id, "in_doubt", call, {"choice": choice})

    async def forget(self, older_than: timedelta, *, agents: Collection[str] | None = None) -> int:
        """Delete runs that ended longer ago than this, with their journals; returns their number.

        Suspended runs are kept.

        Args:
            older_than: How long ago.
            agents: Only runs of these agents.
        """
        before = (datetime.now(UTC) - older_than).isoformat()
        deleted = skipped = 0
        while page := await self._client.list_workflows_async(
            name=WORKFLOW, status=_ENDED, completed_before=before, limit=_PAGE, offset=skipped
        ):
            ended = [
                run.run_id
                for run in map(run_record, page)
                if run.has_ended and (agents is None or run.agent in agents)
            ]
            skipped += len(page) - len(ended)
            deleted += len(ended)
            await self._client.delete_workflows_async(ended, delete_children=True)
        return deleted

    async def tend(self) -> int:
        """Wake runs that were answered while they were being suspended; returns their number."""
        woken = 0
        async for status in self._all("waiting", None, {}):
            woken += await self._wake_if_answered(status)
        return woken

    async def _answer(self, run_id: str, kind: str, call: str, answer: Record) -> None:
        place = await self._place(run_id, kind, call)
        await self._client.update_workflow_attributes_async(
            run_id, {f"{ANSWER}{place}": answer}, merge=True
        )
        with suppress(TimeoutError):  # it may be running, and about to be suspended
            await self.wait(run_id, timeout=_SUSPENDING_SECONDS)
        await self._wake_if_answered(await self._status(run_id))

    async def _wake_if_answered(self, status: WorkflowStatus) -> bool:
        attributes = status.attributes or {}
        questions = run_record(status).questions
        answered = any(f"{ANSWER}{question.place}" in attributes for question in questions)
        return answered and await self._wake(status.workflow_id)

    async def _place(self, run_id: str, kind: str, call: str) -> str:
        """The place of the question that an answer is for; raises RunConflict."""
        status = await self._status(run_id)
        asked: Record = (status.attributes or {}).get("asked", {})
        if asked.get(call) == kind and status.status in _IN_PROGRESS:
            return call  # the run continues with another answer, and will come to this question
        return only_question(await self._settled(run_id), kind, call).place

    async def _settled(self, run_id: str) -> RunRecord:
        """The run, once it is suspended again if it continues with another answer."""
        with suppress(TimeoutError):
            return await self.wait(run_id, timeout=_SETTLE_SECONDS)
        return await self.get(run_id)

    async def _wake(self, run_id: str, start_step: int = _KEEP_ALL) -> bool:
        """Enqueue a run that has ended or is suspended; False if another process was first."""
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
        except dbos_error.DBOSException:  # it is running
            return False
        return True

    async def _status(self, run_id: str) -> WorkflowStatus:
        # Some databases refuse to look up some texts.
        statuses = (
            await self._client.list_workflows_async(workflow_ids=[run_id], name=WORKFLOW)
            if _is_id(run_id)
            else []
        )
        if not statuses:
            raise UnknownRun(f"there is no run {run_id[:_MAX_ID]!r}")
        return statuses[0]

    async def _all(
        self, state: DurableState | None, agent: str | None, tags: Mapping[str, str]
    ) -> AsyncGenerator[WorkflowStatus]:
        """The workflows of runs that may match, newest first."""
        filters: Record = tag_attributes(tags)
        filters |= {} if agent is None else {"agent": agent}
        filters |= {"waits": True} if state in WAITS else {}
        offset = 0
        while page := await self._client.list_workflows_async(
            name=WORKFLOW,
            status=None if state is None else list(_STATUSES.get(state, ("SUCCESS",))),
            sort_desc=True,
            limit=_PAGE,
            offset=offset,
            # SQLite cannot filter by attributes: there, only matching rows are read whole.
            attributes=None if self._is_sqlite else filters or None,
            load_input=not self._is_sqlite,
            load_output=not self._is_sqlite,
        ):
            offset += len(page)
            matching = [
                status for status in page if filters.items() <= (status.attributes or {}).items()
            ]
            for status in await self._whole(matching) if self._is_sqlite else matching:
                yield status

    async def _whole(self, page: Sequence[WorkflowStatus]) -> Sequence[WorkflowStatus]:
        ids = [status.workflow_id for status in page]
        if not ids:
            return []
        return await self._client.list_workflows_async(workflow_ids=ids, sort_desc=True)


def _is_id(text: str) -> bool:
    """Whether a text can be the id of a run."""
    return 0 < len(text) <= _MAX_ID and text.isprintable() and text == text.strip()

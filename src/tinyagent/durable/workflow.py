"""One execution of a run: the body of its DBOS workflow.

An execution goes through the agent's loop from the start; the journal answers the calls that
earlier executions have made. It ends with the run's outcome, or with the questions that the run
waits for.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol, cast

from dbos import DBOS, DBOSClient, WorkflowStatus

from tinyagent.agents.code import TinyCodeAgent
from tinyagent.core.context import Delegation, delegated
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.events import Event, RunFinished
from tinyagent.core.messages import Task, task_from_json
from tinyagent.core.provenance import Label
from tinyagent.core.results import RunResult
from tinyagent.core.types import Usage
from tinyagent.durable.journal import CallGate, Entry, Journal, Suspended
from tinyagent.durable.recorder import Recorder
from tinyagent.durable.records import Record
from tinyagent.durable.suspects import Lives, Room
from tinyagent.memory.memory import Memory, MemoryManager
from tinyagent.middleware.base import INNERMOST


class AnyAgent(Protocol):
    """An agent of runs: `ReactAgent`, `TinyCodeAgent`, or anything that runs one of these."""

    async def run(
        self, task: Any, *, max_steps: int | None, return_result: bool, memory: Any
    ) -> RunResult[Any]:
        """Work on `task` until there is an answer."""
        ...

    def stream(
        self, task: Any, *, max_steps: int | None, memory: Any
    ) -> AsyncGenerator[Event, None]:
        """The same as events while it happens."""
        ...


Listener = Callable[[str, Event, bool], None]
"""Called with a run's id, an event, and whether it repeats one of an earlier execution."""

ANSWER = "answer:"
"""The prefix of the workflow attributes that hold answers to the run's questions."""


class Executions:
    """The executions of this process.

    Args:
        agents: The agents of the runs, by name.
        client: For the runs' database.
        listener: Called with the events.
        deps: What the agents' tools receive, by the agents' names.
    """

    def __init__(
        self,
        agents: Mapping[str, AnyAgent],
        client: DBOSClient,
        listener: Listener | None,
        deps: Mapping[str, Any],
    ) -> None:
        self.gate = CallGate()
        self._agents = agents
        self._client = client
        self._listener = listener
        self._deps = deps
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self._room = Room()

    def run_ids(self) -> set[str]:
        """The runs that are being executed."""
        return set(self._tasks.values())

    async def execute(self, run_id: str, spec: Record) -> Record:
        """Execute a run to its end, or until it is suspended.

        Raises:
            ConfigurationError: This process has no such agent.
        """
        agent = self._agents.get(spec["agent"])
        if agent is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise ConfigurationError(
                f"this worker has no agent {spec['agent']!r}, only: {known}; start one that has it"
                " and resume the run"
            )
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._tasks[task] = run_id
        try:
            lives = await self._lives(run_id)
            async with self._room.entered(is_suspect=lives.is_suspect):
                if lives.begun > 1:
                    await self._note(run_id, lives.to_attributes())
                if lives.are_over:
                    return _outcome("lost", error=lives.obituary())
                return await self._execute(agent, run_id, spec)
        finally:
            del self._tasks[task]

    async def stop(self) -> set[str]:
        """Cancel the executions; returns the ids of their runs, which are not over."""
        tasks = dict(self._tasks)
        for task in tasks:
            task.cancel()
        if pending := {*tasks, *self.gate.writes}:
            await asyncio.wait(pending)
        return set(tasks.values())

    async def _execute(self, agent: AnyAgent, run_id: str, spec: Record) -> Record:
        while True:
            journal = await self._journal(run_id)
            innermost = INNERMOST.set(Recorder(journal))
            try:
                return await self._go_through(agent, journal, spec)
            except Suspended:
                questions = journal.questions
            finally:
                INNERMOST.reset(innermost)
            asked = {question.place: question.kind for question in questions}
            await self._note(run_id, {"waits": True, "asked": asked})
            # An answer may have come while parallel calls were still in progress.
            answers = await self._answers(run_id)
            if not any(question.place in answers for question in questions):
                kinds = {question.kind for question in questions}
                state = "needs_decision" if "in_doubt" in kinds else "waiting"
                return _outcome(state, questions=[one.to_dict() for one in questions])

    async def _lives(self, run_id: str) -> Lives:
        (status,) = await self._statuses(run_id)
        attempts = status.recovery_attempts or 0
        if attempts <= 1:
            return Lives(0, 1)
        read = partial(self._client.list_workflow_steps_async, load_output=False)
        return Lives.after_death(status.attributes or {}, len(await _apart(read, run_id)))

    async def _journal(self, run_id: str) -> Journal:
        # Outside the workflow's context, because DBOS would make a step of reading.
        steps = await _apart(self._client.list_workflow_steps_async, run_id)
        return Journal(
            run_id,
            [Entry(step["function_id"], step["function_name"], step["output"]) for step in steps],
            partial(self._answers, run_id),
            self.gate,
            is_listened_to=self._listener is not None,
        )

    async def _go_through(self, agent: AnyAgent, journal: Journal, spec: Record) -> Record:
        result = await self._run(agent, journal, spec)
        if journal.find("end", "end") is None:
            await journal.record("end", "end", "", {"memory": result.memory.to_list()})
        if journal.has_waited:
            await self._note(journal.run_id, {"waits": False})
        return _outcome(
            result.state,
            output=as_json(result.output),
            error=str(result.error or ""),
            error_kind=type(result.error).__name__ if result.error else "",
            steps_taken=result.steps_taken,
            usage=result.usage.to_dict(),
        )

    async def _run(self, agent: AnyAgent, journal: Journal, spec: Record) -> RunResult[Any]:
        memory = memory_from_list(agent, spec.get("memory"))
        options: dict[str, Any] = {"max_steps": spec.get("max_steps"), "memory": memory}
        if spec["agent"] in self._deps:
            options["deps"] = self._deps[spec["agent"]]
        task = task_from_json(spec["task"])
        label = None if "label" not in spec else Label.from_dict(spec["label"])
        with delegated(None if label is None else Delegation(Label(), label)):
            return await self._observed(agent, journal, task, options)

    async def _observed(
        self, agent: AnyAgent, journal: Journal, task: Task, options: Mapping[str, Any]
    ) -> RunResult[Any]:
        """Run the agent; the listener, if there is one, gets its events."""
        if self._listener is None:
            return await agent.run(task, return_result=True, **options)
        last = cast("RunFinished", None)  # every run has one
        async with aclosing(agent.stream(task, **options)) as events:
            async for event in events:
                if isinstance(event, RunFinished):  # passed on once the run is not merely suspended
                    last = event
                    continue
                self._listener(journal.run_id, event, journal.was_repeated(event))
        self._listener(journal.run_id, last, journal.was_repeated(last))
        return last.result

    async def _answers(self, run_id: str) -> Mapping[str, Any]:
        (status,) = await self._statuses(run_id)
        attributes: Record = status.attributes or {}
        return {
            key[len(ANSWER) :]: value for key, value in attributes.items() if key.startswith(ANSWER)
        }

    async def _statuses(self, run_id: str) -> Sequence[WorkflowStatus]:
        read = partial(self._client.list_workflows_async, load_input=False, load_output=False)
        statuses: Sequence[WorkflowStatus] = await _apart(read, workflow_ids=[run_id])
        return statuses

    async def _note(self, run_id: str, attributes: Record) -> None:
        """Write attributes of the run's workflow."""
        update = self._client.update_workflow_attributes_async
        await _apart(update, run_id, attributes, merge=True)


def memory_from_list(agent: AnyAgent, data: Any) -> Memory | MemoryManager | None:
    """The memory that the agent continues; raises KeyError or ValueError."""
    if data is None:
        return None
    kind = MemoryManager if isinstance(agent, TinyCodeAgent) else Memory
    return kind.from_list(data)


def as_json(value: Any) -> Any:
    """An answer as JSON; values without a JSON form become text."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - see `import tinyagent`

    return to_jsonable_python(value, fallback=str, inf_nan_mode="strings")


async def _apart(call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
    """Await a call in a new context, outside the workflow."""
    awaited = cast("Any", call(*args, **kwargs))
    return await asyncio.create_task(awaited, context=contextvars.Context())


def _outcome(state: str, **parts: Any) -> Record:
    return {
        "state": state,
        "output": None,
        "error": "",
        "error_kind": "",
        "steps_taken": 0,
        "usage": Usage().to_dict(),
        "questions": [],
        **parts,
    }


_serving: Executions | None = None


def serve(executions: Executions | None) -> None:
    """Execute the runs of this process's queues; None to stop."""
    global _serving  # noqa: PLW0603 - DBOS has one instance a process, and finds a workflow by its name
    _serving = executions


WORKFLOW = "tinyagent.run"


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
async def run_agent(spec: Record) -> Record:
    """Execute the run of this workflow."""
    if _serving is None or DBOS.workflow_id is None:
        raise ConfigurationError("no runs are executed in this process")
    return await _serving.execute(DBOS.workflow_id, spec)

"""RunRecord, StepRecord and Question: what callers see of a run, its journal, and its waits.

A suspended run has no execution and holds nothing. The answer to a question is written to the run,
which is then enqueued; the next execution goes through its journal to the same call and finds the
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast

from dbos import StepInfo, WorkflowStatus

from tinyagent.core.errors import RunConflict
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import Usage
from tinyagent.core.untrusted import (
    as_array,
    as_object,
    take,
    take_list,
    take_object,
    take_optional,
)
from tinyagent.durable.records import Record, value_from_dict, value_or_text

DurableState = Literal[
    "queued",
    "running",
    "waiting",
    "needs_decision",
    "completed",
    "step_limit_reached",
    "usage_limit_reached",
    "refused",
    "cut_off",
    "cancelled",
    "error",
    "lost",
]
WAITS = ("waiting", "needs_decision")
"""The states of a suspended run."""

_STATE_OF: dict[str, DurableState] = {
    "DELAYED": "queued",
    "ENQUEUED": "queued",
    "PENDING": "running",
    "CANCELLED": "cancelled",
    "ERROR": "error",
}
Choice = Literal["retry", "skip", "abort"]
"""What to do about a call in doubt: make it again, continue without it, end the run."""
QuestionKind = Literal["approval", "in_doubt"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a run waits for.

    `place` names the call within the run. `kind` is `"approval"`, or `"in_doubt"` for a call that
    was started and whose result is not known. `doubt` says why a `Provenance` asks, and `origins`
    where each value comes from, in a line each.
    """

    place: str
    kind: QuestionKind
    tool: str
    arguments: Mapping[str, Any]
    asked: datetime
    doubt: str = ""
    origins: tuple[str, ...] = ()

    def to_dict(self) -> Record:
        """The JSON form."""
        return {
            "place": self.place,
            "kind": self.kind,
            "tool": self.tool,
            "arguments": value_or_text(dict(self.arguments)),
            "asked": self.asked.isoformat(),
            **({"doubt": self.doubt, "origins": list(self.origins)} if self.doubt else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Question:
        """Read the JSON form; raises ValueError."""
        arguments = value_from_dict(take_object(data, "arguments"))
        return cls(
            take(data, "place", str),
            "approval" if take(data, "kind", str) == "approval" else "in_doubt",
            take(data, "tool", str),
            cast("Record", arguments) if isinstance(arguments, dict) else {},
            datetime.fromisoformat(take(data, "asked", str)),
            take_optional(data, "doubt", str) or "",
            tuple(str(line) for line in as_array(data.get("origins")) or ()),
        )


def question(kind: QuestionKind, place: str, call: ToolCall) -> Question:
    """A question about a call, asked now."""
    origins = tuple(origin.describe() for origin in call.origins)
    now = datetime.now(UTC)
    return Question(place, kind, call.name, dict(call.arguments), now, call.doubt, origins)


TAG = "tag:"
"""The prefix of the workflow attributes that are tags of the run."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run and its state in the database.

    `state` is `"queued"`, `"running"`, `"waiting"` (for an approval), `"needs_decision"` (about a
    call in doubt), `"lost"` (it kept ending its process), or how the run ended. `output` is the
    answer as JSON, `error` a message and `error_kind` its class. `questions` are what it waits for.
    """

    run_id: str
    agent: str
    task: str
    state: DurableState
    created: datetime
    updated: datetime
    output: Any = None
    error: str = ""
    error_kind: str = ""
    steps_taken: int = 0
    usage: Usage = field(default_factory=Usage)
    questions: tuple[Question, ...] = ()
    attempts: int = 0
    executor_id: str = ""
    queue: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def has_ended(self) -> bool:
        """Whether it has ended: neither queued, running nor suspended."""
        return self.state not in ("queued", "running", *WAITS)

    def to_dict(self) -> Record:
        """The JSON form."""
        names = ("run_id", "agent", "task", "state", "output", "error", "error_kind", "steps_taken")
        more = ("attempts", "executor_id", "queue")
        return {
            **{name: getattr(self, name) for name in (*names, *more)},
            "created": self.created.isoformat(),
            "updated": self.updated.isoformat(),
            "usage": self.usage.to_dict(),
            "questions": [question.to_dict() for question in self.questions],
            "tags": dict(self.tags),
        }


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A record of a run's journal: its number and name, and when it was made."""

    number: int
    name: str
    recorded: datetime
    value: Any = field(repr=False)


def run_record(status: WorkflowStatus) -> RunRecord:
    """A DBOS workflow as a run."""
    spec = spec_of(status)
    outcome = _outcome(status)
    attributes = status.attributes or {}
    return RunRecord(
        run_id=status.workflow_id,
        agent=str(spec.get("agent", "")),
        task=_task_text(spec.get("task", "")),
        created=_time(status.created_at),
        updated=_time(status.updated_at),
        attempts=status.recovery_attempts or 0,
        executor_id=status.executor_id or "",
        queue=status.queue_name or "",
        tags={key[len(TAG) :]: value for key, value in attributes.items() if key.startswith(TAG)},
        **outcome,
    )


def _task_text(task: object) -> str:
    """The text of a task; images and documents, which may be large, are only named."""
    parts = as_array(task)
    if parts is None:
        return str(task)
    entries = [as_object(part) or {} for part in parts]
    return "\n".join(str(entry.get("text") or f"[{entry.get('type')}]") for entry in entries)


def spec_of(status: WorkflowStatus) -> Record:
    """The input with which the run was started."""
    args = (status.input or {"args": ()})["args"]
    return cast("Record", args[0]) if args and isinstance(args[0], dict) else {}


def step_record(step: StepInfo) -> StepRecord:
    """A DBOS step as a record of the journal."""
    return StepRecord(
        step["function_id"],
        step["function_name"],
        _time(step["completed_at_epoch_ms"]),
        step["output"],
    )


def only_question(record: RunRecord, kind: str, call: str) -> Question:
    """The question that an answer is for; raises RunConflict."""
    of_kind = [question for question in record.questions if question.kind == kind]
    matching = [question for question in of_kind if call in ("", question.place)]
    if len(matching) == 1:
        return matching[0]
    what = "an approval" if kind == "approval" else "a decision"
    if not of_kind:
        raise RunConflict(f"run {record.run_id!r} does not wait for {what}: it is {record.state}")
    places = ", ".join(f"{question.place!r} ({question.tool})" for question in of_kind)
    raise RunConflict(f"run {record.run_id!r} waits for several; name one with call: {places}")


def _outcome(status: WorkflowStatus) -> Record:
    """The parts of a run's record that its last execution has set."""
    output = status.output
    if status.status != "SUCCESS" or not isinstance(output, dict):
        error = "" if status.error is None else str(status.error)
        return {"state": _STATE_OF.get(status.status, "error"), "error": error}
    outcome = cast("Record", output)
    return {
        "state": take(outcome, "state", str),
        "output": outcome.get("output"),
        "error": take(outcome, "error", str),
        "error_kind": take(outcome, "error_kind", str),
        "steps_taken": take(outcome, "steps_taken", int),
        "usage": Usage.from_dict(take_object(outcome, "usage")),
        "questions": tuple(Question.from_dict(one) for one in take_list(outcome, "questions")),
    }


def _time(milliseconds: int | None) -> datetime:
    return datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)

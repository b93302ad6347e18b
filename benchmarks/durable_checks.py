"""The verdict on a campaign: compares the model's notes, the tools' table and the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from durable_effects import Call, amount_of
from durable_model import STEPS, Asked
from sqlalchemy import column, create_engine, select, table

from tinyagent.durable.cursor import digest

_SLACK_SECONDS = 0.002
"""The journal's times are whole milliseconds."""

Place = tuple[str, str, int]
"""Model turn or tool call: ("model" or the tool's name, run, turn or step)."""


class Action(NamedTuple):
    """Something that a worker did for a run."""

    place: Place
    worker: str
    began: float
    ended: float | None


@dataclass(frozen=True)
class Evidence:
    """The evidence of a campaign.

    Attributes:
        answers: what each run answered.
        asked: the requests that came to the model.
        calls: the calls in the tools' table.
        recorded: when the journal has which action.
        reported: calls in doubt that were shown: run, step, when.
        decided: "retry" or "skip" for each of them.
        killed: when each worker died.
    """

    answers: Mapping[str, object]
    asked: Sequence[Asked]
    calls: Sequence[Call]
    recorded: Mapping[Place, float]
    reported: Sequence[tuple[str, int, float]]
    decided: Sequence[str]
    killed: Mapping[str, float]

    def actions(self) -> list[Action]:
        """Requests and calls, in the order of their beginning."""
        asked = [Action(("model", a.run, a.turn), a.worker, a.began, a.ended) for a in self.asked]
        called = [Action((c.tool, c.run, c.step), c.worker, c.began, c.ended) for c in self.calls]
        return sorted(asked + called, key=lambda action: action.began)


@dataclass
class Verdict:
    """The figures and the faults of a campaign."""

    figures: dict[str, float] = field(default_factory=dict[str, float])
    faults: list[str] = field(default_factory=list[str])


def judge(evidence: Evidence) -> Verdict:
    """Look for faults of every kind."""
    verdict = Verdict()
    actions = evidence.actions()
    verdict.faults += _wrong_answers(evidence)
    verdict.faults += _repeated(actions, evidence.recorded)
    verdict.faults += _two_at_once(actions, evidence)
    verdict.faults += _doubts(evidence)
    tries = _by_place(actions)
    deposits = [tries[place] for place in tries if place[0] == "deposit"]
    verdict.figures = {
        "runs": len(evidence.answers),
        "kills": len(evidence.killed),
        "kills that hit a run": len(_hits(actions, evidence)),
        "model calls": len(evidence.asked),
        "of them again, the first unrecorded": _again(tries, {"model"}),
        "tool calls": len(evidence.calls),
        "of them again, idempotent": _again(tries, {"look_up"}),
        "caught in the middle, not idempotent": len(_caught(evidence)),
        "reported": len(evidence.reported),
        "made again after a decision": sum(len(tried) - 1 for tried in deposits),
        "faults": len(verdict.faults),
    }
    return verdict


def recorded(database: str, runs: Iterable[str]) -> dict[Place, float]:
    """When the journal recorded which action, in seconds since the epoch."""
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    schema = None if engine.dialect.name == "sqlite" else "dbos"
    names = ("workflow_uuid", "function_id", "function_name", "completed_at_epoch_ms")
    steps = table("operation_outputs", *(column(name) for name in names), schema=schema)
    query = select(steps.c.function_name, steps.c.completed_at_epoch_ms)
    query = query.order_by(steps.c.function_id)
    found: dict[Place, float] = {}
    with engine.connect() as connection:
        for run in runs:
            rows = connection.execute(query.where(steps.c.workflow_uuid == run))
            found |= _places(run, [(name, when / 1000) for name, when in rows])
    engine.dispose()
    return found


def _places(run: str, steps: Iterable[tuple[str, float]]) -> dict[Place, float]:
    """The records by action: the model's in their order, calls by their digest."""
    found: dict[Place, float] = {}
    turn = 0
    for name, when in steps:
        place, _, what = name.partition(" ")
        kind, _, tool = what.partition(" ")
        if kind == "model":
            found["model", run, turn] = when
            turn += 1
        elif kind == "tool":
            asked = place.partition(".")[2].partition("-")[0]
            step = next(s for s in range(STEPS) if digest(tool, {"run": run, "step": s}) == asked)
            found[tool, run, step] = when
    return found


def expected(run: str) -> str:
    """What a run must answer."""
    return str(sum(amount_of(run, step) for step in range(1, STEPS)))


def _by_place(actions: Iterable[Action]) -> dict[Place, list[Action]]:
    found: dict[Place, list[Action]] = defaultdict(list)
    for action in actions:
        found[action.place].append(action)
    return found


def _again(tries: Mapping[Place, list[Action]], kinds: set[str]) -> int:
    return sum(len(tried) - 1 for place, tried in tries.items() if place[0] in kinds)


def _wrong_answers(evidence: Evidence) -> list[str]:
    return [
        f"{run} answered {answer!r}, not {expected(run)!r}"
        for run, answer in evidence.answers.items()
        if answer != expected(run)
    ]


def _repeated(actions: Sequence[Action], recorded: Mapping[Place, float]) -> list[str]:
    """Actions that began after the journal had their record."""
    return [
        f"{action.place} was made again by {action.worker} although it was recorded"
        for action in actions
        if action.began > recorded.get(action.place, action.began) + _SLACK_SECONDS
    ] + [
        f"{place} was made and is not in the journal"
        for place, tried in _by_place(actions).items()
        if place not in recorded and place[0] == "model"
    ]


def _two_at_once(actions: Sequence[Action], evidence: Evidence) -> list[str]:
    """A run changes its worker only if that one is dead, or if the run was suspended."""
    faults: list[str] = []
    suspended: dict[str, list[float]] = defaultdict(list)
    for run, _, when in evidence.reported:
        suspended[run].append(when)
    by_run: dict[str, list[Action]] = defaultdict(list)
    for action in actions:
        by_run[action.place[1]].append(action)
    for run, done in by_run.items():
        for before, after in pairwise(done):
            if before.worker == after.worker:
                continue
            died = evidence.killed.get(before.worker, float("inf"))
            rested = any(before.began < when < after.began for when in suspended[run])
            if died > after.began and not rested:
                faults.append(f"{run} went from {before.worker} to {after.worker}, which was alive")
    return faults


def _caught(evidence: Evidence) -> list[Call]:
    return [call for call in evidence.calls if call.tool == "deposit" and call.ended is None]


def _doubts(evidence: Evidence) -> list[str]:
    """Interrupted calls that were not reported, or that were made again without a decision."""
    reported: dict[tuple[str, int], int] = defaultdict(int)
    retried: dict[tuple[str, int], int] = defaultdict(int)
    for (run, step, _), decision in zip(evidence.reported, evidence.decided, strict=True):
        reported[run, step] += 1
        retried[run, step] += decision == "retry"
    caught: dict[tuple[str, int], int] = defaultdict(int)
    made: dict[tuple[str, int], int] = defaultdict(int)
    for call in evidence.calls:
        if call.tool == "deposit":
            made[call.run, call.step] += 1
            caught[call.run, call.step] += call.ended is None
    silent = [
        f"{at} was interrupted and not reported" for at in caught if caught[at] > reported[at]
    ]
    again = [f"{at} was made again without a decision" for at in made if made[at] > 1 + retried[at]]
    return silent + again


def _hits(actions: Sequence[Action], evidence: Evidence) -> set[str]:
    """The killed workers that had begun something."""
    return {action.worker for action in actions} & set(evidence.killed)

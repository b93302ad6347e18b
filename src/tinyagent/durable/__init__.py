"""Durable runs: they survive their process, on one machine or many (extra `durable`)."""

from importlib.util import find_spec

from tinyagent.core.errors import missing_extra

if find_spec("dbos") is None:
    raise ModuleNotFoundError(missing_extra("tinyagent.durable", "durable"), name="dbos")

from tinyagent.core.errors import ReplayDiverged, RunAborted, RunConflict, UnknownRun
from tinyagent.durable.queues import QueueOptions
from tinyagent.durable.runs import DurableRuns
from tinyagent.durable.states import DurableState, Question, RunRecord, StepRecord

__all__ = [
    "DurableRuns",
    "DurableState",
    "Question",
    "QueueOptions",
    "ReplayDiverged",
    "RunAborted",
    "RunConflict",
    "RunRecord",
    "StepRecord",
    "UnknownRun",
]

"""Durable runs: they survive their process, on one machine or many (extra `durable`)."""

from tinyagent.core.errors import ReplayDiverged, RunAborted, RunConflict, UnknownRun
from tinyagent.durable.questions import Question
from tinyagent.durable.queues import QueueOptions
from tinyagent.durable.runs import DurableRuns
from tinyagent.durable.states import DurableState, RunRecord, StepRecord

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

"""How a run is started: what DBOS is told to enqueue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from dbos import EnqueueOptions

from tinyagent.durable.records import Record
from tinyagent.durable.states import TAG
from tinyagent.durable.workflow import WORKFLOW
from tinyagent.memory.memory import Memory, MemoryManager

VERSION = "tinyagent-1"
"""Of the journal: a worker of this version can go on with any run of it."""

NO_KEY = "-"
"""The key of runs without one: a queue that is fair per key takes no run that has none at all."""


class StartOptions(TypedDict, total=False):
    """How a run is started.

    `queue` is where workers take it from; `priority` is 1 for the first, 0 for none; `key` is what
    a queue that is fair per key goes by, where runs without one count as of one. `memory` is that
    of an earlier run to go on from, as an object or as JSON. `tags` can be looked for.
    """

    queue: str
    max_steps: int | None
    memory: Memory | MemoryManager | Sequence[Record] | None
    tags: Mapping[str, str]
    priority: int
    key: str | None


def enqueue_options(run_id: str, agent: str, options: StartOptions) -> EnqueueOptions:
    """What DBOS is told to enqueue."""
    queue, key = options.get("queue", "default"), options.get("key") or NO_KEY
    tags = tag_attributes(options.get("tags", {}))
    enqueue: EnqueueOptions = {
        "workflow_name": WORKFLOW,
        "queue_name": queue,
        "workflow_id": run_id,
        "app_version": VERSION,
        "attributes": {"agent": agent, "queue": queue, "key": key, **tags},
        "queue_partition_key": key,
    }
    priority = options.get("priority", 0)
    if priority:
        enqueue["priority"] = priority
    return enqueue


def tag_attributes(tags: Mapping[str, str]) -> Record:
    """The attributes of a workflow that are its run's tags."""
    return {f"{TAG}{name}": clean(value) for name, value in tags.items()}


def clean(text: str) -> str:
    """The text as PostgreSQL's JSON can hold it."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()

"""Queues: how runs are enqueued, how many run at once, and how often one may start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypedDict

from dbos import DBOS, EnqueueOptions

from tinyagent.core.errors import ConfigurationError
from tinyagent.durable.records import Record
from tinyagent.durable.states import TAG
from tinyagent.durable.workflow import WORKFLOW
from tinyagent.memory.memory import Memory, MemoryManager

VERSION = "tinyagent-1"
"""Of the journal: a worker of this version can continue any run of it."""

NO_KEY = "-"
"""The key of runs without one: a queue with a limit per key takes only runs that have a key."""

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_RATE = re.compile(r"(\d+)/(\d+(?:\.\d+)?)?([smh]?)")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `starts` starts within any window of `seconds` seconds."""

    starts: int
    seconds: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `60/m`, `5/s`, `100/30s`.

        Raises:
            ConfigurationError: The text has another form, or one of its numbers is zero.
        """
        match = _RATE.fullmatch(text)
        if match is not None and (match[2] or match[3]):
            starts, seconds = int(match[1]), float(match[2] or 1) * _UNITS[match[3]]
            if starts > 0 and seconds > 0:
                return cls(starts, seconds)
        raise ConfigurationError(f"{text!r} is not a rate; write starts/time: 60/m, 5/s, 100/30s")


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """The limits of a queue for all of its workers, kept in the runs' database.

    Attributes:
        per_worker: Runs at once in one worker; None for any number.
        in_all: Runs at once in all workers together.
        rate: How often a run may start, in all workers together. A queue for each model makes
            this a rate for each model.
        per_key: Runs at once of one key, for example of one customer; keys take turns.
        poll_seconds: How often an idle worker looks for runs.

    Raises:
        ConfigurationError: A number is not positive.
    """

    per_worker: int | None = 10
    in_all: int | None = None
    rate: Rate | None = None
    per_key: int | None = None
    poll_seconds: float = 0.5

    def __post_init__(self) -> None:
        for name in ("per_worker", "in_all", "per_key", "poll_seconds"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigurationError(f"a queue's {name} must be more than 0, got {value}")

    async def register(self, name: str, *, overwrite: bool = True) -> None:
        """Write the options of the queue `name` into the database of the launched runs.

        Args:
            name: The queue.
            overwrite: Whether to replace options that another worker has written.
        """
        await DBOS.register_queue_async(
            name,
            worker_concurrency=_at_most(self.per_worker, self.in_all),
            global_concurrency=self.in_all,
            partition_concurrency=_at_most(self.per_key, self.in_all),
            limiter=(
                {"limit": self.rate.starts, "period": self.rate.seconds} if self.rate else None
            ),
            polling_interval_sec=self.poll_seconds,
            on_conflict="always_update" if overwrite else "never_update",
        )


def _at_most(value: int | None, bound: int | None) -> int | None:
    return value if value is None or bound is None else min(value, bound)


class StartOptions(TypedDict, total=False):
    """How a run is started.

    `queue` is the queue that workers take it from. `priority` is 1 for the first; 0, the default,
    comes before all. `key` is what limits per key count by; runs without one share one. `memory`
    is that of an earlier run to continue, as an object or as JSON. `tags` can be searched for.
    """

    queue: str
    max_steps: int | None
    memory: Memory | MemoryManager | Sequence[Record] | None
    tags: Mapping[str, str]
    priority: int
    key: str | None


def enqueue_options(run_id: str, agent: str, options: StartOptions) -> EnqueueOptions:
    """The options with which DBOS enqueues a run."""
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
    """Tags of a run as attributes of its workflow."""
    return {f"{TAG}{name}": clean(value) for name, value in tags.items()}


def clean(text: str) -> str:
    """The text without what PostgreSQL's JSON cannot hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()

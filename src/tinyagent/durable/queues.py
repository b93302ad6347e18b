"""Queue options: how many runs go on at once, and how often one may start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from dbos import DBOS

from tinyagent.core.errors import ConfigurationError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_RATE = re.compile(r"(\d+)/(\d+(?:\.\d+)?)?([smh]?)")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many starts within any window of so many seconds."""

    starts: int
    seconds: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `60/m`, `5/s`, `100/30s`.

        Raises:
            ConfigurationError: it is none of these, or one of its numbers is zero.
        """
        match = _RATE.fullmatch(text)
        if match is not None and (match[2] or match[3]):
            starts, seconds = int(match[1]), float(match[2] or 1) * _UNITS[match[3]]
            if starts > 0 and seconds > 0:
                return cls(starts, seconds)
        raise ConfigurationError(f"{text!r} is no rate; write starts/time: 60/m, 5/s, 100/30s")


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """What holds for a queue, whoever takes runs from it; it is kept in the runs' database.

    Attributes:
        per_worker: runs at once in one worker; None for any number.
        in_all: runs at once in all workers together.
        rate: how often a run may start, in all workers together. A queue for each model makes
            this a rate for each model.
        per_key: runs at once of one key, for example of one customer; keys take turns. Every run
            of such a queue is given a key.
        poll_seconds: how often an idle worker looks.

    Raises:
        ConfigurationError: a number is not positive, or one worker may run more than all.
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
            name: the queue.
            overwrite: else options that another worker has written stay.
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

"""Suspects: runs whose process keeps dying run alone, so that no other run dies with them.

When a process dies, nobody knows which of its runs was the cause. A run that two processes have
died with, and that has recorded nothing since, is a suspect: its next execution is the only one of
its process. Each such execution is counted before it begins; a run that has made a record is not a
suspect any longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from tinyagent.core.untrusted import as_object, take
from tinyagent.durable.records import Record

LIVES = "lives"
"""The workflow attribute that counts a run's executions since its last record."""
MOST_LIVES = 20
"""After so many deaths without a record a run is lost."""
_SUSPICIOUS = 2
# How long a suspect waits until it is alone, and how long others wait for suspects. All waits end,
# because a run may wait for another run of its process.
_SUSPECT_SECONDS = 600.0
_OTHERS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lives:
    """How many executions a run has begun with this number of records."""

    records: int
    begun: int

    @classmethod
    def after_death(cls, attributes: Mapping[str, Any], records: int) -> Self:
        """Those of a run whose process has died, with the execution that begins now.

        Args:
            attributes: Of the workflow.
            records: How many records it has.
        """
        noted = as_object(attributes.get(LIVES)) or {}
        before = take(noted, "begun", int) if noted.get("records") == records else 1
        return cls(records, before + 1)

    @property
    def is_suspect(self) -> bool:
        """Whether the run must run alone."""
        return self.begun > _SUSPICIOUS

    @property
    def are_over(self) -> bool:
        """Whether the run has had too many."""
        return self.begun > MOST_LIVES

    def obituary(self) -> str:
        """Why the run is lost."""
        return (
            f"its process died {self.begun - 1} times after record {self.records} of the run, each"
            " time but the first two with no other run in it; find out what its next call does to"
            " the process, and resume the run"
        )

    def to_attributes(self) -> Record:
        """The attribute to note."""
        return {LIVES: {"records": self.records, "begun": self.begun}}


class Room:
    """Lets executions of one process begin: any number at once, but each suspect alone."""

    def __init__(self) -> None:
        self._inside = 0
        self._suspects = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def entered(self, *, is_suspect: bool) -> AsyncGenerator[None]:
        """Around an execution; waits until it may begin."""
        self._suspects += is_suspect
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SUSPECT_SECONDS if is_suspect else _OTHERS_SECONDS):
                    while self._inside if is_suspect else self._suspects:
                        self._changed.clear()
                        await self._changed.wait()
            self._inside += 1
            try:
                yield
            finally:
                self._inside -= 1
        finally:
            self._suspects -= is_suspect
            self._changed.set()

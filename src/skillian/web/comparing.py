"""Comparing: one comparison under way, in this process or, as a durable run, in any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from skillian.api.durable_runs import Durable
from skillian.api.problems import ProblemError
from skillian.data.declare.saved import SavedComparison
from skillian.errors import ToolError
from skillian.web import work
from skillian.web.frame import Visit

LOOK_SECONDS = 0.5


class Comparing:
    """Compares.

    Args:
        visit: who asks.
        asked: what is compared.
        tell: is told how far it is.
    """

    def __init__(self, visit: Visit, asked: SavedComparison, tell: Callable[[str], object]) -> None:
        self._visit = visit
        self._asked = asked
        self._tell = tell
        self._starting: asyncio.Task[dict[str, Any]] | None = None
        self._task: asyncio.Task[str] | None = None

    async def key(self) -> str:
        """The key of the comparison, once it is made.

        Raises:
            CancelledError: it was stopped, or left.
            ToolError: it cannot be compared.
            ProblemError: as much is under way as this server takes on, or its run has failed.
        """
        durable = self._visit.service.durable
        made = self._here() if durable is None else self._anywhere(durable)
        self._task = asyncio.create_task(made)
        return await self._task

    def leave(self) -> None:
        """Wait for it no more: in this process it ends, a run goes on."""
        if self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """End it, wherever it is made."""
        self.leave()
        durable = self._visit.service.durable
        if durable is not None and self._starting is not None:
            work.start(self._cancel(durable, self._starting), "cancel a run")

    async def _here(self) -> str:
        groups: dict[str, int] = {}

        def progress(source: str, count: int) -> None:
            groups[source] = count
            self._tell("; ".join(f"{name}: {n} groups" for name, n in groups.items()))

        with self._visit.service.slots.taken():
            told = await self._visit.service.comparisons.compare(self._asked, progress)
        return str(told["cache_key"])

    async def _anywhere(self, durable: Durable) -> str:
        self._starting = asyncio.create_task(durable.compare(self._visit.owner, self._asked))
        run = await asyncio.shield(self._starting)
        while run["state"] in ("queued", "running"):
            waits = "Waits for its turn …" if run["state"] == "queued" else "Comparing …"
            self._tell(run["progress"] or waits)
            await asyncio.sleep(LOOK_SECONDS)
            run = await durable.get(self._visit.owner, run["id"])
        if run["state"] == "completed":
            return str(run["cache_key"])
        raise ProblemError(500, "run_failed", run["error"] or "This comparison was cancelled.")

    async def _cancel(self, durable: Durable, starting: asyncio.Task[dict[str, Any]]) -> None:
        with suppress(ToolError, ProblemError):  # it was refused, or is over
            await durable.cancel(self._visit.owner, (await starting)["id"])

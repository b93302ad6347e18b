"""Comparing: one comparison of a visitor, as a job in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from skillian.api.problems import ProblemError
from skillian.data.saved import SavedComparison
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
        self._task = asyncio.create_task(self._compare())
        return await self._task

    def leave(self) -> None:
        """Stop waiting for it; the job goes on."""
        if self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """Cancel it."""
        self.leave()
        if self._starting is not None:
            work.start(self._cancel(self._starting), "cancel a run")

    async def _compare(self) -> str:
        runs = self._visit.service.runs
        self._starting = asyncio.create_task(runs.compare(self._visit.owner, self._asked))
        run = await asyncio.shield(self._starting)
        while run["state"] in ("queued", "running"):
            waits = "Waits for its turn …" if run["state"] == "queued" else "Comparing …"
            self._tell(run["progress"] or waits)
            await asyncio.sleep(LOOK_SECONDS)
            run = await runs.get(self._visit.owner, run["id"])
        if run["state"] == "completed":
            return str(run["cache_key"])
        raise ProblemError(500, "run_failed", run["error"] or "This comparison was cancelled.")

    async def _cancel(self, starting: asyncio.Task[dict[str, Any]]) -> None:
        with suppress(ToolError, ProblemError):  # it was refused, or is over
            await self._visit.service.runs.cancel(self._visit.owner, (await starting)["id"])

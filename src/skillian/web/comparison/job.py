"""One comparison that the form started, as a job in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from skillian.api.problems import ProblemError
from skillian.data.declare.saved import SavedComparison
from skillian.errors import ToolError
from skillian.web.shell.activity import start_task
from skillian.web.shell.frame import Visit

POLL_SECONDS = 0.5


class ComparisonJob:
    """Compares two sources and reports the progress.

    Args:
        visit: The visit whose form started it.
        comparison: What to compare.
        report: Gets a text that describes the progress.
    """

    def __init__(
        self, visit: Visit, comparison: SavedComparison, report: Callable[[str], object]
    ) -> None:
        self._visit = visit
        self._comparison = comparison
        self._report = report
        self._starting: asyncio.Task[dict[str, Any]] | None = None
        self._task: asyncio.Task[str] | None = None

    async def run(self) -> str:
        """Compare.

        Returns:
            The key of the comparison.

        Raises:
            CancelledError: The reader stopped it or left the page.
            ToolError: The sources cannot be compared.
            ProblemError: The job failed.
            TooManyWaiting: Too many comparisons of this visitor are queued.
        """
        self._task = asyncio.create_task(self._compare())
        return await self._task

    def leave(self) -> None:
        """Stop waiting; the job continues."""
        if self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """End the comparison."""
        self.leave()
        if self._starting is not None:
            start_task(self._cancel(self._starting), "cancel a run")

    async def _compare(self) -> str:
        runs = self._visit.service.runs
        self._starting = asyncio.create_task(runs.compare(self._visit.owner, self._comparison))
        run = await asyncio.shield(self._starting)
        while run["state"] in ("queued", "running"):
            default = "Waiting in the queue …" if run["state"] == "queued" else "Comparing …"
            self._report(run["progress"] or default)
            await asyncio.sleep(POLL_SECONDS)
            run = await runs.get(self._visit.owner, run["id"])
        if run["state"] == "completed":
            return str(run["cache_key"])
        raise ProblemError(500, "run_failed", run["error"] or "This comparison was cancelled.")

    async def _cancel(self, starting: asyncio.Task[dict[str, Any]]) -> None:
        with suppress(ToolError, ProblemError):  # it was refused, or has ended already
            await self._visit.service.runs.cancel(self._visit.owner, (await starting)["id"])

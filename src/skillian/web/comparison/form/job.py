"""A comparison that a view starts: its button, its progress, the button that stops it, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.display import printable
from skillian.errors import InvalidInputError, ToolError
from skillian.storage import StorageError
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button
from skillian.web.shell.frame import Visit

SAME = "A and B are the same. Choose two."

ShowError = Callable[[str, bool], bool]
"""Gets a message, and whether it is about the input; returns whether a field shows it."""


class JobControls:
    """A button that compares, with the progress, a button that stops it, and errors.

    Args:
        visit: The visit.
        name: The text of the button.
        read: Gives what to compare; None if it has shown why there is nothing.
        show_error: Shows an error next to its field, if there is such a field.
        form: Starts the comparison when it is submitted, such as with Enter.
        label: The name of the button for screen readers, if it is longer than its text.

    Attributes:
        error: Shows the errors that belong to no field.
    """

    def __init__(
        self,
        visit: Visit,
        name: str,
        read: Callable[[], SavedComparison | None],
        show_error: ShowError | None = None,
        form: ui.element | None = None,
        *,
        label: str = "",
    ) -> None:
        self._visit = visit
        self._read = read
        self._show_error = show_error
        self._job: ComparisonJob | None = None
        self.error = ui.label().classes("fault").props("role=alert")
        with ui.element("div").classes("line"):
            self._start = Button(name, kind="primary", label=label)
            self._stop = Button("Stop", self._cancel)
            self._progress = ui.label().classes("soft").props("role=status")
        self._stop.set_visibility(False)
        if form is None:
            self._start.on_click(self._compare)
        else:
            self._start.props("type=submit")
            form.on("submit.prevent", self._compare)
        client: Any = ui.context.client
        client.on_delete(self._leave)

    async def _compare(self) -> None:
        self.error.set_text("")
        comparison = self._read()
        if comparison is None:
            return
        self._set_busy(is_busy=True)
        self._job = ComparisonJob(self._visit, comparison, self._progress.set_text)
        try:
            key = await self._job.run()
        except asyncio.CancelledError:
            self.error.set_text("Stopped.")
        except (ToolError, StorageError, ProblemError) as error:
            self._report(error)
        else:
            ui.navigate.to(f"/compare/{key}")
            return
        self._set_busy(is_busy=False)

    def _report(self, error: ToolError | StorageError | ProblemError) -> None:
        message = problem_of(error).detail
        is_about_input = isinstance(error, InvalidInputError)
        if self._show_error is None or not self._show_error(message, is_about_input):
            self.error.set_text(printable(message))

    def _set_busy(self, *, is_busy: bool) -> None:
        self._start.set_enabled(not is_busy)
        self._stop.set_visibility(is_busy)
        self._progress.set_text("Comparing …" if is_busy else "")

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.stop()

    def _leave(self) -> None:
        if self._job is not None:
            self._job.leave()


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

"""The form that starts a comparison as a background job. Each error is shown next to its field."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.errors import InvalidInputError, ToolError
from skillian.storage import StorageError
from skillian.web.comparison.fields import FilterFields, LimitFields, select
from skillian.web.comparison.row_fields import RowFields
from skillian.web.shell.activity import start_task
from skillian.web.shell.elements import Heading, set_options
from skillian.web.shell.frame import Visit


async def compare_form(visit: Visit) -> None:
    """Show the form; the result opens on another page."""
    with ui.element("div").classes("stack"):
        Heading("Compare two sources", 1)
        if visit.service.data.registry.names:
            _Form(visit)
        else:
            ui.label("There are no sources yet. Declare them in sources.yaml.")


class _Form:
    """The fields, and the comparison that they start."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        names = list(visit.service.data.registry.names)
        with ui.element("form").classes("compare-form stack") as form:
            form.props["aria-label"] = "Compare two sources"
            form.on("submit.prevent", self._compare)
            with ui.element("div").classes("form-grid"):
                self._a = select("Source A, the baseline", names, names[0])
                self._b = select("Source B", names, names[1 % len(names)])
                self._measures = select("Measures", [], [], multiple=True)
                self._measures.props["hint"] = "Without a measure, whole rows are compared."
                self._align_on = select("Group by", [], [], multiple=True)
            self._rows = RowFields(visit.service.data.catalogue)
            self._filters = FilterFields()
            self._limits = LimitFields()
            self._error = ui.label().classes("fault").props("role=alert")
            with ui.element("div").classes("line"):
                self._submit = ui.button("Compare").props("unelevated type=submit")
                self._stop_button = ui.button("Stop", on_click=self._stop).props("outline")
                self._progress = ui.label().classes("soft").props("role=status")
        self._stop_button.set_visibility(False)
        self._job: ComparisonJob | None = None
        client: Any = ui.context.client
        client.on_delete(self._leave)
        self._a.on_value_change(self._update_options)
        self._b.on_value_change(self._update_options)
        self._measures.on_value_change(self._update_kind)
        self._update_options()

    def _update_options(self) -> None:
        """Offer what the two selected sources have in common."""
        shared = self._visit.service.data.registry.shared(self._a.value, self._b.value)
        set_options(self._measures, shared.measures, list(shared.measures[:1]))
        set_options(self._align_on, shared.dimensions, list(shared.align_on))
        self._filters.set_dimensions(shared.dimensions)
        self._update_kind()

    def _update_kind(self) -> None:
        """Show the fields of measures or those of whole rows."""
        has_measures = bool(self._measures.value)
        self._align_on.set_visibility(has_measures)
        self._limits.room.set_visibility(has_measures)
        self._rows.room.set_visibility(not has_measures)
        if not has_measures:
            start_task(self._rows.offer(self._a.value, self._b.value), "columns", self._rows.room)

    async def _compare(self) -> None:
        comparison = self._read()
        if comparison is None:
            return
        self._set_busy(is_busy=True)
        self._job = ComparisonJob(self._visit, comparison, self._progress.set_text)
        try:
            key = await self._job.run()
        except asyncio.CancelledError:
            self._error.set_text("Stopped.")
        except (ToolError, StorageError, ProblemError) as error:
            self._show_error(error)
        else:
            ui.navigate.to(f"/compare/{key}")
        finally:
            self._set_busy(is_busy=False)

    def _read(self) -> SavedComparison | None:
        """The comparison that the fields describe; None if a field shows an error."""
        self._error.set_text("")
        filters = self._filters.read()
        how = self._read_measures() if self._measures.value else self._rows.read()
        if filters is None or how is None:
            return None
        return SavedComparison(
            name="comparison", a=self._a.value, b=self._b.value, filters=filters, **how
        )

    def _read_measures(self) -> dict[str, Any] | None:
        """The fields of a comparison of measures; None if a field shows an error."""
        self._measures.error = None
        self._align_on.error = None if self._align_on.value else "Choose at least one dimension."
        limits = self._limits.read()
        if limits is None or self._align_on.error:
            return None
        return {
            "measures": tuple(self._measures.value),
            "align_on": tuple(self._align_on.value),
            "thresholds": limits,
        }

    def _show_error(self, error: ToolError | StorageError | ProblemError) -> None:
        """Show an error next to the field that it is about, otherwise above the buttons."""
        message = problem_of(error).detail
        if isinstance(error, InvalidInputError) and self._filters.show_error(message):
            return
        for field in (self._measures, self._align_on, *self._rows.choices):
            if any(repr(name) in message for name in field.value):
                field.error = message
                return
        self._error.set_text(message)

    def _set_busy(self, *, is_busy: bool) -> None:
        self._submit.set_enabled(not is_busy)
        self._stop_button.set_visibility(is_busy)
        self._progress.set_text("Comparing …" if is_busy else "")

    def _stop(self) -> None:
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

"""The form that a comparison is asked for with; each fault stands beside its field."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.errors import InvalidInputError, ToolError
from skillian.storage import StorageError
from skillian.web.choices import offer
from skillian.web.comparing import Comparing
from skillian.web.filter_fields import FilterFields
from skillian.web.frame import Visit
from skillian.web.heading import Heading
from skillian.web.limit_fields import LimitFields


async def compare_form(visit: Visit) -> None:
    """Show the form; what it compares is shown on a page of its own."""
    with ui.element("div").classes("stack"):
        Heading("Compare two sources", 1)
        if visit.service.data.registry.names:
            _Form(visit)
        else:
            ui.label("There are no sources yet; declare them in sources.yaml.")


class _Form:
    """The fields, and what becomes of them."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        names = list(visit.service.data.registry.names)
        with ui.element("form").classes("compare-form stack") as form:
            form.props["aria-label"] = "Compare two sources"
            form.on("submit.prevent", self._compare)
            with ui.element("div").classes("form-grid"):
                self._a = _select("Source A, the baseline", names, names[0])
                self._b = _select("Source B", names, names[1 % len(names)])
                self._measures = _select("Measures", [], [], multiple=True)
                self._align_on = _select("Group by", [], [], multiple=True)
            self._filters = FilterFields()
            self._limits = LimitFields()
            self._fault = ui.label().classes("fault").props("role=alert")
            with ui.element("div").classes("line"):
                self._submit = ui.button("Compare").props("unelevated type=submit")
                self._stopper = ui.button("Stop", on_click=self._stop).props("outline")
                self._progress = ui.label().classes("soft").props("role=status")
        self._stopper.set_visibility(False)
        self._comparing: Comparing | None = None
        client: Any = ui.context.client
        client.on_delete(self._leave)
        self._a.on_value_change(self._offer)
        self._b.on_value_change(self._offer)
        self._offer()

    def _offer(self) -> None:
        """Offer what both sources have."""
        shared = self._visit.service.data.registry.shared(self._a.value, self._b.value)
        offer(self._measures, shared.measures, list(shared.measures[:1]))
        offer(self._align_on, shared.dimensions, list(shared.align_on))
        self._filters.offer(shared.dimensions)
        self._measures.error = (
            None if shared.measures else "These two have no measure of the same name."
        )

    async def _compare(self) -> None:
        asked = self._read()
        if asked is None:
            return
        self._work(is_working=True)
        self._comparing = Comparing(self._visit, asked, self._progress.set_text)
        try:
            key = await self._comparing.key()
        except asyncio.CancelledError:
            self._fault.set_text("Stopped.")
        except (ToolError, StorageError, ProblemError) as error:
            self._blame(error)
        else:
            ui.navigate.to(f"/compare/{key}")
        finally:
            self._work(is_working=False)

    def _read(self) -> SavedComparison | None:
        """What is asked for; None where a field is wrong, which then says so."""
        self._fault.set_text("")
        self._measures.error = None if self._measures.value else "Choose at least one measure."
        self._align_on.error = None if self._align_on.value else "Choose at least one dimension."
        filters, limits = self._filters.read(), self._limits.read()
        if filters is None or limits is None or self._measures.error or self._align_on.error:
            return None
        return SavedComparison(
            name="comparison",
            a=self._a.value,
            b=self._b.value,
            measures=tuple(self._measures.value),
            align_on=tuple(self._align_on.value),
            filters=filters,
            thresholds=limits,
        )

    def _blame(self, error: ToolError | StorageError | ProblemError) -> None:
        """Show a fault beside the field that it is of, else above the buttons."""
        fault = problem_of(error).detail
        if isinstance(error, InvalidInputError) and self._filters.blame(fault):
            return
        for field in (self._measures, self._align_on):
            if any(repr(name) in fault for name in field.value):
                field.error = fault
                return
        self._fault.set_text(fault)

    def _work(self, *, is_working: bool) -> None:
        self._submit.set_enabled(not is_working)
        self._stopper.set_visibility(is_working)
        self._progress.set_text("Comparing …" if is_working else "")

    def _stop(self) -> None:
        if self._comparing is not None:
            self._comparing.stop()

    def _leave(self) -> None:
        if self._comparing is not None:
            self._comparing.leave()


def _select(label: str, names: list[str], value: object, *, multiple: bool = False) -> ui.select:
    field = ui.select(names, value=value, label=label, multiple=multiple)
    field.props("outlined dense use-chips" if multiple else "outlined dense")
    field.props["aria-label"] = label
    return field

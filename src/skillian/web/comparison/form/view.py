"""The form that starts a comparison as a background job. Each error is shown next to its field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nicegui import ui

from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.subjects import MEASURES, Subject, subject_of
from skillian.web.comparison.form.fields import LimitFields, select
from skillian.web.comparison.form.filter_fields import FilterFields
from skillian.web.comparison.form.job import SAME, JobControls
from skillian.web.comparison.form.row_fields import RowFields
from skillian.web.shell.elements import Heading, set_options
from skillian.web.shell.frame import START, Visit

FEW_SOURCES = "A comparison needs two sources. Declare them in sources.yaml, or compare two files."


async def compare_form(visit: Visit) -> None:
    """Show the form; the result opens on another page."""
    with ui.element("div").classes("stack"):
        Heading("Compare two sources", 1)
        if len(visit.service.data.registry.names) > 1:
            CompareFields(visit)
        else:
            ui.label(FEW_SOURCES)
            ui.link("Compare two files", START)


class CompareFields:
    """The fields, and the comparison that they start.

    Args:
        visit: The visit.
        asked: A comparison of measures that the fields show first.
    """

    def __init__(self, visit: Visit, asked: SavedComparison | None = None) -> None:
        self._visit = visit
        names = list(visit.service.data.registry.names)
        with ui.element("form").classes("compare-form stack") as form:
            form.props["aria-label"] = "Compare two sources"
            with ui.element("div").classes("form-grid").props("data-control=columns"):
                self._a = select("Source A, the baseline", names, names[0])
                self._b = select("Source B", names, names[1]).without_auto_validation()
                self._measures = select("Measures", [], [], multiple=True)
                self._measures.props["hint"] = "None: whole rows are compared."
                self._align_on = select("Group by", [], [], multiple=True)
            self._rows = RowFields(visit.service.data.catalogue, self._offer_filters)
            self._filters = FilterFields(visit.service)
            self._limits = LimitFields()
            registry = visit.service.data.registry
            groups = _GroupFields(registry, self._measures, self._align_on, self._limits)
            self._kinds = groups, self._rows
            JobControls(visit, "Compare", self._read, self._show_error, form)
        self._a.on_value_change(self._update_options)
        self._b.on_value_change(self._update_options)
        self._measures.on_value_change(self._update_kind)
        self._update_options()
        if asked is not None:
            self._show(asked)

    def _show(self, asked: SavedComparison) -> None:
        """Show what was asked."""
        self._a.value, self._b.value = asked.a, asked.b
        self._measures.value = list(asked.measures)
        if asked.align_on is not None:
            self._align_on.value = list(asked.align_on)
        self._filters.fill(asked.filters)
        self._limits.fill(asked.thresholds.model_dump(exclude_none=True))

    def _update_options(self) -> None:
        """Offer what the two selected sources have in common."""
        shared = self._visit.service.data.registry.shared(self._a.value, self._b.value)
        set_options(self._measures, shared.measures, list(shared.measures[:1]))
        set_options(self._align_on, shared.dimensions, list(shared.align_on))
        self._b.error = SAME if self._a.value == self._b.value else None
        self._update_kind()

    def _update_kind(self) -> None:
        """Show the fields of measures or those of whole rows."""
        sources = self._a.value, self._b.value
        for fields in self._kinds:
            fields.show(sources if fields.subject is self._subject else None)
        self._offer_filters()

    def _offer_filters(self) -> None:
        """Offer the dimensions that both sources have, and the columns of whole rows."""
        a, b = self._a.value, self._b.value
        dimensions = self._visit.service.data.registry.shared(a, b).dimensions
        columns = self._rows.columns if self._subject is self._rows.subject else ()
        self._filters.set_sources(a, b, [*dict.fromkeys((*dimensions, *columns))])

    @property
    def _subject(self) -> Subject:
        return subject_of(self._measures.value)

    def _read(self) -> SavedComparison | None:
        """The comparison that the fields describe; None if a field shows an error."""
        if self._b.error:
            return None
        filters = self._filters.read()
        how = next(each.read() for each in self._kinds if each.subject is self._subject)
        if filters is None or how is None:
            return None
        return SavedComparison(
            name="comparison", a=self._a.value, b=self._b.value, filters=filters, **how
        )

    def _show_error(self, message: str, is_about_input: bool) -> bool:  # noqa: FBT001 - a callback
        """Show an error next to the field that it is about; False if there is none."""
        if is_about_input and self._filters.show_error(message):
            return True
        for field in (self._measures, self._align_on, *self._rows.choices):
            if any(repr(name) in message for name in field.value):
                field.error = message
                return True
        return False


@dataclass(frozen=True)
class _GroupFields:
    """How measures are compared: by which dimensions, within which limits."""

    subject: ClassVar = MEASURES
    registry: SourceRegistry
    measures: Any
    align_on: Any
    limits: LimitFields

    def show(self, sources: tuple[str, str] | None) -> None:
        """Show the fields for two sources; hide them for none."""
        for room in (self.align_on, self.limits.room):
            room.set_visibility(sources is not None)
        settings, pair = self.registry.comparison, frozenset(sources or ())
        self.limits.set_configured(
            {name: settings.thresholds_for(pair, name).settled() for name in self.measures.value}
        )

    def read(self) -> dict[str, Any] | None:
        """The fields of a `SavedComparison`; None if a field shows an error."""
        self.measures.error = None
        self.align_on.error = None if self.align_on.value else "Choose at least one dimension."
        limits = self.limits.read()
        if limits is None or self.align_on.error:
            return None
        return {
            "measures": tuple(self.measures.value),
            "align_on": tuple(self.align_on.value),
            "thresholds": limits,
        }

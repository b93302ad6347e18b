"""The start view: two files that are dropped or chosen, or two sources, and then the result."""

from __future__ import annotations

from nicegui import ui

from skillian.data.declare.saved import SavedComparison
from skillian.web.comparison.form.fields import select
from skillian.web.comparison.form.job import SAME, JobControls
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit
from skillian.web.start.files import Files
from skillian.web.start.pair import Pair

_PAIR = 2
_FEW_SOURCES = "Declare two sources in sources.yaml to compare them here."


async def start_view(visit: Visit) -> None:
    """Show the two choices, and the files that this key has uploaded."""
    with ui.element("div").classes("stack"):
        Heading("Compare two files or two sources", 1)
        with ui.element("div").classes("choices"):
            files = Files(visit)
            _Sources(visit)
        files.pair = Pair(visit)
    await files.update()


class _Sources:
    """Two declared sources: their first measure in common, or else their whole rows."""

    def __init__(self, visit: Visit) -> None:
        self._registry = visit.service.data.registry
        names = list(self._registry.names)
        with ui.element("section").classes("panel choice stack") as section:
            section.props["aria-label"] = "Two sources"
            Heading("Two sources", 2)
            if len(names) < _PAIR:
                ui.label(_FEW_SOURCES)
                return
            self._a = select("Source A, the baseline", names, names[0])
            self._b = select("Source B", names, names[1])
            self._job = JobControls(visit, "Compare sources", self._read)
            ui.link("Choose measures, filters and limits", "/compare")

    def _read(self) -> SavedComparison | None:
        a, b = self._a.value, self._b.value
        if a == b:
            self._job.error.set_text(SAME)
            return None
        shared = self._registry.shared(a, b)
        if not shared.measures or not shared.dimensions:
            return SavedComparison(name="comparison", a=a, b=b)
        align_on = shared.align_on or shared.dimensions
        return SavedComparison(
            name="comparison", a=a, b=b, measures=shared.measures[:1], align_on=align_on
        )

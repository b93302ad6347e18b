"""The two files that are compared: which they are, how they are matched, and the button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from skillian.data.declare.saved import SavedComparison
from skillian.uploads.folders import Upload
from skillian.uploads.tables import PREFIX
from skillian.web.comparison.form.fields import select
from skillian.web.comparison.form.job import SAME
from skillian.web.match.matcher import Matcher
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import scroll_to
from skillian.web.shell.frame import Visit


class Pair:
    """A choice of two files, with how their columns and rows are matched; hidden without two.

    Args:
        visit: The visit.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._known: Mapping[str, Upload] = {}
        self._matcher: Matcher | None = None
        self._shown: tuple[Upload, Upload] | None = None
        self._follows = False
        with ui.element("section").classes("panel choice stack preview") as self._section:
            self._section.props["aria-label"] = "Match"
            with ui.element("div").classes("form-grid"):
                self._a = select("File A, the baseline", [], None)
                self._b = select("File B", [], None)
            with ui.element("div").classes("line"):
                Button("Swap A and B", self._swap, kind="quiet", icon="swap_horiz")
            self._room = ui.element("div").classes("stack")
        self._section.set_visibility(False)
        for field in (self._a, self._b):
            field.on_value_change(self._show)

    def offer(
        self,
        known: Mapping[str, Upload],
        labels: Mapping[str, str],
        *,
        follows: bool,
    ) -> None:
        """Offer these files; a new pair is matched.

        Args:
            known: The files by id, the oldest first.
            labels: Their names.
            follows: Whether the page scrolls to a new pair.
        """
        before = {*self._known}
        self._known, self._follows = known, follows
        ids = [*known]
        chosen = [self._a.value, self._b.value]
        if {*ids} - before or not {*chosen} <= {*ids}:
            chosen = ids[-2:] if len(ids) > 1 else [None, None]
        for field, value in zip((self._a, self._b), chosen, strict=True):
            options: Any = field
            options.set_options(dict(labels), value=value)
        self._show()

    def _swap(self) -> None:
        a, b = self._a.value, self._b.value
        self._a.value = b  # first shows the same file twice
        self._b.value = a

    def _show(self) -> None:
        """Match the two chosen files."""
        a, b = self._a.value, self._b.value
        is_pair = a in self._known and b in self._known
        self._section.set_visibility(is_pair)
        if not is_pair:
            return
        files = self._known[a], self._known[b]
        if self._shown == files:
            return
        self._shown = files
        if self._matcher is not None:
            self._matcher.leave()
        self._room.clear()
        with self._room:
            if a == b:
                ui.label(SAME).classes("fault").props("role=alert")
                return
            sides = (f"{PREFIX}{file.id}" for file in files)
            question = SavedComparison(name="comparison", a=next(sides), b=next(sides))
            names = files[0].name, files[1].name
            self._matcher = Matcher(self._visit, question, names, files[0].rows + files[1].rows)
        if self._follows:
            scroll_to(self._section)

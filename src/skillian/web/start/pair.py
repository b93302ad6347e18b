"""The two files that are compared: which they are, how they are matched, and the button."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.tables.engine import TablePreview
from skillian.display import printable
from skillian.errors import ToolError
from skillian.uploads.folders import Upload
from skillian.uploads.tables import PREFIX
from skillian.web.comparison.form.fields import select
from skillian.web.comparison.form.job import SAME, JobControls
from skillian.web.shell.activity import loading, start_task
from skillian.web.shell.elements import scroll_to
from skillian.web.shell.frame import Visit
from skillian.web.start.match import MatchView
from skillian.web.start.matching import Matching

_MOST_TRIED = 200_000


class Pair:
    """A choice of two files, with how their columns and rows are matched; hidden without two.

    Args:
        visit: The visit.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._known: Mapping[str, Upload] = {}
        self._matching: Matching | None = None
        self._match: MatchView | None = None
        self._working: asyncio.Task[object] | None = None
        self._shown: tuple[str, str] | None = None
        self._follows = False
        with ui.element("section").classes("panel choice stack preview") as self._section:
            self._section.props["aria-label"] = "Match"
            with ui.element("div").classes("form-grid"):
                self._a = select("File A, the baseline", [], None)
                self._b = select("File B", [], None)
            with ui.element("div").classes("line"):
                swap = ui.button("Swap A and B", icon="swap_horiz", on_click=self._swap)
                swap.props("flat dense no-caps")
            self._room = ui.element("div").classes("stack")
            self._job = JobControls(visit, "Compare", self._read)
        self._section.set_visibility(False)
        for field in (self._a, self._b):
            field.on_value_change(self._show)

    def offer(
        self,
        known: Mapping[str, Upload],
        labels: Mapping[str, str],
        replaced: Mapping[str, str],
        *,
        follows: bool,
    ) -> None:
        """Offer these files; a new pair is matched.

        Args:
            known: The files by id, the oldest first.
            labels: Their names.
            replaced: The ids of files that others have replaced, and the ids of those.
            follows: Whether the page scrolls to a new pair.
        """
        before = {*self._known}
        self._known, self._follows = known, follows
        ids = [*known]
        chosen = [replaced.get(field.value, field.value) for field in (self._a, self._b)]
        if {*ids} - before - {*replaced.values()} or not {*chosen} <= {*ids}:
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
        if not is_pair or self._shown == (a, b):
            return
        self._shown, self._matching, self._match = (a, b), None, None
        self._room.clear()
        self._job.error.set_text(SAME if a == b else "")
        if a != b:
            if self._follows:
                scroll_to(self._section)
            self._start(self._fill(a, b))

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        """Start this instead of what is still in progress."""
        if self._working is not None:
            self._working.cancel()
        self._working = start_task(work, "match two files", self._room)

    async def _fill(self, a: str, b: str) -> None:
        """Find which columns belong together, and show it with its effect."""
        service, owner = self._visit.service, self._visit.owner
        files = self._known[a], self._known[b]
        matching = self._matching
        spinner = loading("Reading both files …")
        try:
            with service.slots.taken():
                question = (matching or Matching()).question(f"{PREFIX}{a}", f"{PREFIX}{b}")
                preview, samples = await service.comparisons.preview(question, owner)
                if matching is None:
                    matching = Matching(_by_name(preview))
                    if preview.proposals:
                        matching.propose(preview.proposals)
                        question = matching.question(f"{PREFIX}{a}", f"{PREFIX}{b}")
                        preview, samples = await service.comparisons.preview(question, owner)
        except (ToolError, ProblemError) as error:
            if self._shown == (a, b):
                self._job.error.set_text(printable(problem_of(error).detail))
            return
        finally:
            spinner.delete()
        if self._shown == (a, b):  # otherwise the reader has chosen others meanwhile
            self._matching = matching
            self._room.clear()
            self._match = MatchView(
                *(files, preview, samples, matching),
                match=self._match_again,
                changed=self._try_again,
            )
            await self._try(self._match)

    def _match_again(self) -> None:
        if self._shown is not None:
            self._start(self._fill(*self._shown))

    def _try_again(self) -> None:
        if self._match is not None:
            self._job.error.set_text("")
            self._start(self._try(self._match))

    async def _try(self, match: MatchView) -> None:
        """Show the effect of the choices, if the files are small enough to try each of them."""
        question = self._read()
        if question is None or self._shown is None:
            return
        if sum(self._known[each].rows for each in self._shown) > _MOST_TRIED:
            match.show_message("Choose Compare to see how many rows meet: the files are large.")
            return
        service = self._visit.service
        try:
            with service.slots.taken():
                result = await service.comparisons.tried(question, self._visit.owner)
        except (ToolError, ProblemError) as error:
            match.show_message(problem_of(error).detail)
        else:
            match.show_effect(result)

    def _read(self) -> SavedComparison | None:
        if self._a.value == self._b.value:
            self._job.error.set_text(SAME)
            return None
        a, b = (f"{PREFIX}{field.value}" for field in (self._a, self._b))
        return (self._matching or Matching()).question(a, b)


def _by_name(preview: TablePreview) -> Iterator[str]:
    yield from (pair.a for pair in preview.pairs)
    yield from (each.column for each in preview.not_compared)

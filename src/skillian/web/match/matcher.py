"""Two tables of whole rows: how they are matched, tried at each choice, and the button."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.tables.engine import TablePreview
from skillian.display import printable
from skillian.errors import ToolError
from skillian.uploads.tables import upload_ids
from skillian.web.comparison.form.filter_fields import FilterFields
from skillian.web.comparison.form.job import JobControls
from skillian.web.match.lines import MatchLines
from skillian.web.match.matching import Matching
from skillian.web.shell.activity import loading, start_task
from skillian.web.shell.frame import Visit

_MOST_TRIED, _MOST_OF_FILES = 200_000, 1_000_000
"""How many rows are compared again at each choice: of databases, and of files of this server."""


class Matcher:
    """Shows how two sources of whole rows are matched; each choice is tried at once.

    Args:
        visit: The visit.
        question: The sources, and what was chosen for them before.
        names: What the reader calls the two sides.
        rows: How many rows both have.
    """

    def __init__(
        self, visit: Visit, question: SavedComparison, names: tuple[str, str], rows: int
    ) -> None:
        self._visit = visit
        self._names = names
        self._question = question
        are_files = len(upload_ids((question.a, question.b))) == len(names)
        self._is_tried = rows <= (_MOST_OF_FILES if are_files else _MOST_TRIED)
        self._matching: Matching | None = None
        self._lines: MatchLines | None = None
        self._working: asyncio.Task[object] | None = None
        self._room = ui.element("div").classes("stack")
        self._filters = FilterFields(visit.service, self._try_again)
        self._job = JobControls(visit, "Compare", self._read)
        client: Any = ui.context.client
        client.on_delete(self.leave)
        self._start(self._fill())

    def leave(self) -> None:
        """Stop what is in progress."""
        if self._working is not None:
            self._working.cancel()

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        """Start this instead of what is still in progress."""
        self.leave()
        self._working = start_task(work, "match two tables", self._room)

    async def _fill(self) -> None:
        """Find which columns belong together, and show it with its effect."""
        service, owner = self._visit.service, self._visit.owner
        matching = self._matching
        self._job.error.set_text("")
        spinner = loading("Reading both sides …")
        try:
            with service.slots.taken():
                preview, samples = await service.comparisons.preview(self._known(), owner)
                if matching is None:
                    self._offer_filters(preview)
                    matching = self._matching = Matching(self._question, _by_name(preview))
                    if preview.proposals and not self._question.map:
                        matching.propose(preview.proposals)
                        preview, samples = await service.comparisons.preview(self._known(), owner)
        except (ToolError, ProblemError) as error:
            self._job.error.set_text(printable(problem_of(error).detail))
            if self._lines is not None:
                self._lines.show_message("")  # instead of the effect of earlier choices
            return
        finally:
            spinner.delete()
        self._room.clear()
        self._lines = MatchLines(
            *(self._names, preview, samples, matching),
            match=lambda: self._start(self._fill()),
            changed=self._try_again,
        )
        await self._try(self._lines)

    def _try_again(self) -> None:
        if self._lines is not None:
            self._job.error.set_text("")
            self._start(self._try(self._lines))

    async def _try(self, lines: MatchLines) -> None:
        """Show the effect of the choices, if the tables are small enough to try each of them."""
        if not self._is_tried:
            lines.show_message("Choose Compare to see how many rows meet.")
            return
        question = self._chosen(is_final=False)
        if isinstance(question, str):
            lines.show_message(question)
            return
        lines.show_message("Comparing …")
        service = self._visit.service
        try:
            with service.slots.taken():
                result = await service.comparisons.tried(question, self._visit.owner)
        except (ToolError, ProblemError) as error:
            lines.show_message(problem_of(error).detail)
        else:
            lines.show_effect(result)

    def _offer_filters(self, preview: TablePreview) -> None:
        """Offer filters, first those of the question."""
        a, b = self._question.a, self._question.b
        declared = self._visit.service.data.registry.names
        shared = self._visit.service.data.registry.shared(a, b) if {a, b} <= {*declared} else None
        columns = [pair.a for pair in preview.pairs] + [each.a for each in preview.proposals]
        known = (*(shared.dimensions if shared else ()), *columns)
        self._filters.set_sources(a, b, [*dict.fromkeys(known)])
        self._filters.fill(self._question.filters)

    def _known(self) -> SavedComparison:
        """What is chosen so far, without what is not valid."""
        if self._matching is None:
            return self._question
        return self._matching.question(self._filters.read(is_final=False) or {})

    def _chosen(self, *, is_final: bool = True) -> SavedComparison | str:
        """What is chosen, or what is missing or not valid.

        Args:
            is_final: Whether a filter without a value shows an error.
        """
        if self._matching is None:
            return self._question
        filters = self._filters.read(is_final=is_final)
        if self._matching.lacks_key:
            return "Choose the key columns, or that rows have no key."
        if filters is None or self._matching.faults:
            return "Correct or complete the values of the rules and filters."
        return self._matching.question(filters)

    def _read(self) -> SavedComparison | None:
        """What is chosen; None if there is an error, which is shown."""
        question = self._chosen()
        if isinstance(question, str):
            self._job.error.set_text(question)
            return None
        return question


def _by_name(preview: TablePreview) -> Iterator[str]:
    yield from (pair.a for pair in preview.pairs)
    yield from (each.column for each in preview.not_compared)

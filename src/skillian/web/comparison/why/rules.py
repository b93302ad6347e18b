"""Why whole rows differ: the proved rules, each of which one click applies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.tables.why.results import ProvedRule, Why
from skillian.display import printable
from skillian.errors import ToolError
from skillian.storage import StorageError
from skillian.web.comparison.form.job import JobControls
from skillian.web.shell import text
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit


def rules_panel(visit: Visit, result: Mapping[str, Any]) -> None:
    """Look for the rules that explain the rows of a comparison, and show them.

    Args:
        visit: Who asks.
        result: The comparison, as JSON.
    """
    _Rules(visit, str(result["cache_key"])).start()


class _Rules:
    def __init__(self, visit: Visit, cache_key: str) -> None:
        self._visit = visit
        self._key = cache_key
        self._task: asyncio.Task[object] | None = None
        self._room = ui.element("section").classes("explanation stack")
        self._room.props["data-testid"] = "rules"
        self._room.props["aria-label"] = "Why they differ"
        client: Any = ui.context.client
        client.on_delete(self._leave)

    def start(self) -> None:
        """Explain in the background: it compares several times."""
        self._task = start_task(self._explain(), "why rows differ", self._room)

    async def _explain(self) -> None:
        self._room.clear()
        with self._room, ui.element("div").classes("line").props("role=status"):
            ui.spinner()
            doing = ui.label("Looking for what explains the differences …")

        def report(activity: str) -> None:
            doing.set_text(printable(f"{activity[:1].upper()}{activity[1:]} …"))

        service, owner = self._visit.service, self._visit.owner
        try:
            with service.slots.taken():
                why = cast("Why", await service.comparisons.why(self._key, owner, report))
                question = await service.comparisons.question(self._key, owner)
        except (ToolError, StorageError, ProblemError) as error:
            self._show_failure(problem_of(error).detail)
            return
        self._room.clear()
        with self._room:
            self._show(why, question)

    def _show(self, why: Why, question: SavedComparison) -> None:
        Heading("Why they differ")
        if not why.rules:
            ui.label(why.nothing).classes("why-sentence")
        with ui.element("ol").classes("tree stack"):
            for number, rule in enumerate(why.rules):
                with ui.element("li").classes("stack"):
                    self._rule(rule, question, is_first=not number)
        for fact in why.facts:
            ui.label(printable(fact.sentence)).classes("soft")

    def _rule(self, rule: ProvedRule, question: SavedComparison, *, is_first: bool) -> None:
        rules = "this rule" if is_first else "this rule and those above"
        with ui.element("p").classes("why-sentence"):
            text.sentence(
                f"{rule.about} explains ", text.amount(rule.explained), " of ",
                text.amount(rule.differences), f" {rule.of}; with {rules} ",
                text.amount(rule.matched), " of ", text.amount(rule.total), " rows match.",
            )  # fmt: skip
        text.code(rule.option, "text").props["aria-label"] = "The option of the command line"
        apply = partial(rule.applied, question)
        JobControls(self._visit, "Apply", apply, label=printable(f"Apply: {rule.about}"))

    def _show_failure(self, message: str) -> None:
        self._room.clear()
        with self._room:
            ui.label(printable(message)).classes("fault").props("role=alert")
            Button("Explain again", self.start)

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()

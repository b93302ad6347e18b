"""Saving a result under a name, and the saved comparisons of a key on the start page."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.subjects import subject_of
from skillian.display import printable
from skillian.errors import SkillianError
from skillian.history.store import PastRun
from skillian.reports.outcome import Verdict
from skillian.storage.saved import SavedRecord
from skillian.web.shell.activity import show_error
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import Visit
from skillian.web.shell.verdicts import verdict_mark

_LOOKED_AT = 50
_MOST_RECENT = 5


def ask_name(visit: Visit, key: str) -> None:
    """Ask for a name in a dialog, and save the comparison with this key under it."""

    async def save() -> None:
        wanted = (name.value or "").strip()
        if not wanted:
            name.error = "Enter a name."
            return
        try:
            record = await visit.service.saved.save_result(visit.owner, wanted, key)
        except (SkillianError, ProblemError) as error:
            show_error(problem_of(error).detail)
            return
        ui.navigate.to(f"/saved/{record.id}")

    with ui.dialog(value=True) as dialog, ui.card().classes("dialog"):
        dialog.on("hide", dialog.delete)
        Heading("Save this comparison")
        ui.label("It can be run again, and each run says what is new.").classes("soft")
        with ui.element("form").classes("stack") as form:
            name = ui.input("Name").props("autofocus maxlength=100")
            with ui.element("div").classes("line"):
                Button("Save", kind="primary").props("type=submit")
                Button("Cancel", dialog.close, kind="quiet")
        form.on("submit.prevent", save)


async def saved_list(visit: Visit) -> None:
    """The saved comparisons of this key and the last ones that it has not saved, newest first."""
    saved = await visit.service.saved.list(visit.owner)
    last = await visit.service.saved.last_runs(visit.owner)
    if saved:
        with _listed("Saved comparisons", "saved-list"):
            for record in saved:
                await _saved_item(visit, record, last.get(record.id))
    recent = await _recent(visit, {record.last_key for record in saved})
    if recent:
        with _listed("Recent comparisons", "recent-list"):
            for run in recent:
                _recent_item(run)


@contextmanager
def _listed(heading: str, name: str) -> Generator[None]:
    with ui.element("section").classes(f"panel pad stack {name}") as section:
        section.props["aria-label"] = heading
        Heading(heading, 2)
        with ui.element("ul"):
            yield


async def _saved_item(visit: Visit, record: SavedRecord, last: PastRun | None) -> None:
    question = SavedComparison.model_validate(record.question)
    sides = await visit.service.comparisons.sides(question, visit.owner)
    with ui.element("li").classes("line"):
        ui.link(printable(record.name), f"/saved/{record.id}").classes("grow")
        ui.label(printable(sides)).classes("soft small")
        if last is None:
            ui.label("has not run yet").classes("soft")
            return
        verdict_mark(
            cast("Verdict", last.verdict),
            question.subject,
            findings=last.findings,
            new=last.new,
        )
        Time(last.at)


async def _recent(visit: Visit, saved_keys: Collection[str]) -> Sequence[Mapping[str, Any]]:
    """The last comparisons of this key that are stored and not saved, each result once."""
    runs = await visit.service.runs.list(visit.owner, 0, _LOOKED_AT)
    done = {
        run["cache_key"]: run
        for run in reversed(runs)
        if run["kind"] == "comparison" and run["cache_key"] and not run["saved_id"]
    }
    stored = await visit.service.comparisons.stored(done.keys() - saved_keys)
    newest = sorted(done.values(), key=lambda run: str(run["created"]), reverse=True)
    return [run for run in newest if run["cache_key"] in stored][:_MOST_RECENT]


def _recent_item(run: Mapping[str, Any]) -> None:
    question: Mapping[str, Any] = run["comparison"] or {}
    with ui.element("li").classes("line"):
        ui.link(printable(run["title"]), f"/compare/{run['cache_key']}").classes("grow")
        if run["verdict"]:
            verdict_mark(run["verdict"], subject_of(question.get("measures")))
        Time(run["created"])

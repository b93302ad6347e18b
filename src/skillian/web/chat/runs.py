"""The runs view: comparisons and turns in progress or waiting, and those that ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.subjects import subject_of, words_for
from skillian.display import printable
from skillian.storage import StorageError
from skillian.storage.jobs import MAX_ENDED
from skillian.web.shell import text
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import Visit
from skillian.web.shell.verdicts import verdict_mark

LIMIT = 50
"""How many runs the list has at first, and how many more are shown at a time."""
POLL_SECONDS = 2.0

_IN_PROGRESS = ("queued", "running", "waiting", "needs_decision")
_STATES = {
    "queued": "queued",
    "running": "● running",
    "waiting": "⏸ waiting for approval",
    "needs_decision": "⏸ needs a decision",
    "completed": "✓ completed",
    "step_limit_reached": "✕ step limit reached",
    "usage_limit_reached": "✕ token limit reached",
    "refused": "✕ the model declined",
    "cut_off": "✕ answer too long",
    "cancelled": "✕ cancelled",
    "error": "✕ failed",
    "lost": "✕ lost",
    "interrupted": "✕ interrupted",
}


async def runs_view(visit: Visit) -> None:
    """Show the visitor's runs, and keep the list up to date."""
    with ui.element("div").classes("stack"):
        Heading("Runs", 1)
        ui.label(_kept(visit.service.settings.retention_days)).classes("soft")
        room = ui.element("ul").classes("run-list").props('aria-label="Runs"')
        runs = _RunList(visit, room)
        runs.older = Button("Show older runs", runs.show_older)
        await runs.update()
        ui.timer(POLL_SECONDS, runs.update, immediate=False)


class _RunList:
    """The rows, which are built again when something has changed."""

    def __init__(self, visit: Visit, room: ui.element) -> None:
        self._runs = visit.service.runs
        self._comparisons = visit.service.comparisons
        self._owner = visit.owner
        self._room = room
        self._limit = LIMIT
        self._shown: tuple[Sequence[dict[str, Any]], Collection[str]] | None = None
        self.older: ui.element | None = None

    async def update(self) -> None:
        try:
            runs = await self._runs.list(self._owner, 0, self._limit + 1)
            keys = {run["cache_key"] for run in runs if run.get("cache_key")}
            stored = await self._comparisons.stored(keys)
        except StorageError as error:
            ui.notify(problem_of(error).detail, type="negative", position="top")
            return
        if (runs, stored) == self._shown:
            return
        self._shown = runs, stored
        if self.older is not None:
            self.older.set_visibility(len(runs) > self._limit)
        self._room.clear()
        with self._room:
            for run in runs[: self._limit]:
                self._row(run, is_stored=run.get("cache_key") in stored)
            if not runs:
                with ui.element("li").classes("line"):
                    ui.label("Nothing is running, and nothing has run yet.")
                    ui.link("Ask a question", "/")
                    ui.link("Compare two sources", "/compare")

    async def show_older(self) -> None:
        """Show more of the runs that ended."""
        self._limit += LIMIT
        self._shown = None
        await self.update()

    def _row(self, run: dict[str, Any], *, is_stored: bool) -> None:
        is_own = run.get("is_own", True)
        with ui.element("li").classes("panel pad line"):
            kind = "Comparison" if run["kind"] == "comparison" else f"Turn {run['turn']}"
            ui.label(kind).classes("soft small run-kind")
            with ui.element("div").classes("grow"):
                _title(run, is_stored=is_stored)
                _subject(run)
            if run.get("progress") or run["error"]:
                ui.label(printable(run.get("progress") or run["error"])).classes("soft small")
            _end(run)
            _times(run)
            if self._owner and run["kind"] == "comparison":
                ui.label("by this key" if is_own else "by another key, shared").classes(
                    "soft small"
                )
            if run["kind"] == "turn":
                ui.link("Timeline", f"/runs/{run['session_id']}/{run['turn']}").classes("small")
            elif run.get("saved_id"):
                ui.link("Saved comparison", f"/saved/{run['saved_id']}").classes("small")
            if run["state"] in _IN_PROGRESS and is_own:
                Button("Stop", partial(self._stop, run["id"]), label=f"Stop {run['title']}")

    async def _stop(self, run_id: str) -> None:
        try:
            await self._runs.cancel(self._owner, run_id)
        except (ProblemError, StorageError) as error:
            ui.notify(problem_of(error).detail, position="top")
        await self.update()


def _kept(days: int | None) -> str:
    """How long runs that ended are listed."""
    if days is None:
        return (
            f"Comparisons and turns: those in progress, the last {MAX_ENDED:,} comparisons, and"
            " turns that ended within the last hour."
        )
    time = "a day" if days == 1 else f"{days:,} days"
    return (
        f"Comparisons and turns: those in progress, comparisons until {time} after they ended, and"
        " turns that ended within the last hour."
    )


def _title(run: Mapping[str, Any], *, is_stored: bool) -> None:
    """The title of a run, with a link to its conversation or to its result if that is stored."""
    title = printable(run["title"] or "Untitled")
    if run["kind"] == "turn":
        ui.link(title, f"/chat/{run['session_id']}")
    elif is_stored:
        ui.link(title, f"/compare/{run['cache_key']}")
    else:
        ui.label(title)


def _subject(run: Mapping[str, Any]) -> None:
    """What a comparison compares: its measures, or whole rows."""
    question = run.get("comparison")
    if question is not None:
        ui.label(printable(words_for(question.get("measures", ())))).classes("soft small")


def _end(run: Mapping[str, Any]) -> None:
    """The verdict of a comparison, or how a run stands."""
    state, question = run["state"], run.get("comparison")
    if state == "completed" and run.get("verdict") and question is not None:
        verdict_mark(run["verdict"], subject_of(question.get("measures")))
    else:
        ui.label(_STATES[state]).classes("fault" if "✕" in _STATES[state] else "")


def _times(run: Mapping[str, Any]) -> None:
    """When a run began, and how long it took."""
    created, updated = (datetime.fromisoformat(run[name]) for name in ("created", "updated"))
    seconds = round((updated - created).total_seconds())  # SQLite stores whole seconds only
    with ui.element("div").classes("number small soft"):
        Time(run["created"])
        if run["state"] not in _IN_PROGRESS and seconds:
            text.sentence(" · ", text.amount(seconds), " s")

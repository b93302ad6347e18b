"""The runs view: comparisons and turns in progress, waiting, or recently ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.api.runs import Runs
from skillian.storage import StorageError
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit

LIMIT = 50
"""The maximum number of runs in the list."""
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
        ui.label(
            "Turns and comparisons that are in progress or ended within the last hour."
        ).classes("soft")
        room = ui.element("ul").classes("run-list").props('aria-label="Runs"')
        runs = _RunList(visit.service.runs, visit.owner, room)
        await runs.update()
        ui.timer(POLL_SECONDS, runs.update, immediate=False)


class _RunList:
    """The rows, which are built again when something has changed."""

    def __init__(self, runs: Runs, owner: str, room: ui.element) -> None:
        self._runs = runs
        self._owner = owner
        self._room = room
        self._shown: Sequence[dict[str, Any]] | None = None

    async def update(self) -> None:
        try:
            runs = await self._runs.list(self._owner, 0, LIMIT)
        except StorageError as error:
            ui.notify(problem_of(error).detail, type="negative", position="top")
            return
        if runs == self._shown:
            return
        self._shown = runs
        self._room.clear()
        with self._room:
            for run in runs:
                self._row(run)
            if not runs:
                with ui.element("li").classes("line"):
                    ui.label("Nothing is running, and nothing ended within the last hour.")
                    ui.link("Ask a question", "/")
                    ui.link("Compare two sources", "/compare")

    def _row(self, run: dict[str, Any]) -> None:
        state = run["state"]
        with ui.element("li").classes("panel pad line"):
            kind = "Comparison" if run["kind"] == "comparison" else f"Turn {run['turn']}"
            ui.label(kind).classes("soft small run-kind")
            _title(run)
            if run.get("progress") or run["error"]:
                ui.label(run.get("progress") or run["error"]).classes("soft small")
            ui.label(_STATES[state]).classes("fault" if "✕" in _STATES[state] else "")
            ui.label(_times(run)).classes("number small soft")
            if run["kind"] == "turn":
                ui.link("Timeline", f"/runs/{run['session_id']}/{run['turn']}").classes("small")
            if state in _IN_PROGRESS:
                stop = ui.button("Stop", on_click=partial(self._stop, run["id"]))
                stop.props("outline dense")
                stop.props["aria-label"] = f"Stop {run['title']}"

    async def _stop(self, run_id: str) -> None:
        try:
            await self._runs.cancel(self._owner, run_id)
        except (ProblemError, StorageError) as error:
            ui.notify(problem_of(error).detail, position="top")
        await self.update()


def _title(run: dict[str, Any]) -> None:
    """The title of a run, with a link to its conversation or its comparison."""
    title = run["title"] or "Untitled"
    if run["kind"] == "turn":
        ui.link(title, f"/chat/{run['session_id']}").classes("grow")
    elif run["cache_key"] is not None:
        ui.link(title, f"/compare/{run['cache_key']}").classes("grow")
    else:
        ui.label(title).classes("grow")


def _times(run: dict[str, Any]) -> str:
    created, updated = (datetime.fromisoformat(run[name]) for name in ("created", "updated"))
    start = created.astimezone(UTC).strftime("%H:%M:%S UTC")
    seconds = round((updated - created).total_seconds())  # SQLite stores whole seconds only
    return start if run["state"] in _IN_PROGRESS or not seconds else f"{start}, {seconds} s"

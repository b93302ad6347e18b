"""The list of runs: comparisons and turns in progress, waiting, and recently ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.api.runs import Runs
from skillian.storage import StorageError
from skillian.web.frame import Visit
from skillian.web.heading import Heading

SHOWN = 50
LOOK_SECONDS = 2.0

_UNDER_WAY = ("queued", "running", "waiting", "needs_decision")
_STATES = {
    "queued": "queued",
    "running": "● running",
    "waiting": "⏸ waits for a yes",
    "needs_decision": "⏸ in doubt",
    "completed": "✓ completed",
    "step_limit_reached": "✕ out of steps",
    "usage_limit_reached": "✕ out of tokens",
    "cancelled": "✕ cancelled",
    "error": "✕ failed",
    "lost": "✕ lost",
    "interrupted": "✕ interrupted",
}


async def runs_view(visit: Visit) -> None:
    """Show the visitor's runs, and go on showing how far they are."""
    with ui.element("div").classes("stack"):
        Heading("Runs", 1)
        about = "Turns and comparisons that are in progress, or ended within the last hour."
        ui.label(about).classes("soft")
        room = ui.element("ul").classes("run-list").props('aria-label="Runs"')
        listed = _Runs(visit.service.runs, visit.owner, room)
        await listed.show()
        ui.timer(LOOK_SECONDS, listed.show, immediate=False)


class _Runs:
    """The rows, built anew where something has changed.

    Args:
        runs: the runs.
        owner: whose.
        room: where the rows are.
    """

    def __init__(self, runs: Runs, owner: str, room: ui.element) -> None:
        self._runs = runs
        self._owner = owner
        self._room = room
        self._shown: Sequence[dict[str, Any]] | None = None

    async def show(self) -> None:
        """Show what there is now."""
        try:
            found = await self._runs.list(self._owner, 0, SHOWN)
        except StorageError as error:
            ui.notify(problem_of(error).detail, type="negative", position="top")
            return
        if found == self._shown:
            return
        self._shown = found
        self._room.clear()
        with self._room:
            for run in found:
                self._row(run)
            if not found:
                with ui.element("li"):
                    ui.label("None").classes("soft")

    def _row(self, run: dict[str, Any]) -> None:
        state = run["state"]
        with ui.element("li").classes("panel pad line"):
            about = "Comparison" if run["kind"] == "comparison" else f"Turn {run['turn']}"
            ui.label(about).classes("soft small run-kind")
            _title(run)
            if run.get("progress") or run["error"]:
                ui.label(run.get("progress") or run["error"]).classes("soft small")
            ui.label(_STATES[state]).classes("fault" if "✕" in _STATES[state] else "")
            ui.label(_times(run)).classes("number small soft")
            if run["kind"] == "turn":
                ui.link("Timeline", f"/runs/{run['session_id']}/{run['turn']}").classes("small")
            if state in _UNDER_WAY:
                stop = ui.button("Stop", on_click=partial(self._stop, run["id"]))
                stop.props("outline dense")
                stop.props["aria-label"] = f"Stop {run['title']}"

    async def _stop(self, run_id: str) -> None:
        try:
            await self._runs.cancel(self._owner, run_id)
        except (ProblemError, StorageError) as error:
            ui.notify(problem_of(error).detail, position="top")
        await self.show()


def _title(run: dict[str, Any]) -> None:
    """What it is of, with a link to where it is answered or shown."""
    title = run["title"] or "Untitled"
    if run["kind"] == "turn":
        ui.link(title, f"/chat/{run['session_id']}").classes("grow")
    elif run["cache_key"] is not None:
        ui.link(title, f"/compare/{run['cache_key']}").classes("grow")
    else:
        ui.label(title).classes("grow")


def _times(run: dict[str, Any]) -> str:
    began, ended = (datetime.fromisoformat(run[name]) for name in ("created", "updated"))
    told = began.astimezone(UTC).strftime("%H:%M:%S UTC")
    seconds = round((ended - began).total_seconds())  # SQLite knows whole ones only
    return told if run["state"] in _UNDER_WAY or not seconds else f"{told}, {seconds} s"

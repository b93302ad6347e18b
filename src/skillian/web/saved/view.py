"""A saved comparison: run again, shared, its trend, and the states of its findings."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, cast

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.data.subjects import Subject, words_for
from skillian.display import printable
from skillian.errors import SkillianError
from skillian.web.saved.command import command_panel
from skillian.web.saved.files import ReplaceableFiles
from skillian.web.saved.findings import FindingActions, Note, ask_note, findings_panel
from skillian.web.shell import text
from skillian.web.shell.activity import loading, show_error
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import START, Visit
from skillian.web.shell.verdicts import verdict_mark

POLL_SECONDS = 0.5
_UNDER_WAY = ("queued", "running")
_COLOURS = {"new": "var(--fill-major)", "open": "var(--fill-minor)", "known": "var(--fill-only-a)"}
_SHORT = "v => skillian.short(v)"
_TIME = "v => skillian.tick(v)"


class SavedView:
    """The view of one saved comparison.

    Args:
        visit: The visit.
        saved_id: The saved comparison.
    """

    def __init__(self, visit: Visit, saved_id: str) -> None:
        self._visit = visit
        self._saved = visit.service.saved
        self._id = saved_id

    async def build(self) -> None:
        """Build the view; raises `ProblemError` if this key may not open it."""
        report = await self._saved.report(self._visit.owner, self._id)
        question = SavedComparison.model_validate(report["comparison"])
        sides = await self._visit.service.comparisons.sides(question, self._visit.owner)
        with ui.element("div").classes("stack saved"):
            Heading(printable(report["name"]), 1)
            ui.label(printable(f"{sides} · {words_for(question.measures)}")).classes("soft")
            with ui.element("div").classes("line"):
                self._run = Button("Run", self._start, kind="primary", icon="refresh")
                if report["is_own"]:
                    Button("Delete", self._delete, kind="danger", icon="delete")
            if report["is_own"]:
                self._sharing(is_shared=report["shared"])
                await ReplaceableFiles(self._visit, question, self._files_changed).show()
            self._progress = ui.element("div")
            self._room = ui.element("div").classes("stack")
        await self._show(report)

    def _files_changed(self) -> None:
        self._run.set_text("Run with the new file")

    def _sharing(self, *, is_shared: bool) -> None:
        path = self._visit.address(f"/saved/{self._id}")
        with ui.element("div").classes("line"):
            switch = ui.switch("Shared with everyone who has a key", value=is_shared).props("dense")
            link = ui.input("Link", value=path)
            link.props("readonly").classes("share-link").set_visibility(is_shared)

        async def share(value: bool) -> None:  # noqa: FBT001 - the value of the switch
            if await self._done(self._saved.share(self._visit.owner, self._id, is_shared=value)):
                link.set_visibility(value)

        async def complete() -> None:
            with suppress(TimeoutError):  # a slow browser keeps the path
                origin = cast("str", await ui.run_javascript("location.origin", timeout=10))
                link.set_value(f"{origin}{path}")

        ui.timer(0, complete, once=True)  # once the browser is connected
        switch.on_value_change(lambda event: share(bool(event.value)))

    async def _start(self) -> None:
        self._run.set_enabled(False)
        with self._progress:
            spinner = loading("Comparing …")
        try:
            run = await self._saved.start(self._visit.owner, self._id)
            while run["state"] in _UNDER_WAY:
                await asyncio.sleep(POLL_SECONDS)
                run = await self._visit.service.runs.get(self._visit.owner, run["id"])
            if run["state"] != "completed":
                show_error(run["error"] or "This run was stopped. Run it again.")
            await self._show(await self._saved.report(self._visit.owner, self._id))
        except (SkillianError, ProblemError) as error:
            show_error(problem_of(error).detail)
        finally:
            if not spinner.is_deleted:
                spinner.delete()
            self._run.set_enabled(True)

    async def _delete(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("stack dialog"):
            dialog.props["aria-label"] = "Delete this saved comparison?"
            Heading("Delete this saved comparison?", 2)
            ui.label("Its runs and the notes on its findings are deleted, too.")
            with ui.element("div").classes("line"):
                Button("Delete permanently", lambda: dialog.submit(result=True), kind="danger")
                Button("Cancel", dialog.close, kind="quiet").props("autofocus")
        if await dialog and await self._done(self._saved.delete(self._visit.owner, self._id)):
            ui.navigate.to(START)

    async def _done(self, work: Coroutine[Any, Any, object]) -> bool:
        try:
            await work
        except (SkillianError, ProblemError) as error:
            show_error(problem_of(error).detail)
            return False
        return True

    async def _show(self, report: dict[str, Any]) -> None:
        key, question = report["cache_key"], SavedComparison.model_validate(report["comparison"])
        changes = await self._saved.changes(self._visit.owner, self._id)
        is_stored = bool(key) and await self._is_stored(key)
        self._room.clear()
        with self._room:
            if is_stored:
                ui.link("Open the last result", f"/compare/{key}")
            elif key:
                ui.label("The last result is no longer stored.").classes("soft")
            runs = _as_of_now(report["runs"], report["findings"])
            if runs:
                self._run.set_text("Run again")
                _trend(runs, question.subject)
                actions = FindingActions(self._note, self._accept) if report["is_own"] else None
                findings_panel(report["findings"], changes, runs, actions)
            else:
                ui.label("It has not run yet. Choose “Run” to begin its history.")
            command_panel(report["name"], question, self._visit.service.settings.sources.name)

    async def _is_stored(self, key: str) -> bool:
        try:
            await self._visit.service.comparisons.find(key, self._visit.owner)
        except ProblemError:
            return False
        return True

    async def _note(self, finding: Mapping[str, Any]) -> None:
        due = date.fromisoformat(finding["due"]) if finding["due"] else None
        note = await ask_note("A known finding", finding["text"], Note(finding["note"], due))
        if note is None:
            return
        owner, number = self._visit.owner, finding["id"]
        if await self._done(self._saved.note(owner, self._id, number, note.text, note.due)):
            await self._show(await self._saved.report(owner, self._id))

    async def _accept(self, count: int) -> None:
        about = f"{count:,} finding{'s' * (count != 1)} will be known, with this note."
        note = await ask_note("Accept all findings", about, Note(None, None))
        if note is None:
            return
        if note.text is None:
            show_error("Write what is known about the findings.")
            return
        owner = self._visit.owner
        try:
            _, untracked = await self._saved.accept(owner, self._id, note.text, note.due)
        except (SkillianError, ProblemError) as error:
            show_error(problem_of(error).detail)
            return
        if untracked:
            show_error(
                f"{untracked:,} more are not tracked one by one; they cannot be known, and count as"
                " new or open."
            )
        await self._show(await self._saved.report(owner, self._id))


def _as_of_now(
    runs: Sequence[dict[str, Any]], findings: Sequence[Mapping[str, Any]]
) -> Sequence[dict[str, Any]]:
    """The runs, the last one as its findings count now: some may be known since then.

    It stays as it was if it has more findings than are tracked one by one.
    """
    states = Counter(each["state"] for each in findings)
    now = {name: states[name] for name in ("new", "open", "known")}
    if not runs or sum(now.values()) != runs[0]["findings"]:
        return runs
    return [{**runs[0], **now}, *runs[1:]]


def _trend(runs: Sequence[dict[str, Any]], subject: Subject) -> None:
    """The last run in words, and the findings of each run as bars, the oldest on the left."""
    last = runs[0]
    with ui.element("section").classes("panel pad stack") as section:
        section.props["aria-label"] = "Trend"
        Heading("Trend", 2)
        with ui.element("div").classes("line"):
            ui.label("Last run").classes("soft")
            Time(last["at"])
            verdict_mark(last["verdict"], subject, findings=last["findings"])
            states = ("new", "open", "known", "fixed")
            new, opened, known, fixed = (text.amount(last[name]) for name in states)
            text.sentence(new, " new · ", opened, " open · ", known, " known · ", fixed, " fixed")
        chart = ui.echart(_trend_options(runs[::-1]), renderer="svg").classes("trend-chart")
        chart.style["height"] = "200px"
        chart.props["role"] = "img"
        counts = "; ".join(f"{run['at']}: {run['findings']}" for run in runs[::-1])
        chart.props["aria-label"] = f"Findings of each run: {counts}"


def _trend_options(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 32, "bottom": 4, "containLabel": True},
        "legend": {"top": 0, "left": 0, "textStyle": {"color": "var(--ink)"}},
        "xAxis": {
            "type": "category",
            "data": [run["at"] for run in runs],
            "axisLabel": {
                ":formatter": _TIME,
                "color": "var(--ink-soft)",
                "lineHeight": 15,
                "hideOverlap": True,
            },
        },
        "yAxis": {
            "type": "value",
            "minInterval": 1,
            "axisLabel": {":formatter": _SHORT, "color": "var(--ink-soft)"},
            "splitLine": {"lineStyle": {"color": "var(--line)"}},
        },
        "series": [
            {
                "type": "bar",
                "stack": "findings",
                "name": name,
                "barMaxWidth": 24,
                "emphasis": {"disabled": True},
                "itemStyle": {"color": colour},
                "data": [run[name] for run in runs],
            }
            for name, colour in _COLOURS.items()
        ],
    }

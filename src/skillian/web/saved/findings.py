"""The findings of a saved comparison: what differs by how much, their states and their notes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from nicegui import ui

from skillian.display import printable
from skillian.web.shell import text
from skillian.web.shell.activity import show_error
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading, Time, scroll_region

MOST_FINDINGS = 100

Json = Mapping[str, Any]

_STATES = {"new": "● new", "open": "● open", "known": "◐ known", "fixed": "✓ fixed"}


class Note(NamedTuple):
    """What is known about findings, and its last day; a text of None removes a note."""

    text: str | None
    due: date | None


@dataclass(frozen=True, slots=True)
class FindingActions:
    """What the owner of a saved comparison can do with its findings."""

    note: Callable[[Json], Awaitable[None]]
    accept: Callable[[int], Awaitable[None]]


def findings_panel(
    findings: Sequence[Json],
    changes: Mapping[str, Sequence[Json]],
    runs: Sequence[Json],
    actions: FindingActions | None,
) -> None:
    """Show the findings, those that are new first.

    Args:
        findings: The findings, with their states and notes.
        changes: What differs in each, by its id, as far as the last result is kept.
        runs: The runs, newest first.
        actions: What the reader can do with them.
    """
    listed = sorted(findings, key=lambda each: [*_STATES].index(each["state"]))
    unknown = sum(each["state"] in {"new", "open"} for each in findings)
    with ui.element("section").classes("panel pad stack") as section:
        section.props["aria-label"] = "Findings"
        with ui.element("div").classes("line"):
            Heading("Findings", 2).classes("grow")
            if unknown and actions is not None:
                Button("Accept all", partial(actions.accept, unknown), icon="done_all")
        if not findings:
            ui.label("No run has found a difference.")
            return
        _news(runs)
        with scroll_region("List of findings"), ui.element("ul").classes("finding-list"):
            for each in listed[:MOST_FINDINGS]:
                _finding(each, changes.get(each["id"], ()), actions)
        if len(findings) > MOST_FINDINGS:
            ui.label(f"These are the first {MOST_FINDINGS} of {len(findings):,}.").classes("soft")


def _news(runs: Sequence[Json]) -> None:
    """Say how many findings are new, and since when."""
    done = [run for run in runs if run["verdict"] != "failed"]
    if not done or not done[0]["findings"]:
        return
    with ui.element("div").classes("line soft"):
        new = done[0]["new"]
        if len(done) == 1:
            if new == done[0]["findings"]:
                ui.label("This is the first run, so all of its findings are new.")
            return
        count = f"{new:,} new" if new else "Nothing new"
        ui.label(f"{count} since the run of")
        Time(done[1]["at"])


def _finding(finding: Json, changes: Sequence[Json], actions: FindingActions | None) -> None:
    state = finding["state"]
    with ui.element("li").classes("line finding"):
        ui.label(_STATES[state]).classes(f"finding-state {state}")
        with ui.element("div").classes("grow"):
            ui.label(printable(finding["text"]))
            for parts in _amounts(finding, changes):
                text.sentence(*parts).classes("finding-change small")
        if finding["growth"]:
            ui.label(printable(finding["growth"])).classes("small")
        if finding["note"]:
            until = f" (until {finding['due']})" if finding["due"] else ""
            ui.label(printable(f"{finding['note']}{until}")).classes("soft small")
        if actions is not None and state != "fixed":
            Button(
                "Change the note" if finding["note"] else "Mark as known",
                partial(actions.note, finding),
                kind="quiet",
                label=printable(f"Note on: {finding['text']}"),
            ).classes("small")


def _amounts(finding: Json, changes: Sequence[Json]) -> list[Sequence[str]]:
    """What differs by how much; if the values are no longer kept, only the sizes."""
    if changes:
        return [_change(each) for each in changes]
    return [
        (f"{name}: gap ", text.amount(size)) if name else ("× ", text.amount(size))  # noqa: RUF001
        for name, size in finding["sizes"].items()
        if name or Decimal(size) != 1  # a row that is there once needs no number
    ]


def _change(change: Json) -> Sequence[str]:
    name, unit = f"{change['name']}: ", change["unit"] or ""
    if change["gap"] is None:
        a, b = (None if each is None else str(each) for each in (change["a"], change["b"]))
        return name, text.change(a, b, is_amount=change["is_amount"])
    a, b = (text.amount(change[side], unit) for side in "ab")
    return name, a, " → ", b, " (gap ", text.amount(change["gap"], unit, signed=True), ")"


async def ask_note(heading: str, about: str, note: Note) -> Note | None:
    """Ask what is known and until when; None if nothing is to change."""
    with ui.dialog() as dialog, ui.card().classes("stack dialog"):
        dialog.props["aria-label"] = heading
        Heading(heading, 2)
        ui.label(printable(about))
        words = ui.textarea("What is known about it", value=note.text or "")
        words.props("autogrow maxlength=2000")
        due = ui.input("Counts as new again after (optional)", value=str(note.due or ""))
        due.props("type=date stack-label")
        with ui.element("div").classes("line"):
            Button(
                "Save",
                lambda: dialog.submit(((words.value or "").strip() or None, due.value)),
                kind="primary",
            )
            Button("Cancel", dialog.close, kind="quiet")
    answer: Any = await dialog
    if answer is None:
        return None
    written, day = answer
    try:
        return Note(written, date.fromisoformat(day) if day else None)
    except ValueError:
        show_error("This day is not a date. Write it as YYYY-MM-DD.")
        return None

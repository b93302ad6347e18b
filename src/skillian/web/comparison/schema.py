"""How the columns of the two sides differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from skillian.web.shell import text
from skillian.web.shell.elements import scroll_region


def schema_panel(differences: Sequence[Mapping[str, Any]]) -> None:
    """Show the differences of a `SchemaDiff`, as JSON, those that count as findings first."""
    rows = [
        ["finding" if each["finding"] else "note", each["aspect"], each["sentence"]]
        for each in sorted(differences, key=lambda each: not each["finding"])
    ]
    with ui.element("div").classes("schema"):
        show_table("Differences between the schemas", ("", "About", "Difference"), rows)


def show_table(
    name: str, headings: Sequence[str], rows: Sequence[Sequence[Any]], note: str = ""
) -> None:
    """Show a table that scrolls sideways.

    Args:
        name: What the table holds, for screen readers.
        headings: The headings of its columns.
        rows: Its rows.
        note: What to know about the rows, shown above them.
    """
    if note:
        ui.label(note).classes("soft small")
    with scroll_region(name):
        text.table(headings, rows, name).classes("row-table")

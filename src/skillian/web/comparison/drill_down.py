"""The rows behind one group, both sources next to each other."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from skillian.api.service import Service
from skillian.data.comparison.rows import DrillDown
from skillian.data.query.engine import QueryResult
from skillian.reports.words import key_words
from skillian.web.shell.activity import loading, reporting_errors
from skillian.web.shell.elements import Amount, Heading
from skillian.web.shell.rows_table import rows_table
from skillian.web.shell.text import code

ROWS = 200
"""The maximum number of rows of each source."""


async def open_drill_down(service: Service, cache_key: str, key: Mapping[str, object]) -> None:
    """Open a dialog with the rows behind a group, or show why they cannot be read."""
    with ui.dialog() as dialog, ui.card().classes("drill-down") as card:
        card.props["data-testid"] = "drill-down"
        spinner = loading("Reading the rows …")
    _ = dialog.on("hide", dialog.delete)
    _ = dialog.open()
    with reporting_errors(), service.slots.taken():
        await service.comparisons.recall(cache_key)
        rows = await service.data.comparison.drill_down(cache_key, key, ROWS)
        if not dialog.is_deleted:
            spinner.delete()
            with card:
                _show(rows, dialog)
        return
    dialog.close()


def _show(rows: DrillDown, dialog: ui.dialog) -> None:
    title = f"Rows behind {key_words(rows.key)}"
    dialog.props["aria-label"] = title
    with ui.element("div").classes("line drill-head"):
        Heading(title, 2).classes("grow")
        close = ui.button(icon="close", on_click=dialog.close).props("flat round dense")
        close.props["aria-label"] = "Close"
    with ui.element("div").classes("sides"):
        _side("A", rows.a)
        _side("B", rows.b)


def _side(name: str, result: QueryResult) -> None:
    with ui.element("section").classes("side") as side:
        side.props["aria-label"] = f"Rows of {result.source}"
        with ui.element("div").classes("line"):
            Heading(f"{name} · {result.source}", 3).classes("grow")
            Amount(len(result.rows))
            ui.label("row" if len(result.rows) == 1 else "rows")
        if result.truncated:
            ui.label(f"Only the first {len(result.rows)} rows are shown.").classes("small")
        if result.rows:
            rows_table(result)
        else:
            ui.label("This source has no rows in this group.").classes("soft")
        with ui.expansion("SQL").classes("full"):
            code(result.sql, "sql")

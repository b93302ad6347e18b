"""The rows behind one group, of both sides beside each other."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from skillian.api.service import Service
from skillian.data.comparison.rows import DrillDown
from skillian.data.query.engine import QueryResult
from skillian.reports.words import key_words
from skillian.web.amount import Amount
from skillian.web.choices import waiting
from skillian.web.faults import telling
from skillian.web.heading import Heading
from skillian.web.rows_table import rows_table
from skillian.web.text import code

ROWS = 200


async def open_drill_down(service: Service, cache_key: str, key: Mapping[str, object]) -> None:
    """Open a dialog with the rows behind a group; what cannot be read is told."""
    with ui.dialog() as dialog, ui.card().classes("drill-down") as card:
        card.props["data-testid"] = "drill-down"
        reading = waiting("The rows are read …")
    _ = dialog.on("hide", dialog.delete)
    _ = dialog.open()
    with telling(), service.slots.taken():
        await service.comparisons.recall(cache_key)
        found = await service.data.comparison.drill_down(cache_key, key, ROWS)
        if not dialog.is_deleted:
            reading.delete()
            with card:
                _show(found, dialog)
        return
    dialog.close()


def _show(found: DrillDown, dialog: ui.dialog) -> None:
    title = f"Rows behind {key_words(found.key)}"
    dialog.props["aria-label"] = title
    with ui.element("div").classes("line drill-head"):
        Heading(title, 2).classes("grow")
        close = ui.button(icon="close", on_click=dialog.close).props("flat round dense")
        close.props["aria-label"] = "Close"
    with ui.element("div").classes("sides"):
        _side("A", found.a)
        _side("B", found.b)


def _side(name: str, found: QueryResult) -> None:
    with ui.element("section").classes("side") as side:
        side.props["aria-label"] = f"Rows of {found.source}"
        with ui.element("div").classes("line"):
            Heading(f"{name} · {found.source}", 3).classes("grow")
            Amount(len(found.rows))
            ui.label("row" if len(found.rows) == 1 else "rows")
        if found.truncated:
            ui.label(f"There are more; these are the first {len(found.rows)}.").classes("small")
        if found.rows:
            rows_table(found)
        else:
            ui.label("There is no row on this side.").classes("soft")
        with ui.expansion("The SQL of these rows").classes("full"):
            code(found.sql, "sql")

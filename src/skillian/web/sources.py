"""The sources there are: what they hold, how fresh it is, and whether they answer."""

from __future__ import annotations

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.declare.definitions import Source
from skillian.data.query.catalogue import DimensionInfo, SourceInfo
from skillian.errors import ToolError
from skillian.reports.words import text
from skillian.web.amount import Amount
from skillian.web.choices import scrolling
from skillian.web.faults import telling
from skillian.web.heading import Heading
from skillian.web.rows_table import rows_table

_SAMPLES, _ROWS = 8, 10


async def sources_view(service: Service) -> None:
    """Show every source; each is read while the page is there already."""
    registry = service.data.registry
    with ui.element("div").classes("stack"):
        Heading("Sources", 1)
        if not registry.names:
            ui.label("There are no sources yet; declare them in sources.yaml.")
        await ui.context.client.connected(timeout=60)
        for name in registry.names:
            with ui.element("section").classes("source-card panel pad stack") as card:
                card.props["aria-label"] = name
                await _source(service, name, registry.get(name))


async def _source(service: Service, name: str, declared: Source) -> None:
    with ui.element("div").classes("line"):
        Heading(name).classes("grow")
        state = ui.label("… asking").props("role=status")
    if declared.description:
        ui.label(declared.description)
    try:
        with service.slots.taken():
            found = await service.data.catalogue.source(name)
    except (ToolError, ProblemError) as error:
        state.set_text("✕ does not answer")
        state.classes("fault")
        ui.label(str(error)).classes("fault").props("role=alert")
        return
    state.set_text("✓ answers")
    state.classes("status-match")
    _extent(found, declared)
    _dimensions(found)
    _measures(found)
    _rows(service, name)


def _extent(found: SourceInfo, declared: Source) -> None:
    with ui.element("div").classes("line soft"):
        Amount(found.row_count)
        ui.label("rows")
        if found.freshness is not None:
            ui.label(f"· {declared.freshness} up to {text(found.freshness)}")
        ui.label(f"· connection {declared.connection}")
        if declared.values == "hidden":
            ui.label("· values hidden from language models")


def _dimensions(found: SourceInfo) -> None:
    with (
        scrolling(f"Dimensions of {found.name}"),
        ui.element("table").classes("plain-table"),
    ):
        _caption(f"Dimensions of {found.name}")
        _heads("Dimension", "Type", "What it is", "Values")
        with ui.element("tbody"):
            for info in found.dimensions.values():
                _line(info.name, info.type, _told(info), _values(info))


def _measures(found: SourceInfo) -> None:
    with scrolling(f"Measures of {found.name}"), ui.element("table").classes("plain-table"):
        _caption(f"Measures of {found.name}")
        _heads("Measure", "Aggregation", "Unit", "What it is")
        with ui.element("tbody"):
            for name, measure in found.measures.items():
                _line(name, measure.aggregation, measure.unit or "", measure.description)


def _told(info: DimensionInfo) -> str:
    also = f" (also {', '.join(info.synonyms)})" if info.synonyms else ""
    return f"{info.description}{also}"


def _values(info: DimensionInfo) -> str:
    if info.values is None:
        return "more than 50"
    shown = ", ".join(text(value) for value in info.values[:_SAMPLES])
    left = len(info.values) - _SAMPLES
    return f"{shown} and {left} more" if left > 0 else shown


def _rows(service: Service, name: str) -> None:
    """Rows of the table, read when they are wanted."""
    with ui.expansion("Columns and some rows").classes("full") as closed:
        room = ui.element("div").classes("full")

    async def fill() -> None:
        if closed.value and not room.default_slot.children:
            with telling(), service.slots.taken():
                found = await service.data.catalogue.sample(name, _ROWS)
                with room:
                    rows_table(found.rows, found.types)

    closed.on_value_change(fill)


def _caption(words: str) -> None:
    with ui.element("caption"):
        ui.label(words)


def _heads(*names: str) -> None:
    with ui.element("thead"), ui.element("tr"):
        for name in names:
            with ui.element("th").props("scope=col"):
                ui.label(name)


def _line(*cells: str) -> None:
    with ui.element("tr"):
        for cell in cells:
            with ui.element("td"):
                ui.label(cell)

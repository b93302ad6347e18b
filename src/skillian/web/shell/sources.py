"""The sources view: what each source holds, how fresh it is, and whether it answers."""

from __future__ import annotations

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.declare.definitions import Source
from skillian.data.query.catalogue import DimensionInfo, SourceInfo
from skillian.errors import ToolError
from skillian.reports.words import text
from skillian.web.shell.activity import reporting_errors
from skillian.web.shell.elements import Heading, scroll_region
from skillian.web.shell.rows_table import rows_table
from skillian.web.shell.text import amount, sentence

_SAMPLES, _ROWS = 8, 10


async def sources_view(service: Service) -> None:
    """Show every source; each is read after the page is shown."""
    registry = service.data.registry
    with ui.element("div").classes("stack"):
        Heading("Sources", 1)
        if not registry.names:
            ui.label("There are no sources yet. Declare them in sources.yaml.")
        await ui.context.client.connected(timeout=60)
        for name in registry.names:
            with ui.element("section").classes("source-card panel pad stack") as card:
                card.props["aria-label"] = name
                await _source(service, name, registry.get(name))


async def _source(service: Service, name: str, source: Source) -> None:
    with ui.element("div").classes("line"):
        Heading(name).classes("grow")
        state = ui.label("… checking").props("role=status")
    if source.description:
        ui.label(source.description)
    try:
        with service.slots.taken():
            info = await service.data.catalogue.source(name)
            await service.data.catalogue.sample(name, 1)  # the description may be minutes old
    except (ToolError, ProblemError) as error:
        state.set_text("✕ does not answer")
        state.classes("fault")
        ui.label(str(error)).classes("fault").props("role=alert")
        return
    state.set_text("✓ answers")
    state.classes("status-match")
    _extent(info, source)
    _dimensions(info)
    _measures(info)
    _rows(service, name)


def _extent(info: SourceInfo, source: Source) -> None:
    more = [f"connection {source.connection}"]
    if info.freshness is not None:
        more.insert(0, f"{source.freshness} up to {text(info.freshness)}")
    if source.values == "hidden":
        more.append("values hidden from language models")
    rows = " row" if info.row_count == 1 else " rows"
    sentence(amount(info.row_count), rows, *(f" · {each}" for each in more)).classes("soft")


def _dimensions(info: SourceInfo) -> None:
    with _table(f"Dimensions of {info.name}", "Dimension", "Type", "Description", "Values"):
        for each in info.dimensions.values():
            _row(each.name, each.type, _description(each), _values(each))


def _measures(info: SourceInfo) -> None:
    with _table(f"Measures of {info.name}", "Measure", "Aggregation", "Unit", "Description"):
        for name, measure in info.measures.items():
            _row(name, measure.aggregation, measure.unit or "", measure.description)


def _description(info: DimensionInfo) -> str:
    synonyms = f" (also {', '.join(info.synonyms)})" if info.synonyms else ""
    return f"{info.description}{synonyms}"


def _values(info: DimensionInfo) -> str:
    if info.values is None:
        return "more than 50"
    samples = ", ".join(text(value) for value in info.values[:_SAMPLES])
    rest = len(info.values) - _SAMPLES
    return f"{samples} and {rest} more" if rest > 0 else samples


def _rows(service: Service, name: str) -> None:
    """A section with some rows of the table, which are read when it is opened."""
    with ui.expansion("Columns and sample rows").classes("full") as section:
        room = ui.element("div").classes("full")

    async def fill() -> None:
        if section.value and not room.default_slot.children:
            with reporting_errors(), service.slots.taken():
                sample = await service.data.catalogue.sample(name, _ROWS)
                with room:
                    rows_table(sample.rows, sample.types)

    section.on_value_change(fill)


def _table(caption: str, *headings: str) -> ui.element:
    """An empty table; the element returned is its body."""
    with scroll_region(caption), ui.element("table").classes("plain-table"):
        with ui.element("caption"):
            ui.label(caption)
        with ui.element("thead"), ui.element("tr"):
            for name in headings:
                with ui.element("th").props("scope=col"):
                    ui.label(name)
        return ui.element("tbody")


def _row(*cells: str) -> None:
    with ui.element("tr"):
        for cell in cells:
            with ui.element("td"):
                ui.label(cell)

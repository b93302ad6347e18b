"""A comparison on one page: the summary first, then a panel for each way to look at it."""

from __future__ import annotations

from typing import Literal

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.comparison.results import ComparisonResult
from skillian.errors import InvalidInputError, ToolError
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.differences_chart import differences_chart
from skillian.web.comparison.explanation import ExplanationPanel
from skillian.web.comparison.grid import grid_panel
from skillian.web.comparison.heat_map import heat_map_panel
from skillian.web.comparison.method import method_panel
from skillian.web.comparison.rows import RowsResult, rows_view
from skillian.web.comparison.statuses import StatusBar
from skillian.web.comparison.summary import header, sentences, tiles
from skillian.web.shell.activity import loading
from skillian.web.shell.elements import Heading

CHARTS = (differences_chart, heat_map_panel)
"""Shown next to each other if the page is wide enough."""
DETAILS = (grid_panel, method_panel)
"""Shown below the charts, each as wide as the page."""


async def comparison_view(
    service: Service, cache_key: str, *, level: Literal[1, 2] = 1, owner: str = ""
) -> None:
    """Show a comparison, or say why it cannot be shown and what to do.

    If the result is no longer in the cache, the sources are compared again.

    Args:
        service: Holds the comparison.
        cache_key: The key of the comparison.
        level: The level of its heading: 1 if the comparison has the page to itself.
        owner: Who asks; a comparison of uploaded files is shown only to their owner.
    """
    with ui.element("div").classes("comparison stack") as room:
        result: ComparisonResult | RowsResult | None = _cached(service, cache_key)
        if result is None:
            spinner = loading("Reading the comparison …")
            await ui.context.client.connected(timeout=60)
            try:
                result = await _recalled(service, cache_key, owner)
            except (ToolError, ProblemError) as error:
                Heading("This comparison cannot be shown", level)
                ui.label(str(error)).classes("fault").props("role=alert")
                ui.link("Compare again", "/compare")
                return
            finally:
                spinner.delete()
        with room:
            if isinstance(result, ComparisonResult):
                _build(ComparisonContext(service, result), level)
            else:
                rows_view(result, level)


def _cached(service: Service, cache_key: str) -> ComparisonResult | None:
    try:
        return service.data.comparison.remembered(cache_key)
    except InvalidInputError:
        return None


async def _recalled(service: Service, cache_key: str, owner: str) -> ComparisonResult | RowsResult:
    """The comparison of another process; one of whole rows is read as it was stored."""
    with service.slots.taken():
        body = await service.comparisons.find(cache_key, owner)
        if body.get("kind") == "rows":
            return body
        await service.comparisons.recall(cache_key)
    return service.data.comparison.remembered(cache_key)


def _build(comparison: ComparisonContext, level: Literal[1, 2]) -> None:
    why = header(comparison.result, level)
    tiles(comparison.result)
    if not comparison.result.summary.classes.groups:
        sentences(comparison.result)
        return
    StatusBar(comparison)
    sentences(comparison.result)
    why.on_click(ExplanationPanel(comparison).explain)
    with ui.element("div").classes("charts"):
        for chart in CHARTS:
            chart(comparison)
    for panel in DETAILS:
        panel(comparison)

"""A comparison on one page: the verdict first, then a tab for each way to look at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.results.result import ComparisonResult
from skillian.errors import InvalidInputError, ToolError
from skillian.web.comparison.change import Control, change_panel, show_control
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.differences_chart import differences_chart
from skillian.web.comparison.drill_down import rows_panel
from skillian.web.comparison.grid.grid import grid_panel
from skillian.web.comparison.measures import classes_panel, measures_panel, verdict_on
from skillian.web.comparison.rows import RowsResult, rows_tabs, verdict_on_rows
from skillian.web.comparison.schema import schema_panel
from skillian.web.comparison.sql import sql_panel
from skillian.web.comparison.tabs import Tabs
from skillian.web.comparison.why.explanation import explanation_panel
from skillian.web.comparison.why.heat_map import heat_map_panel
from skillian.web.shell.activity import loading
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit

DIFFERENCES = (classes_panel, grid_panel, differences_chart)
"""What the first tab shows, from top to bottom."""
WHY = (heat_map_panel, explanation_panel)


async def comparison_view(
    service: Service,
    cache_key: str,
    *,
    level: Literal[1, 2] = 1,
    owner: str = "",
    said: str = "",
    on_save: Callable[[], object] | None = None,
) -> None:
    """Show a comparison, or say why it cannot be shown and what to do.

    If the result is no longer in the cache, the sources are compared again.

    Args:
        service: Holds the comparison.
        cache_key: The key of the comparison.
        level: The level of its heading: 1 if the comparison has the page to itself.
        owner: Who asks; a comparison of uploaded files is shown only to their owner.
        said: The answer above it, whose sentences are not repeated.
        on_save: Called when the reader wants to save it; without it, it cannot be saved here.
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
                verdict, build = verdict_on(result), partial(_tabs, service, result, owner)
            else:
                verdict = verdict_on_rows(result)
                build = partial(rows_tabs, result, Visit(service, owner, None))

            def change(control: Control) -> None:
                tabs.open("Change")
                show_control(control)

            verdict.show(level, said, on_change=change, on_save=on_save)
            tabs = build()


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


def _tabs(service: Service, result: ComparisonResult, owner: str) -> Tabs:
    """A tab for each way to look at a comparison of measures."""
    comparison = ComparisonContext(service, result)
    panels: dict[str, Callable[[], object]] = {}
    if result.summary.classes.groups:
        panels["Differences"] = partial(_show_all, DIFFERENCES, comparison)
    if len(result.summary.measures) > 1:
        panels["Measures"] = partial(measures_panel, result)
    if result.schema is not None and result.schema.differences:
        differences = [each.to_dict() for each in result.schema.differences]
        panels["Schema"] = partial(schema_panel, differences)
    if result.top_differences:
        panels["Why"] = partial(_show_all, WHY, comparison)
        panels["Rows"] = partial(rows_panel, comparison.service, result)
    visit = Visit(comparison.service, owner, None)
    key, summary = result.cache_key, result.summary
    rows = summary.rows_a + summary.rows_b
    panels["Change"] = partial(change_panel, visit, key, comparison.names, rows)
    panels["SQL"] = partial(_sql, result)
    tabs = Tabs("The result", panels)
    comparison.follow(on_members=lambda _: tabs.open("Differences"))
    return tabs


def _show_all(
    parts: tuple[Callable[[ComparisonContext], object], ...], comparison: ComparisonContext
) -> None:
    for part in parts:
        part(comparison)


def _sql(result: ComparisonResult) -> None:
    queries = {name: query.text for name, query in result.proof.queries.items()}
    notes = (f"Key of this comparison: {result.cache_key}",)
    sql_panel(result.proof.sql, queries, notes)

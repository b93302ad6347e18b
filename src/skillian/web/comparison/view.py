"""A comparison on one page: the verdict first, then a tab for each way to look at it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
from skillian.web.comparison.form.view import CompareFields
from skillian.web.comparison.grid.grid import grid_panel
from skillian.web.comparison.measures import classes_panel, measures_panel, verdict_on
from skillian.web.comparison.rows import rows_tabs, verdict_on_rows
from skillian.web.comparison.schema import schema_panel
from skillian.web.comparison.sql import sql_panel
from skillian.web.comparison.tabs import Tabs
from skillian.web.comparison.verdict import Verdict
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
    visit = Visit(service, owner, None)
    with ui.element("div").classes("comparison stack") as room:
        parts: _Parts | None = None
        with suppress(InvalidInputError):
            parts = _of_groups(visit, cache_key)
        if parts is None:
            spinner = loading("Reading the comparison …")
            await ui.context.client.connected(timeout=60)
            try:
                parts = await _recalled(visit, cache_key)
            except (ToolError, ProblemError) as error:
                Heading("This comparison cannot be shown", level)
                ui.label(str(error)).classes("fault").props("role=alert")
                ui.link("Compare again", "/compare")
                return
            finally:
                spinner.delete()
        verdict, build = parts
        with room:

            def change(control: Control) -> None:
                tabs.open("Change")
                show_control(control)

            verdict.show(level, said, on_change=change, on_save=on_save)
            tabs = build()


_Parts = tuple[Verdict, Callable[[], Tabs]]
"""The verdict, and what builds the tabs below it."""


def _of_groups(visit: Visit, cache_key: str) -> _Parts:
    """Those of a comparison of measures in the cache; raises `InvalidInputError`."""
    result = visit.service.data.engine.measures.groups(cache_key).result
    return verdict_on(result), partial(_tabs, result, visit)


async def _recalled(visit: Visit, cache_key: str) -> _Parts:
    """Those of a comparison of another process; one of whole rows is read as it was stored."""
    with visit.service.slots.taken():
        body = await visit.service.comparisons.find(cache_key, visit.owner)
        if body.get("kind") == "rows":
            return verdict_on_rows(body), partial(rows_tabs, body, visit)
        await visit.service.comparisons.recall(cache_key)
    return _of_groups(visit, cache_key)


def _tabs(result: ComparisonResult, visit: Visit) -> Tabs:
    """A tab for each way to look at a comparison of measures."""
    comparison = ComparisonContext(visit.service, result)
    panels: dict[str, Callable[[], object]] = {}
    if result.summary.classes.groups:
        panels["Differences"] = partial(_show_all, DIFFERENCES, comparison)
    if len(result.summary.measures) > 1:
        panels["Measures"] = partial(measures_panel, result)
    if result.schema.differences:
        differences = [each.to_dict() for each in result.schema.differences]
        panels["Schema"] = partial(schema_panel, differences)
    if result.top_differences:
        panels["Why"] = partial(_show_all, WHY, comparison)
        panels["Rows"] = partial(rows_panel, comparison.service, result)
    panels["Change"] = partial(change_panel, visit, result.cache_key, partial(CompareFields, visit))
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

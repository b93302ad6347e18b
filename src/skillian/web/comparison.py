"""A comparison on one page: numbers, charts, groups, the rows behind them, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.comparison.results import ComparisonResult, Status
from skillian.data.query.filters import Operator
from skillian.display import printable
from skillian.errors import InvalidInputError, ToolError
from skillian.reports.words import text
from skillian.web.choices import waiting
from skillian.web.differences_chart import differences_chart
from skillian.web.downloads import downloads
from skillian.web.drill_down import open_drill_down
from skillian.web.explanation import ExplanationPanel
from skillian.web.grid import GroupGrid
from skillian.web.heading import Heading
from skillian.web.heat_map import HeatMapPanel
from skillian.web.status_bar import StatusBar
from skillian.web.text import code
from skillian.web.tiles import tiles

_MAP_DIMENSIONS = 2
_OPERATORS: dict[Operator, str] = {
    "in": "is",
    "not_in": "is not",
    "gte": "≥",
    "gt": ">",
    "lte": "≤",
    "lt": "<",
}


async def comparison_view(service: Service, cache_key: str, *, level: Literal[1, 2] = 1) -> None:
    """Show a comparison by its key; one that is not known any more is told, with what to do.

    Args:
        service: Answers.
        cache_key: Names the comparison.
        level: That of its heading: 1 where it is the page's own.
    """
    with ui.element("div").classes("comparison stack") as room:
        result = _remembered(service, cache_key)
        if result is None:
            again = waiting("The sources are compared again …")
            await ui.context.client.connected(timeout=60)
            try:
                with service.slots.taken():
                    await service.comparisons.recall(cache_key)
                result = service.data.comparison.remembered(cache_key)
            except (ToolError, ProblemError) as error:
                _fault(str(error), level)
                return
            finally:
                again.delete()
        with room:
            _Comparison(service, result, level).build()


def _remembered(service: Service, cache_key: str) -> ComparisonResult | None:
    try:
        return service.data.comparison.remembered(cache_key)
    except InvalidInputError:
        return None


def _fault(reason: str, level: Literal[1, 2]) -> None:
    Heading("This comparison cannot be shown", level)
    ui.label(reason).classes("fault").props("role=alert")
    ui.link("Compare again", "/compare")


class _Comparison:
    """The parts of the view, and how a click in one shows in another."""

    def __init__(self, service: Service, result: ComparisonResult, level: Literal[1, 2]) -> None:
        self._service = service
        self._level: Literal[1, 2] = level
        self._result = result
        self._grid: GroupGrid | None = None

    def build(self) -> None:
        result = self._result
        self._head()
        tiles(result)
        if not result.summary.classes.groups:
            self._sentences()
            return
        status = StatusBar(result.summary.classes, self._show)
        self._sentences()
        why = ExplanationPanel(self._service, result, self._narrow)
        self._why.on_click(why.explain)
        with ui.element("div").classes("charts"):
            with ui.element("section").classes("panel pad stack"):
                differences_chart(result, self._open)
            if len(result.proof.align_on) >= _MAP_DIMENSIONS:
                with ui.element("section").classes("panel pad stack"):
                    heat_map = HeatMapPanel(self._service, result, self._narrow)
                    ui.timer(0, heat_map.draw, once=True)  # the page need not wait for it
        with ui.element("div").classes("line"):
            Heading("Groups").classes("grow")
            ui.button("Show all", on_click=lambda: self._narrow({})).props("flat dense")
        self._grid = GroupGrid(result, status.chosen, self._open)
        self._proof()

    def _head(self) -> None:
        result = self._result
        measures = ", ".join(measure.name for measure in result.summary.measures)
        with ui.element("div").classes("line"):
            Heading(f"{result.source_a} and {result.source_b}", self._level).classes("grow")
            self._why = ui.button("Why?", icon="account_tree").props("unelevated")
            self._why.set_enabled(bool(result.top_differences))
        told = [f"{measures} by {', '.join(result.proof.align_on)}"]
        for each in result.proof.filters:
            values = ", ".join(text(value) for value in each.values)
            told.append(f"{each.dimension} {_OPERATORS[each.operator]} {values}")
        ui.label(" · ".join(told)).classes("soft")
        ui.label(f"A is {result.source_a}, B is {result.source_b}").classes("soft small")
        downloads(result.cache_key)

    def _sentences(self) -> None:
        with ui.element("ul").classes("sentences"):
            for sentence in self._result.interpretation:
                with ui.element("li"):
                    ui.label(printable(sentence))

    def _proof(self) -> None:
        proof = self._result.proof
        with ui.expansion("How this was found").classes("full"):
            ui.label(f"Read at {proof.snapshot}; key {self._result.cache_key}").classes("small")
            for name, limits in proof.thresholds.items():
                match, minor = limits.match, limits.minor_diff
                ui.label(
                    f"{name}: a match up to {match.words()}, minor up to {minor.words()}"
                ).classes("small")
            for name, query in proof.queries.items():
                ui.label(f"SQL in {name}").classes("small soft")
                code(query.text, "sql")
            ui.label("SQL").classes("small soft")
            code(proof.sql, "sql")

    def _show(self, statuses: tuple[Status, ...]) -> None:
        if self._grid is not None:
            self._grid.show(statuses)

    def _narrow(self, member: Mapping[str, object]) -> None:
        if self._grid is not None:
            self._grid.narrow(member)

    async def _open(self, key: Mapping[str, object]) -> None:
        await open_drill_down(self._service, self._result.cache_key, key)

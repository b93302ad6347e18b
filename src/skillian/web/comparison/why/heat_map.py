"""The gap of one measure over two chosen dimensions; a click on a cell shows its groups."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from skillian.data.comparison.explain.heat_map import HeatMap, HeatMapCell
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.reports.charts import WIDTH, shades
from skillian.reports.words import text
from skillian.web.comparison.context import ComparisonContext
from skillian.web.shell.activity import loading, reporting_errors
from skillian.web.shell.elements import Heading, item_at, scroll_region

_HIGHER, _LOWER = "higher", "lower"
_FAINT, _STRONG = 12, 62
_ROW = 26
_DIMENSIONS = 2
# These scripts are constants. Names and values reach them as data, and are drawn as text.
_SHORT = "p => p.data.groups ? skillian.short(p.data.exact, true) : '='"
_TOOLTIP = """p => `${p.data.row} · ${p.data.column}\\n`
  + `${p.data.gap}: ${skillian.exact(p.data.exact, true)}\\n`
  + `groups that differ: ${skillian.exact(p.data.groups)}`"""


def heat_map_panel(comparison: ComparisonContext) -> None:
    """Show the heat map, if the comparison has two dimensions."""
    if len(comparison.result.key_columns) < _DIMENSIONS:
        return
    with ui.element("section").classes("panel pad stack"):
        heat_map = _HeatMapPanel(comparison)
        ui.timer(0, heat_map.draw, once=True)  # the page does not wait for it


class _HeatMapPanel:
    """Fields for the dimensions and the measure, and the map."""

    def __init__(self, comparison: ComparisonContext) -> None:
        self._comparison = comparison
        result = comparison.result
        names = list(result.key_columns)
        measures = [measure.name for measure in result.summary.measures]
        Heading("Where the gap is")
        with ui.element("div").classes("line"):
            self._row = _choice("Rows of the heat map", "Rows", names, names[0])
            self._column = _choice("Columns of the heat map", "Columns", names, names[1])
            self._measure = _choice("Measure of the heat map", "Measure", measures, measures[0])
            self._measure.set_visibility(len(measures) > 1)
        for choice in (self._row, self._column, self._measure):
            choice.on_value_change(self.draw)
        self._room = scroll_region("Heat map")
        with self._room:
            loading("Adding up the gap …")

    async def draw(self) -> None:
        """Read the map of the selected dimensions and measure, and draw it."""
        service, key = self._comparison.service, self._comparison.result.cache_key
        with reporting_errors(), service.slots.taken():
            await service.comparisons.recall(key)
            heat_map = await service.data.engine.measures.heat_map(
                key, (self._row.value, self._column.value), self._measure.value
            )
            self._room.clear()
            with self._room:
                _chart(self._comparison, heat_map)


def _choice(name: str, label: str, options: list[str], value: str) -> ui.select:
    choice = ui.select(options, value=value, label=label)
    choice.classes("heat-choice").props["aria-label"] = name
    return choice


def _chart(comparison: ComparisonContext, heat_map: HeatMap) -> None:
    if not heat_map.cells:
        ui.label("No groups differ.").classes("soft")
        return

    def clicked(event: EChartPointClickEventArguments) -> None:
        cell = item_at(event.data_index, heat_map.cells)
        if cell is not None:
            row, column = heat_map.dimensions
            comparison.select_members(
                {row: heat_map.rows[cell.row], column: heat_map.columns[cell.column]}
            )

    chart = ui.echart(_options(heat_map, comparison.names), on_point_click=clicked, renderer="svg")
    chart.classes("heat-map")
    chart.style["height"] = f"{_ROW * len(heat_map.rows) + 60}px"
    chart.style["min-width"] = f"{110 + 54 * len(heat_map.columns)}px"
    chart.props["role"] = "img"
    chart.props["data-testid"] = "heat-map"
    chart.props["aria-label"] = _description(heat_map)
    b = comparison.names[1]
    with ui.element("div").classes("line small soft"):
        for colour, meaning in (
            (_HIGHER, f"+ {b} is higher"),
            (_LOWER, f"− {b} is lower"),  # noqa: RUF001 - a minus
        ):
            with ui.element("span").classes("status"):
                ui.label("■").classes(f"gap-{colour}").props("aria-hidden=true")
                ui.label(printable(meaning))
        ui.label("= no difference; empty: no such group")
    if heat_map.more_rows or heat_map.more_columns:
        row, column = heat_map.dimensions
        ui.label(
            f"Only the largest gaps are shown; {heat_map.more_rows} more in {row},"
            f" {heat_map.more_columns} more in {column}."
        ).classes("small soft")


def _description(heat_map: HeatMap) -> str:
    largest = max(heat_map.cells, key=lambda cell: cell.gross)
    names = (text(heat_map.rows[largest.row]), text(heat_map.columns[largest.column]))
    return (
        f"Heat map of the gap in {heat_map.measure} by {' and '.join(heat_map.dimensions)};"
        f" the largest is {jsonable(largest.net)} at {', '.join(names)}"
    )


def _options(heat_map: HeatMap, names: tuple[str, str]) -> dict[str, Any]:
    strengths = shades([cell.gross for cell in heat_map.cells])
    axis = {
        "type": "category",
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitArea": {"show": False},
    }
    label = {"color": "var(--ink)", "overflow": "truncate"}
    gap = printable(f"{names[1]} − {names[0]}")  # noqa: RUF001 - a minus
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 8, "bottom": 8, "containLabel": True},
        "xAxis": {
            **axis,
            "data": [text(member) for member in heat_map.columns],
            "axisLabel": {**label, "width": 70, "rotate": 40 if len(heat_map.columns) > 6 else 0},  # noqa: PLR2004
        },
        "yAxis": {
            **axis,
            "inverse": True,
            "data": [text(member) for member in heat_map.rows],
            "axisLabel": {**label, "width": 110},
        },
        # Drawn as text in a picture, never as HTML.
        "tooltip": {"renderMode": "richText", ":formatter": _TOOLTIP},
        # ECharts requires a visual map; the cells have their own colours.
        "visualMap": {"show": False, "min": 0, "max": 1, "dimension": 2, "seriesIndex": []},
        "series": [
            {
                "type": "heatmap",
                "cursor": "pointer",
                "emphasis": {"disabled": True},
                "label": {
                    "show": True,
                    ":formatter": _SHORT,
                    "color": "var(--ink)",
                    "fontSize": 11,
                },
                "data": [
                    {**_cell(heat_map, cell, strength), "gap": gap}
                    for cell, strength in zip(heat_map.cells, strengths, strict=True)
                ],
            }
        ],
    }


def _cell(heat_map: HeatMap, cell: HeatMapCell, strength: int) -> dict[str, Any]:
    share = _FAINT + (_STRONG - _FAINT) * strength / WIDTH
    colour = "line" if not cell.groups else _LOWER if cell.net < 0 else _HIGHER
    return {
        "value": [cell.column, cell.row, 1],
        "row": text(heat_map.rows[cell.row]),
        "column": text(heat_map.columns[cell.column]),
        "exact": str(jsonable(cell.net)),
        "groups": cell.groups,
        "itemStyle": {
            "color": f"color-mix(in srgb, var(--{colour}) {share:.0f}%, transparent)",
            "borderColor": "var(--paper)",
            "borderWidth": 2,
        },
    }

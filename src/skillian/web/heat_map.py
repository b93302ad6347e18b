"""The gap of one measure over two chosen dimensions; a click on a cell shows its groups."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from skillian.api.service import Service
from skillian.data.comparison.explain.heat_map import Cell, HeatMap
from skillian.data.comparison.results import ComparisonResult
from skillian.data.sql.values import jsonable
from skillian.reports.charts import WIDTH, shades
from skillian.reports.words import text
from skillian.web.choices import OnMember, picked, scrolling, waiting
from skillian.web.faults import telling
from skillian.web.heading import Heading

HIGHER, LOWER = "213, 94, 0", "0, 114, 178"
_FAINT, _STRONG = 0.12, 0.62
_ROW = 26
# Constants: what comes of the data stands in the values they are given, and is drawn as text.
_SHORT = """p => new Intl.NumberFormat(navigator.language, {
  notation: "compact",
  maximumFractionDigits: Math.abs(p.data.exact) < 10 ? 2 : 0,
  signDisplay: "exceptZero",
}).format(p.data.exact)"""
_TOLD = """p => {
  const amount = v => new Intl.NumberFormat(navigator.language,
    {maximumFractionDigits: 20, signDisplay: "exceptZero"}).format(v);
  return `${p.data.row} · ${p.data.column}\\nB - A: ${amount(p.data.exact)}\\n`
    + `groups that differ: ${p.data.groups}`;
}"""


class HeatMapPanel:
    """Chooses the dimensions and the measure, and draws the map.

    Args:
        service: Answers.
        result: The comparison.
        on_member: Told the members of a cell that was clicked.
    """

    def __init__(self, service: Service, result: ComparisonResult, on_member: OnMember) -> None:
        self._service = service
        self._result = result
        self._on_member = on_member
        names = list(result.proof.align_on)
        measures = [measure.name for measure in result.summary.measures]
        Heading("Where the gap sits")
        with ui.element("div").classes("line"):
            self._row = _choice("Rows of the heat map", "Rows", names, names[0])
            self._column = _choice("Columns of the heat map", "Columns", names, names[1])
            self._measure = _choice("Measure of the heat map", "Measure", measures, measures[0])
            self._measure.set_visibility(len(measures) > 1)
        for choice in (self._row, self._column, self._measure):
            choice.on_value_change(self.draw)
        self._room = scrolling("Heat map")
        with self._room:
            waiting("The gap is added up …")

    async def draw(self) -> None:
        """Read the map and draw it."""
        with telling(), self._service.slots.taken():
            key = self._result.cache_key
            await self._service.comparisons.recall(key)
            found = await self._service.data.comparison.heat_map(
                key, (self._row.value, self._column.value), self._measure.value
            )
            self._room.clear()
            with self._room:
                _chart(found, self._on_member)


def _choice(label: str, shown: str, options: list[str], value: str) -> ui.select:
    choice = ui.select(options, value=value, label=shown).props("dense outlined options-dense")
    choice.classes("heat-choice").props["aria-label"] = label
    return choice


def _chart(found: HeatMap, on_member: OnMember) -> None:
    if not found.cells:
        ui.label("No group differs.").classes("soft")
        return

    def clicked(event: EChartPointClickEventArguments) -> None:
        cell = picked(event.data_index, found.cells)
        if cell is not None:
            row, column = found.dimensions
            on_member({row: found.rows[cell.row], column: found.columns[cell.column]})

    chart = ui.echart(_options(found), on_point_click=clicked, renderer="svg")
    chart.classes("heat-map")
    chart.style["height"] = f"{_ROW * len(found.rows) + 60}px"
    chart.style["min-width"] = f"{110 + 54 * len(found.columns)}px"
    chart.props["role"] = "img"
    chart.props["data-testid"] = "heat-map"
    chart.props["aria-label"] = _told(found)
    with ui.element("div").classes("line small soft"):
        ui.label("■").style(f"color: rgb({HIGHER})").props("aria-hidden=true")
        ui.label("+ B is higher")
        ui.label("■").style(f"color: rgb({LOWER})").props("aria-hidden=true")
        ui.label("− B is lower")  # noqa: RUF001 - a minus
    if found.more_rows or found.more_columns:
        ui.label(
            f"With the largest gaps; {found.more_rows} more in {found.dimensions[0]},"
            f" {found.more_columns} more in {found.dimensions[1]}."
        ).classes("small soft")


def _told(found: HeatMap) -> str:
    largest = max(found.cells, key=lambda cell: cell.gross)
    names = (text(found.rows[largest.row]), text(found.columns[largest.column]))
    return (
        f"Heat map of the gap in {found.measure} by {found.dimensions[0]} and"
        f" {found.dimensions[1]}; the largest is {jsonable(largest.net)} at {names[0]}, {names[1]}"
    )


def _options(found: HeatMap) -> dict[str, Any]:
    strengths = shades([cell.gross for cell in found.cells])
    axis = {
        "type": "category",
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitArea": {"show": False},
    }
    label = {"color": "var(--ink)", "overflow": "truncate"}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 8, "bottom": 8, "containLabel": True},
        "xAxis": {
            **axis,
            "data": [text(member) for member in found.columns],
            "axisLabel": {**label, "width": 70, "rotate": 40 if len(found.columns) > 6 else 0},  # noqa: PLR2004
        },
        "yAxis": {
            **axis,
            "inverse": True,
            "data": [text(member) for member in found.rows],
            "axisLabel": {**label, "width": 110},
        },
        # Drawn as text in a picture, never as HTML.
        "tooltip": {"renderMode": "richText", ":formatter": _TOLD},
        # A heat map must have one; the cells bring their own colours.
        "visualMap": {"show": False, "min": 0, "max": 1, "dimension": 2, "seriesIndex": []},
        "series": [
            {
                "type": "heatmap",
                "cursor": "pointer",
                "label": {
                    "show": True,
                    ":formatter": _SHORT,
                    "color": "var(--ink)",
                    "fontSize": 11,
                },
                "data": [
                    _cell(found, cell, strength)
                    for cell, strength in zip(found.cells, strengths, strict=True)
                ],
            }
        ],
    }


def _cell(found: HeatMap, cell: Cell, strength: int) -> dict[str, Any]:
    alpha = _FAINT + (_STRONG - _FAINT) * strength / WIDTH
    return {
        "value": [cell.column, cell.row, 1],
        "row": text(found.rows[cell.row]),
        "column": text(found.columns[cell.column]),
        "exact": str(jsonable(cell.net)),
        "groups": cell.groups,
        "itemStyle": {
            "color": f"rgba({LOWER if cell.net < 0 else HIGHER}, {alpha:.3f})",
            "borderColor": "var(--paper)",
            "borderWidth": 2,
        },
    }

"""All groups of a comparison as a grid; the server sorts, filters and pages them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.data.comparison.results import (
    STATUSES,
    ComparisonResult,
    MeasureSummary,
    Status,
)
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import styles_of
from skillian.web.shell import text
from skillian.web.shell.activity import show_error
from skillian.web.shell.elements import scroll_to

_BLOCK = 100
_ROW, _HEADING, _SCROLL_BAR = 32, 36, 20
_HEADER = 2 * _HEADING
_FEWEST, _MOST = 3, 16
"""How many rows the grid is high."""
_LONGEST_ERROR = 500
# These scripts are constants. Names and values reach them as data only.
_AMOUNT = 'p => p.value === null || p.value === undefined ? "" : skillian.exact(p.value)'
_GAP = 'p => p.value === null || p.value === undefined ? "" : skillian.exact(p.value, true)'
_PERCENT = 'p => p.value === null || p.value === undefined ? "" : skillian.percent(p.value)'
# The same as `display.printable`: the rows come from the service unchanged.
_PRINTABLE = r"""v => v === null ? "no value" : String(v).replace(
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))"""
_KEY = f'p => p.data === undefined ? "…" : ({_PRINTABLE})(p.value)'
_OPEN = f"""p => {{
  if (!p.data) return "";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "row-open";
  button.tabIndex = -1;
  button.textContent = "Rows";
  button.setAttribute("aria-label",
    "Rows behind " + Object.values(p.data.key).map({_PRINTABLE}).join(", "));
  return button;
}}"""
_CHANGED = """p => "ag-right-aligned-cell"
  + (p.data && p.data.s%d !== "match" ? " changed changed-" + p.data.s%d : "")"""
_UNEVEN = """p => "ag-right-aligned-cell"
  + (p.data && p.data.rows_a !== p.data.rows_b ? " changed" : "")"""
_TEXT_TESTS = ["contains", "equals", "notEqual", "blank", "notBlank"]
_NUMBER_TESTS = [
    "greaterThan",
    "greaterThanOrEqual",
    "lessThan",
    "lessThanOrEqual",
    "inRange",
    "equals",
    "notEqual",
    "blank",
    "notBlank",
]


def grid_panel(comparison: ComparisonContext) -> None:
    """Show the grid, which follows the selection; a click on a row, or Enter, opens its group."""
    groups = comparison.result.summary.classes.groups
    with ui.element("div").classes("line"):
        shown = ui.element("span").classes("soft grow").props("role=status")
        show_all = ui.button().props("flat dense no-caps")
    grid = _Grid(comparison, shown)

    def update(*_: object) -> None:
        """Offer to show all groups if not all of them are shown."""
        is_all = len(comparison.statuses) == len(STATUSES) and not comparison.members
        show_all.set_visibility(not is_all)

    def select_all() -> None:
        comparison.select_members({})
        comparison.select_statuses(STATUSES)

    show_all.on_click(select_all)
    with show_all:
        text.sentence("Show all ", text.amount(groups), " groups")
    comparison.follow(on_statuses=grid.show_statuses, on_members=grid.show_members)
    comparison.follow(on_statuses=update, on_members=update)
    update()


class _Grid:
    """The grid; it says in `shown` how many groups it shows."""

    def __init__(self, comparison: ComparisonContext, shown: ui.element) -> None:
        result = comparison.result
        self._align_on = result.proof.align_on
        self._groups = result.summary.classes.groups
        self._shown = shown
        options = _options(comparison)
        with ui.element("div").classes("full") as self._box:
            self._grid: Any = ui.aggrid(options, auto_size_columns=False)
        self._grid.classes("comparison-grid")
        self._grid.props["data-testid"] = "differences-grid"
        self._grid.props["role"] = "region"
        self._grid.props["aria-label"] = "Groups; Enter opens the rows behind a group"
        classes = result.summary.classes
        self._show_total(classes.groups - classes.match)
        grid = self._grid.id
        self._grid.options[":datasource"] = _datasource(grid, result)
        self._grid.options[":onCellClicked"] = (
            f"p => p.data && getElement({grid}).$emit('open', p.data.key)"
        )
        self._grid.options[":onCellKeyDown"] = (
            "p => p.data && p.event.key === 'Enter'"
            f" && getElement({grid}).$emit('open', p.data.key)"
        )

        async def opened(event: GenericEventArguments) -> None:
            key: Any = event.args  # from the browser; the engine checks it
            if isinstance(key, dict):
                await comparison.open_group(cast("dict[str, object]", key))

        def failed(event: GenericEventArguments) -> None:
            message: Any = event.args
            show_error(str(message)[:_LONGEST_ERROR])

        def counted(event: GenericEventArguments) -> None:
            total: Any = event.args
            if isinstance(total, int):
                self._show_total(max(0, min(total, self._groups)))

        self._grid.on("open", opened)
        self._grid.on("counted", counted)
        self._grid.on("failed", failed)

    def show_statuses(self, statuses: Sequence[Status]) -> None:
        self._grid.run_grid_method("setGridOption", "context", {"statuses": list(statuses)})
        self._grid.run_grid_method("purgeInfiniteCache")

    def show_members(self, members: Mapping[str, object]) -> None:
        model = {
            f"k{self._align_on.index(name)}": {"filterType": "text", **_equal(value)}
            for name, value in members.items()
        }
        self._grid.run_grid_method("setFilterModel", model)
        scroll_to(self._box)

    def _show_total(self, total: int) -> None:
        """Say how many groups are shown, and make the grid as high as they need."""
        rows = min(max(total, _FEWEST), _MOST)
        self._box.style["height"] = f"{_HEADER + _ROW * rows + _SCROLL_BAR}px"
        self._box.update()
        self._shown.clear()
        with self._shown:
            text.sentence(
                text.amount(total), " of ", text.amount(self._groups), " groups are shown"
            )


def _equal(value: object) -> dict[str, object]:
    return (
        {"type": "blank"} if value is None else {"type": "equals", "filter": str(jsonable(value))}
    )


def _datasource(grid: int, result: ComparisonResult) -> str:
    parameters = {
        "grid": grid,
        "url": f"/comparisons/{result.cache_key}/rows",
        "keys": result.proof.align_on,
        "measures": [measure.name for measure in result.summary.measures],
    }
    return f"({_script()})({json.dumps(parameters)})"


@cache
def _script() -> str:
    return files("skillian.web.comparison").joinpath("grid.js").read_text(encoding="utf-8")


def _options(comparison: ComparisonContext) -> dict[str, Any]:
    result, names = comparison.result, [printable(name) for name in comparison.names]
    columns = [_status_column(comparison)]
    columns += [_key_column(index, name) for index, name in enumerate(result.proof.align_on)]
    columns += [
        _measure_columns(index, measure, names)
        for index, measure in enumerate(result.summary.measures)
    ]
    columns += [
        {"headerName": "Rows", "marryChildren": True, "children": [
            {"headerName": name, "headerTooltip": name, "field": f"rows_{side}", "type":
             "rightAligned", ":valueFormatter": _AMOUNT, "sortable": False, "flex": 1,
             "minWidth": 130, ":cellClass": _UNEVEN}
            for side, name in zip("ab", names, strict=True)
        ]},
        {"headerName": "", ":cellRenderer": _OPEN, "sortable": False, "width": 76},
    ]  # fmt: skip
    return {
        "columnDefs": columns,
        "defaultColDef": {"resizable": True, "suppressHeaderMenuButton": False},
        "rowModelType": "infinite",
        "cacheBlockSize": _BLOCK,
        "maxBlocksInCache": 30,
        "blockLoadDebounceMillis": 150,
        "infiniteInitialRowCount": 1,
        "context": {"statuses": list(comparison.statuses)},
        "rowHeight": _ROW,
        "headerHeight": _HEADING,
        "groupHeaderHeight": _HEADING,
        "suppressMultiSort": True,
        "ensureDomOrder": True,
        "tooltipShowDelay": 300,
    }


def _status_column(comparison: ComparisonContext) -> dict[str, Any]:
    styles = styles_of(comparison.names)
    labels = {key: f"{style.symbol} {style.label}" for key, style in styles.items()}
    return {
        "headerName": "Class",
        "field": "status",
        "sortable": True,
        "width": 180,
        ":valueFormatter": f"p => ({json.dumps(labels)})[p.value] ?? ''",
        ":tooltipValueGetter": f"p => ({json.dumps(labels)})[p.value]",
        ":cellClass": "p => 'status-' + p.value",
    }


def _key_column(index: int, name: str) -> dict[str, Any]:
    return {
        "headerName": printable(name),
        "field": f"k{index}",
        ":valueFormatter": _KEY,
        "filter": "agTextColumnFilter",
        "filterParams": _filter_options(_TEXT_TESTS),
        "sortable": True,
        "flex": 1,
        "minWidth": 110,
    }


def _measure_columns(index: int, measure: MeasureSummary, names: Sequence[str]) -> dict[str, Any]:
    """The two sides of a measure next to each other, and its gap; what differs is marked."""
    sides = {"a": names[0], "b": names[1], "g": "Gap"}
    columns: list[dict[str, Any]] = [
        {
            "headerName": name,
            "headerTooltip": name,
            "field": f"{part}{index}",
            "type": "rightAligned",
            ":valueFormatter": _GAP if part == "g" else _AMOUNT,
            ":cellClass": _CHANGED % (index, index),
            "filter": "agNumberColumnFilter",
            "filterParams": _filter_options(_NUMBER_TESTS),
            "sortable": True,
            "flex": 2,
            "minWidth": 120 if part == "g" else 140,
        }
        for part, name in sides.items()
    ]
    percent = {
        "headerName": "Gap %",
        "field": f"p{index}",
        "type": "rightAligned",
        ":valueFormatter": _PERCENT,
        "sortable": False,
        "flex": 1,
        "minWidth": 105,
    }
    unit = f", {measure.unit}" if measure.unit else ""
    name = printable(f"{measure.name}{unit}")
    return {"headerName": name, "marryChildren": True, "children": [*columns, percent]}


def _filter_options(tests: Sequence[str]) -> dict[str, Any]:
    return {"filterOptions": list(tests), "maxNumConditions": 1, "buttons": ["apply", "reset"]}

"""All groups of a comparison as a grid; the server sorts, filters and pages them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.data.comparison.results import ComparisonResult, MeasureSummary, Status
from skillian.data.sql.values import jsonable
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import STATUS_STYLES
from skillian.web.shell.activity import show_error
from skillian.web.shell.elements import Heading, scroll_to

_BLOCK = 100
_ROW, _HEADER, _SCROLL_BAR = 32, 38, 20
_LONGEST_ERROR = 500
# These scripts are constants. Names and values reach them as data only.
_AMOUNT = """p => {
  if (p.value === null || p.value === undefined) return "";
  const digits = (p.value.split(".")[1] || "").length;
  return new Intl.NumberFormat(navigator.language,
    {minimumFractionDigits: digits, maximumFractionDigits: digits}).format(p.value);
}"""
# The same as `display.printable`: the rows come from the service unchanged.
_PRINTABLE = r"""v => v === null ? "no value" : String(v).replace(
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))"""
_KEY = f'p => p.data === undefined ? "…" : ({_PRINTABLE})(p.value)'
_PERCENT = """p => p.value === null || p.value === undefined ? "" :
  new Intl.NumberFormat(navigator.language, {maximumFractionDigits: 4}).format(p.value) + " %" """
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
    with ui.element("div").classes("line"):
        Heading("Groups").classes("grow")
        show_all = ui.button("Show all", on_click=lambda: comparison.select_members({}))
        show_all.props("flat dense")
    grid = _Grid(comparison)
    comparison.follow(grid.show_statuses, grid.show_members)


class _Grid:
    def __init__(self, comparison: ComparisonContext) -> None:
        result = comparison.result
        self._align_on = result.proof.align_on
        options = _options(result, comparison.statuses)
        self._grid: Any = ui.aggrid(options, auto_size_columns=False)
        self._grid.classes("comparison-grid")
        self._grid.props["data-testid"] = "differences-grid"
        self._grid.style["height"] = f"{_height(result)}px"
        self._grid.props["role"] = "region"
        self._grid.props["aria-label"] = "Groups; Enter opens the rows behind a group"
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

        self._grid.on("open", opened)
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
        scroll_to(self._grid)


def _height(result: ComparisonResult) -> int:
    classes = result.summary.classes
    rows = min(max(classes.groups - classes.match, 5), 13)
    return _HEADER + _ROW * rows + _SCROLL_BAR


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


def _options(result: ComparisonResult, statuses: Sequence[Status]) -> dict[str, Any]:
    columns = [_status_column()]
    columns += [_key_column(index, name) for index, name in enumerate(result.proof.align_on)]
    for index, measure in enumerate(result.summary.measures):
        columns += _measure_columns(index, measure)
    columns += [
        {"headerName": "Rows A : B", "field": "rows", "sortable": False, "width": 110},
        {"headerName": "", ":cellRenderer": _OPEN, "sortable": False, "width": 80},
    ]
    return {
        "columnDefs": columns,
        "defaultColDef": {"resizable": True, "suppressHeaderMenuButton": False},
        "rowModelType": "infinite",
        "cacheBlockSize": _BLOCK,
        "maxBlocksInCache": 30,
        "blockLoadDebounceMillis": 150,
        "infiniteInitialRowCount": 1,
        "context": {"statuses": list(statuses)},
        "rowHeight": _ROW,
        "headerHeight": _HEADER,
        "suppressMultiSort": True,
        "ensureDomOrder": True,
    }


def _status_column() -> dict[str, Any]:
    labels = {key: f"{style.symbol} {style.label}" for key, style in STATUS_STYLES.items()}
    return {
        "headerName": "Class",
        "field": "status",
        "sortable": True,
        "width": 120,
        ":valueFormatter": f"p => ({json.dumps(labels)})[p.value] ?? ''",
        ":cellClass": "p => 'status-' + p.value",
    }


def _key_column(index: int, name: str) -> dict[str, Any]:
    return {
        "headerName": name,
        "field": f"k{index}",
        ":valueFormatter": _KEY,
        "filter": "agTextColumnFilter",
        "filterParams": _filter_options(_TEXT_TESTS),
        "sortable": True,
        "width": 130,
    }


def _measure_columns(index: int, measure: MeasureSummary) -> list[dict[str, Any]]:
    unit = f" ({measure.unit})" if measure.unit else ""
    sides = {"a": "A", "b": "B", "g": "B − A"}  # noqa: RUF001 - a minus
    columns: list[dict[str, Any]] = [
        {
            "headerName": f"{measure.name} {name}{unit}",
            "field": f"{part}{index}",
            "type": "rightAligned",
            ":valueFormatter": _AMOUNT,
            "filter": "agNumberColumnFilter",
            "filterParams": _filter_options(_NUMBER_TESTS),
            "sortable": True,
            "width": 160,
        }
        for part, name in sides.items()
    ]
    percent = {
        "headerName": f"{measure.name} %",
        "field": f"p{index}",
        "type": "rightAligned",
        ":valueFormatter": _PERCENT,
        "sortable": False,
        "width": 110,
    }
    return [*columns, percent]


def _filter_options(tests: Sequence[str]) -> dict[str, Any]:
    return {"filterOptions": list(tests), "maxNumConditions": 1, "buttons": ["apply", "reset"]}

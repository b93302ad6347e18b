"""All groups of a comparison as a grid; the server sorts, filters and pages them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.data.comparison.results import (
    STATUSES,
    MeasureSummary,
)
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import StatusStyle, styles_of
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
_CHANGED_TEXT = "p => p.data && p.data.s%d !== 'match' ? 'changed changed-' + p.data.s%d : ''"
_CELL = f'p => p.data === undefined ? "" : p.value === null ? "" : ({_PRINTABLE})(p.value)'
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
    classes = comparison.result.summary.classes
    content = GridContent(
        cache_key=comparison.result.cache_key,
        keys=comparison.result.proof.align_on,
        values=[measure.name for measure in comparison.result.summary.measures],
        columns=_columns(comparison),
        statuses=comparison.statuses,
        shown=classes.groups - classes.match,
        total=classes.groups,
        unit="groups",
        label="Groups; Enter opens the rows behind a group",
        open=comparison.open_group,
    )
    grid = Grid(content, shown)

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


@dataclass(frozen=True, slots=True)
class GridContent:
    """What a grid shows.

    Attributes:
        cache_key: The key of the comparison.
        keys: The parts of its key.
        values: What both sides have: measures, or columns.
        columns: The columns of the grid.
        statuses: The classes that are shown first.
        shown: How many groups or rows these have.
        total: How many there are in all; None if that is not known.
        unit: What they are called, such as `groups`.
        label: The name of the grid for those who cannot see it.
        open: Called with the key of a row on which Enter is pressed, or that is clicked.
    """

    cache_key: str
    keys: Sequence[str]
    values: Sequence[str]
    columns: Sequence[Mapping[str, Any]]
    statuses: Sequence[str]
    shown: int
    total: int | None
    unit: str
    label: str
    open: Callable[[Mapping[str, object]], Awaitable[None]] | None = None


class Grid:
    """A grid of groups or rows; it says in `shown` how many it shows."""

    def __init__(self, content: GridContent, shown: ui.element) -> None:
        self._content = content
        self._shown = shown
        with ui.element("div").classes("full") as self._box:
            self._grid: Any = ui.aggrid(_options(content), auto_size_columns=False)
        self._grid.classes("comparison-grid")
        self._grid.props["data-testid"] = "differences-grid"
        self._grid.props["role"] = "region"
        self._grid.props["aria-label"] = content.label
        self._show_total(content.shown)
        grid = self._grid.id
        self._grid.options[":datasource"] = _datasource(grid, content)

        def failed(event: GenericEventArguments) -> None:
            message: Any = event.args
            show_error(str(message)[:_LONGEST_ERROR])

        def counted(event: GenericEventArguments) -> None:
            total: Any = event.args
            if isinstance(total, int):
                most = total if content.total is None else content.total
                self._show_total(max(0, min(total, most)))

        self._grid.on("counted", counted)
        self._grid.on("failed", failed)
        if content.open is not None:
            self._let_open(grid, content.open)

    def _let_open(
        self, grid: int, open_row: Callable[[Mapping[str, object]], Awaitable[None]]
    ) -> None:
        opened = f"getElement({grid}).$emit('open', p.data.key)"
        self._grid.options[":onCellClicked"] = f"p => p.data && {opened}"
        self._grid.options[":onCellKeyDown"] = f"p => p.data && p.event.key === 'Enter' && {opened}"

        async def work(event: GenericEventArguments) -> None:
            key: Any = event.args  # from the browser; the engine checks it
            if isinstance(key, dict):
                await open_row(cast("dict[str, object]", key))

        self._grid.on("open", work)

    def show_statuses(self, statuses: Sequence[str]) -> None:
        """Show these classes."""
        self._grid.run_grid_method("setGridOption", "context", {"statuses": list(statuses)})
        self._grid.run_grid_method("purgeInfiniteCache")

    def show_members(self, members: Mapping[str, object]) -> None:
        """Show what has these parts of the key; all if there are none."""
        model = {
            f"k{self._content.keys.index(name)}": {"filterType": "text", **_equal(value)}
            for name, value in members.items()
        }
        self._grid.run_grid_method("setFilterModel", model)
        scroll_to(self._box)

    def _show_total(self, total: int) -> None:
        """Say how many are shown, and make the grid as high as they need."""
        rows = min(max(total, _FEWEST), _MOST)
        self._box.style["height"] = f"{_HEADER + _ROW * rows + _SCROLL_BAR}px"
        self._box.update()
        self._shown.clear()
        with self._shown:
            of, unit = self._content.total, self._content.unit
            rest = () if of is None else (" of ", text.amount(of))
            verb = f"{unit.removesuffix('s')} is" if total == 1 and of is None else f"{unit} are"
            text.sentence(text.amount(total), *rest, f" {verb} shown")


def _equal(value: object) -> dict[str, object]:
    return (
        {"type": "blank"} if value is None else {"type": "equals", "filter": str(jsonable(value))}
    )


def _datasource(grid: int, content: GridContent) -> str:
    parameters = {
        "grid": grid,
        "url": f"/comparisons/{content.cache_key}/rows",
        "keys": list(content.keys),
        "values": list(content.values),
    }
    return f"({_script()})({json.dumps(parameters)})"


@cache
def _script() -> str:
    return files("skillian.web.comparison").joinpath("grid.js").read_text(encoding="utf-8")


def _columns(comparison: ComparisonContext) -> list[dict[str, Any]]:
    result, names = comparison.result, [printable(name) for name in comparison.names]
    columns = [status_column(styles_of(comparison.names))]
    columns += [key_column(index, name) for index, name in enumerate(result.proof.align_on)]
    columns += [
        _measure_columns(index, measure, names)
        for index, measure in enumerate(result.summary.measures)
    ]
    return [
        *columns,
        {"headerName": "Rows", "marryChildren": True, "children": [
            {"headerName": name, "headerTooltip": name, "field": f"rows_{side}", "type":
             "rightAligned", ":valueFormatter": _AMOUNT, "sortable": False, "flex": 1,
             "minWidth": 130, ":cellClass": _UNEVEN}
            for side, name in zip("ab", names, strict=True)
        ]},
        {"headerName": "", ":cellRenderer": _OPEN, "sortable": False, "width": 76},
    ]  # fmt: skip


def _options(content: GridContent) -> dict[str, Any]:
    return {
        "columnDefs": list(content.columns),
        "defaultColDef": {"resizable": True, "suppressHeaderMenuButton": False},
        "rowModelType": "infinite",
        "cacheBlockSize": _BLOCK,
        "maxBlocksInCache": 30,
        "blockLoadDebounceMillis": 150,
        "infiniteInitialRowCount": 1,
        "context": {"statuses": list(content.statuses)},
        "rowHeight": _ROW,
        "headerHeight": _HEADING,
        "groupHeaderHeight": _HEADING,
        "suppressMultiSort": True,
        "ensureDomOrder": True,
        "tooltipShowDelay": 300,
    }


def status_column(styles: Mapping[Any, StatusStyle]) -> dict[str, Any]:
    """The column of the class."""
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


def key_column(index: int, name: str) -> dict[str, Any]:
    """A column of the key."""
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


def value_columns(
    index: int, name: str, sides: Sequence[str], *, is_amount: bool
) -> dict[str, Any]:
    """The two sides of a column next to each other; what differs is marked."""
    kind, tests = (
        ("agNumberColumnFilter", _NUMBER_TESTS)
        if is_amount
        else ("agTextColumnFilter", _TEXT_TESTS)
    )
    changed = _CHANGED % (index, index) if is_amount else _CHANGED_TEXT % (index, index)
    children: list[dict[str, Any]] = [
        {
            "headerName": side,
            "headerTooltip": side,
            "field": f"{part}{index}",
            **({"type": "rightAligned"} if is_amount else {}),
            ":valueFormatter": _AMOUNT if is_amount else _CELL,
            ":cellClass": changed,
            "filter": kind,
            "filterParams": _filter_options(tests),
            "sortable": True,
            "flex": 1,
            "minWidth": 120,
        }
        for part, side in zip("ab", sides, strict=True)
    ]
    return {"headerName": printable(name), "marryChildren": True, "children": children}


def _filter_options(tests: Sequence[str]) -> dict[str, Any]:
    return {"filterOptions": list(tests), "maxNumConditions": 1, "buttons": ["apply", "reset"]}

"""Groups or rows of a comparison as a grid; the server sorts, filters and pages them."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.data.sql.values import jsonable
from skillian.data.subjects import STATUSES
from skillian.display import printable
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.grid.columns import group_columns
from skillian.web.shell import text
from skillian.web.shell.buttons import Button, DownloadLink
from skillian.web.shell.elements import scroll_to

_BLOCK = 100
_ROW, _HEADING, _SCROLL_BAR = 32, 36, 20
_HEADER = 2 * _HEADING
_FEWEST, _MOST = 3, 16
"""How many rows the grid is high."""
_LONGEST_ERROR = 500
_ESCAPE = re.compile(r"\\(?=u[0-9a-f]{4})")
# The browser decides where Tab goes; it would stop at each row.
_LEAVE_ROWS = """() => {
  document.activeElement.closest(".ag-root")?.querySelectorAll(".ag-row[tabindex]")
    .forEach(row => row.removeAttribute("tabindex"));
  return false;
}"""
# The grid keeps the former height of its rows until it is scrolled, and draws as many as fitted.
_DRAW_ROWS = "p => p.api.redrawRows()"
_FILES = (("CSV", "csv"), ("XLSX", "xlsx"), ("Parquet", "parquet"))


def grid_panel(comparison: ComparisonContext) -> None:
    """Show the grid, which follows the selection; a click on a row, or Enter, opens its group."""
    groups = comparison.result.summary.classes.groups
    with ui.element("div").classes("line"):
        shown = ui.element("span").classes("soft grow").props("role=status")
        show_all = Button(kind="quiet")
    classes = comparison.result.summary.classes
    content = GridContent(
        cache_key=comparison.result.cache_key,
        keys=comparison.result.key_columns,
        values=[measure.name for measure in comparison.result.summary.measures],
        columns=group_columns(comparison),
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
        own: The columns that only one side has, of whose rows they are shown.
        equal: The indexes of values that are equal in all rows.
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
    own: Sequence[str] = ()
    equal: Sequence[int] = ()
    open: Callable[[Mapping[str, object]], Awaitable[None]] | None = None


class Grid:
    """A grid of groups or rows; it says in `shown` how many it shows."""

    def __init__(self, content: GridContent, shown: ui.element) -> None:
        self._content = content
        self._context: dict[str, object] = {"statuses": list(content.statuses), "search": ""}
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
            self._shown.clear()
            with self._shown:
                message = printable(str(cast("object", event.args))[:_LONGEST_ERROR])
                ui.label(message).classes("fault").props("role=alert")

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

    def tools(self) -> None:
        """A search, a switch for the columns that differ, and files with what is shown."""
        grid = self._grid.id
        search = ui.input("Search").props("clearable debounce=300 type=search")
        search.props["aria-label"] = "Search the rows"
        search.on_value_change(lambda event: self._search(event.value or ""))
        search.on("keydown.escape", lambda: search.set_value(""))
        if self._content.equal:
            switch = ui.switch("Only columns that differ").props("dense")
            switch.on_value_change(lambda event: self._hide_equal(is_hidden=bool(event.value)))
        with ui.element("div").classes("line").props('role=group aria-label="Files"'):
            ui.label("What is shown as").classes("soft small")
            for name, form in _FILES:
                button = DownloadLink(name, label=f"Download what is shown as {name}")
                button.on("click", js_handler=f"() => getElement({grid}).download('{form}')")

    def _search(self, searched: str) -> None:
        self._context["search"] = searched
        self._show_context()

    def _hide_equal(self, *, is_hidden: bool) -> None:
        fields = [f"{side}{index}" for index in self._content.equal for side in "ab"]
        self._grid.run_grid_method("setColumnsVisible", fields, not is_hidden)

    def _show_context(self) -> None:
        self._grid.run_grid_method("setGridOption", "context", dict(self._context))
        self._grid.run_grid_method("purgeInfiniteCache")

    def show_statuses(self, statuses: Sequence[str]) -> None:
        """Show these classes."""
        self._context["statuses"] = list(statuses)
        self._show_context()

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
    if value is None:
        return {"type": "blank"}
    # A filter is a text as the grid shows it, in which such a backslash is doubled.
    return {"type": "equals", "filter": _ESCAPE.sub(r"\\\\", str(jsonable(value)))}


def _datasource(grid: int, content: GridContent) -> str:
    parameters = {
        "grid": grid,
        "url": f"/comparisons/{content.cache_key}/rows",
        "keys": list(content.keys),
        "values": list(content.values),
        "own": list(content.own),
    }
    return f"({_script()})({json.dumps(parameters)})"


@cache
def _script() -> str:
    return files("skillian.web.comparison.grid").joinpath("grid.js").read_text(encoding="utf-8")


def _options(content: GridContent) -> dict[str, Any]:
    return {
        "columnDefs": list(content.columns),
        "defaultColDef": {"resizable": True, "suppressHeaderMenuButton": False},
        "rowModelType": "infinite",
        "cacheBlockSize": _BLOCK,
        "maxBlocksInCache": 30,
        "blockLoadDebounceMillis": 40,
        "infiniteInitialRowCount": 1,
        "rowBuffer": 2,  # more rows out of sight cost time at each scroll
        "animateRows": False,
        "context": {"statuses": list(content.statuses), "search": ""},
        "enableCellTextSelection": True,
        "rowHeight": _ROW,
        "headerHeight": _HEADING,
        "groupHeaderHeight": _HEADING,
        "suppressMultiSort": True,
        "ensureDomOrder": True,
        # Tab leaves the rows, however many there are; the arrow keys go from cell to cell.
        ":tabToNextCell": _LEAVE_ROWS,
        ":onGridSizeChanged": _DRAW_ROWS,
        "tooltipShowDelay": 300,
        "tooltipShowMode": "whenTruncated",
    }

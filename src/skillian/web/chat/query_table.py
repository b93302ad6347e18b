"""The answer to a query: its rows as a table, with a chart where one helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from skillian.chat.direct import direct_message
from skillian.display import printable
from skillian.offline.earlier import QUERY
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import scroll_region
from skillian.web.shell.rows_table import amounts_table, cells
from skillian.web.shell.text import amount, is_number, sentence

FIRST_ROWS = 10
MOST_ROWS = 1000
"""The maximum number of rows of a query."""
MOST_BARS = 20
_FEWEST = 2
_BAR = 26
_PERIOD = re.compile(r"(?:19|20)\d\d(?:[-/. ]?(?:Q[1-4]|\d{2,3})(?:[-/.]\d\d)?)?")
_EXACT = "p => skillian.exact(p.data.exact)"
_SHORT = "v => skillian.short(v)"


class QueryTable:
    """The rows of a query.

    Args:
        arguments: The arguments of the call.
        result: Its result.
        ask: Asks again, for more rows.
    """

    def __init__(
        self, arguments: Mapping[str, Any], result: Mapping[str, Any], ask: Callable[[str], None]
    ) -> None:
        self._arguments = arguments
        self._ask = ask
        self._names: list[str] = [str(name) for name in result["columns"]]
        self._rows: list[list[Any]] = result["rows"]
        self._source = str(result.get("source", "the source"))
        self._amounts = amount_columns(arguments, self._names, self._rows)
        with ui.element("div").classes("query-answer stack"):
            if not self._rows:
                ui.label(printable(f"{self._source} has no rows for that."))
                return
            self._chart()
            with scroll_region(f"Rows of {self._source}").classes("rows-region query-rows"):
                first = cells(self._rows[:FIRST_ROWS])
                self._table = amounts_table(self._names, first, self._amounts)
            self._more(is_cut=bool(result.get("truncated")))

    def _more(self, *, is_cut: bool) -> None:
        """Say on a line of its own that there are more rows, with a button that shows them."""
        count = len(self._rows)
        with ui.element("div").classes("line small"):
            if count > FIRST_ROWS:
                number = amount(count)
                shown = sentence(f"The first {FIRST_ROWS} of ", number, " rows.").classes("soft")
                with Button(kind="quiet") as all_rows:
                    sentence("Show all ", number, " rows")

                def show_all() -> None:
                    self._table.rows = cells(self._rows)
                    shown.set_visibility(False)
                    all_rows.set_visibility(False)

                all_rows.on_click(show_all)
        if is_cut:
            with ui.element("div").classes("line small"):
                if count >= MOST_ROWS:
                    others = " rows; add a filter to see the others."
                    sentence("There are more than ", amount(count), others)
                    return
                ui.label("There are more.")
                Button("Get all rows", self._get_all, kind="quiet")

    def _get_all(self) -> None:
        self._ask(direct_message("All rows", QUERY, {**self._arguments, "limit": MOST_ROWS}))

    def _chart(self) -> None:
        points = chart_points(self._rows, self._amounts)
        if not points:
            return
        is_line = all(_PERIOD.fullmatch(name) for name, _ in points)
        if not is_line and len(points) > MOST_BARS:
            return
        category, measure = self._names
        options = _line(sorted(points)) if is_line else _bars(points)
        chart = ui.echart(options, renderer="svg").classes("query-chart")
        chart.style["height"] = "220px" if is_line else f"{_BAR * len(points) + 40}px"
        amounts = "; ".join(f"{name}: {amount}" for name, amount in points)
        chart.props["role"] = "img"
        chart.props["aria-label"] = printable(f"{measure} by {category}: {amounts}")


def amount_columns(
    arguments: Mapping[str, Any], names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> set[int]:
    """The indexes of the measures: columns of numbers that the query does not group by."""
    groups = arguments.get("dimensions") or ()
    return {
        index
        for index, name in enumerate(names)
        if name not in groups
        and all(row[index] is None or is_number(str(row[index])) for row in rows)
        and any(row[index] is not None for row in rows)
    }


def chart_points(rows: Sequence[Sequence[Any]], amounts: set[int]) -> list[tuple[str, str]]:
    """The name and the amount of each row; none unless there is one category and one measure."""
    if len(rows) < _FEWEST or amounts != {1} or len(rows[0]) != _FEWEST:
        return []
    if any(row[1] is None for row in rows):
        return []
    return [("empty" if row[0] is None else printable(str(row[0])), str(row[1])) for row in rows]


def _bars(points: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Only the length of a bar is a float; its label shows the exact amount."""
    label = {"show": True, "position": "right", ":formatter": _EXACT, "color": "var(--ink)"}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 110, "top": 4, "bottom": 4, "containLabel": True},
        "xAxis": _amount_axis(),
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [name for name, _ in points],
            "axisLabel": {"color": "var(--ink)", "width": 160, "overflow": "truncate"},
            "axisLine": {"show": False},
            "axisTick": {"show": False},
        },
        "series": [{"type": "bar", "barMaxWidth": 16, "data": _data(points), "label": label}],
    }


def _line(points: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 12, "bottom": 4, "containLabel": True},
        "xAxis": {
            "type": "category",
            "data": [name for name, _ in points],
            "axisLabel": {"color": "var(--ink-soft)", "hideOverlap": True},
        },
        "yAxis": _amount_axis(),
        "series": [{"type": "line", "symbolSize": 6, "data": _data(points)}],
    }


def _amount_axis() -> dict[str, Any]:
    return {
        "type": "value",
        "axisLabel": {":formatter": _SHORT, "color": "var(--ink-soft)", "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": "var(--line)"}},
    }


def _data(points: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    style = {"color": "var(--accent)"}
    return [
        {"value": float(amount), "exact": amount, "itemStyle": style, "lineStyle": style}
        for _, amount in points
    ]

"""Rows of a source as a table; a click on a heading sorts it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from nicegui import ui

from skillian.data.query.engine import QueryResult
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.web.shell.elements import scroll_region

_AMOUNT = "v => v === null ? '' : skillian.exact(v)"


def rows_table(result: QueryResult, types: Sequence[str] = ()) -> None:
    """Show rows.

    Args:
        result: The rows and the names of their columns.
        types: The type of each column, shown after its name.
    """
    # Fields are named by index: NiceGUI would run a name that begins with a colon.
    columns = [_column(index, name, result.rows) for index, name in enumerate(result.columns)]
    for column, kind in zip(columns, types, strict=False):
        column["label"] += f" ({kind})"
    rows = [
        {"id": number, **{f"c{index}": _cell(value) for index, value in enumerate(row)}}
        for number, row in enumerate(result.rows)
    ]
    with scroll_region(f"Rows of {result.source}").classes("rows-region"):
        table = ui.table(rows=rows, columns=columns, row_key="id")
    table.props("flat dense hide-pagination").classes("rows-table")
    table.props["rows-per-page-options"] = [0]


def _cell(value: object) -> object:
    cell = jsonable(value)
    return printable(cell) if isinstance(cell, str) else cell


def _column(index: int, name: str, rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    field = f"c{index}"
    column: dict[str, Any] = {
        "name": field,
        "label": printable(name),
        "field": field,
        "align": "left",
        "sortable": True,
    }
    if any(isinstance(row[index], Decimal) for row in rows):
        column |= {"align": "right", ":format": _AMOUNT}
    return column

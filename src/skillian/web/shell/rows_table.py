"""Rows as a table; a click on a heading sorts it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from nicegui import ui

from skillian.data.query.engine import QueryResult
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.web.shell.elements import scroll_region

_AMOUNT = "v => v === null ? '-' : skillian.exact(v)"
_BY_AMOUNT = "(a, b) => (a === null) - (b === null) || Number(a) - Number(b)"


def rows_table(result: QueryResult, types: Sequence[str] = ()) -> None:
    """Show the rows of a source.

    Args:
        result: The rows and the names of their columns.
        types: The type of each column, shown after its name.
    """
    names = [
        f"{name} ({types[index]})" if index < len(types) else name
        for index, name in enumerate(result.columns)
    ]
    amounts = {
        index
        for index in range(len(names))
        if any(isinstance(row[index], Decimal) for row in result.rows)
    }
    with scroll_region(f"Rows of {result.source}").classes("rows-region"):
        amounts_table(names, cells(result.rows), amounts)


def amounts_table(
    names: Sequence[str], rows: Sequence[dict[str, Any]], amounts: Collection[int]
) -> ui.table:
    """Show rows as a table that fits in a region that scrolls.

    Args:
        names: The headings.
        rows: The rows, as `cells` gives them.
        amounts: The indexes of the columns with numbers: right-aligned, formatted for the locale.
    """
    columns = [_column(index, name, index in amounts) for index, name in enumerate(names)]
    table = ui.table(rows=list(rows), columns=columns, row_key="id")
    table.props("flat dense hide-pagination").classes("rows-table")
    table.props["rows-per-page-options"] = [0]
    return table


def cells(rows: Sequence[Sequence[object]]) -> list[dict[str, Any]]:
    """The rows by field; fields are named by index, because NiceGUI would run a `:name`."""
    return [
        {"id": number, **{f"c{index}": _cell(value) for index, value in enumerate(row)}}
        for number, row in enumerate(rows)
    ]


def _cell(value: object) -> object:
    cell = jsonable(value)
    return printable(cell) if isinstance(cell, str) else cell


def _column(index: int, name: str, is_amount: bool) -> dict[str, Any]:  # noqa: FBT001 - private
    field = f"c{index}"
    column: dict[str, Any] = {
        "name": field,
        "label": printable(name),
        "field": field,
        "align": "left",
        "sortable": True,
    }
    if is_amount:
        column |= {"align": "right", ":format": _AMOUNT, ":sort": _BY_AMOUNT}
    return column

"""Rows as a table holds them; a click on a heading sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from nicegui import ui

from skillian.data.query.engine import QueryResult
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.web.choices import scrolling

# A constant: what it is given comes of the data.
_AMOUNT = """v => {
  if (v === null) return "";
  const digits = (v.split(".")[1] || "").length;
  return new Intl.NumberFormat(navigator.language,
    {minimumFractionDigits: digits, maximumFractionDigits: digits}).format(v);
}"""


def rows_table(found: QueryResult, types: Sequence[str] = ()) -> None:
    """Show rows, each column under its name and its type, if these are given."""
    # Fields by their place: a column's name as a key would be run if it began with a colon.
    columns = [_column(place, name, found.rows) for place, name in enumerate(found.columns)]
    for column, kind in zip(columns, types, strict=False):
        column["label"] += f" ({kind})"
    rows = [
        {"id": number, **{f"c{place}": _shown(value) for place, value in enumerate(row)}}
        for number, row in enumerate(found.rows)
    ]
    with scrolling(f"Rows of {found.source}").classes("rows-region"):
        table = ui.table(rows=rows, columns=columns, row_key="id")
    table.props("flat dense hide-pagination").classes("rows-table")
    table.props["rows-per-page-options"] = [0]


def _shown(value: object) -> object:
    told = jsonable(value)
    return printable(told) if isinstance(told, str) else told


def _column(place: int, name: str, rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    field = f"c{place}"
    column: dict[str, Any] = {
        "name": field,
        "label": printable(name),
        "field": field,
        "align": "left",
        "sortable": True,
    }
    if any(isinstance(row[place], Decimal) for row in rows):
        column |= {"align": "right", ":format": _AMOUNT}
    return column

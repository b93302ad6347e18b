"""The columns of a grid: the class, the key, and both sides of each value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillian.data.results.groups import MeasureSummary
from skillian.display import printable
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import StatusStyle, styles_of

# These scripts are constants. Names and values reach them as data only.
_AMOUNT = 'p => p.value === null || p.value === undefined ? "" : skillian.exact(p.value)'
_GAP = 'p => p.value === null || p.value === undefined ? "" : skillian.exact(p.value, true)'
_PERCENT = 'p => p.value === null || p.value === undefined ? "" : skillian.percent(p.value)'
# The same as `display.printable`: the rows come from the service unchanged.
_PRINTABLE = r"""v => v === null ? "no value" : String(v).replace(
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))"""
_KEY = f'p => p.data === undefined ? "…" : ({_PRINTABLE})(p.value)'
# A text and no button, since each element of a cell costs time at each scroll.
_OPEN = "p => p.data ? 'Rows' : ''"
_CHANGED = """p => "ag-right-aligned-cell"
  + (p.data && p.data.s%d !== "match" ? " changed changed-" + p.data.s%d : "")"""
_CHANGED_TEXT = "p => p.data && p.data.s%d !== 'match' ? 'changed changed-' + p.data.s%d : ''"
_CELL = """p => skillian.marked(p.value, p.data && p.data.s%d !== "match"
  ? p.data["%s%d"] : undefined, p.data && p.data.rows_%s > 0)"""
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
_LETTER, _LONGEST, _PHONE = 8, 24, 600


def _width(names: Iterable[str], room: int, least: int) -> str:
    """The pixels that show names and what is beside them; the least ones on a phone."""
    letters = min(max(map(len, names), default=0), _LONGEST)
    return f"innerWidth < {_PHONE} ? {least} : {max(least, room + _LETTER * letters)}"


def group_columns(comparison: ComparisonContext) -> list[dict[str, Any]]:
    """The columns of groups."""
    result, names = comparison.result, [printable(name) for name in comparison.names]
    columns = [status_column(styles_of(comparison.names))]
    columns += [key_column(index, name) for index, name in enumerate(result.key_columns)]
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
        {"headerName": "", ":valueGetter": _OPEN, "cellClass": "row-open", "sortable": False,
         "width": 76},
    ]  # fmt: skip


def status_column(styles: Mapping[Any, StatusStyle]) -> dict[str, Any]:
    """The column of the class."""
    labels = {key: f"{style.symbol} {style.label}" for key, style in styles.items()}
    return {
        "headerName": "Class",
        "field": "status",
        "sortable": True,
        ":width": _width(labels.values(), 36, 130),
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
        ":minWidth": _width((name,), 64, 110),
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
            **(
                {":valueFormatter": _AMOUNT}
                if is_amount
                else {":cellRenderer": _CELL % (index, "ba"["ab".index(part)], index, part)}
            ),
            ":cellClass": changed,
            "filter": kind,
            "filterParams": _filter_options(tests),
            "sortable": True,
            "flex": 1,
            ":minWidth": _width(sides, 64, 120),
        }
        for part, side in zip("ab", sides, strict=True)
    ]
    return {"headerName": printable(name), "marryChildren": True, "children": children}


def own_column(index: int, name: str, side: str) -> dict[str, Any]:
    """A column that only one side has; its cells are those of the rows of this side alone."""
    return {
        "headerName": printable(side),
        "marryChildren": True,
        "children": [
            {
                "headerName": printable(name),
                "field": f"o{index}",
                ":valueFormatter": f"p => p.value === undefined ? '' : ({_PRINTABLE})(p.value)",
                "sortable": False,
                "flex": 1,
                "minWidth": 120,
            }
        ],
    }


def _filter_options(tests: Sequence[str]) -> dict[str, Any]:
    return {"filterOptions": list(tests), "maxNumConditions": 1, "buttons": ["apply", "reset"]}

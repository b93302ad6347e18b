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
# A value is undefined where there is no row, or none that was compared.
_NUMBER = """p => p.value === undefined ? "" : p.value === null ? "NULL"
  : skillian.exact(p.value)"""
_GAP = 'p => p.value === null || p.value === undefined ? "" : skillian.exact(p.value, true)'
_PERCENT = 'p => p.value === null || p.value === undefined ? "" : skillian.percent(p.value)'
_TEXT = 'p => p.data === undefined ? "…" : skillian.shown(p.value)'
_NO_VALUE = """p => p.value === null || p.value === "" ? "no-value" : "" """
_STATUS = """p => ((%s)[p.value] ?? "")
  + (p.value === "duplicate" ? ` ${p.data.rows_a} : ${p.data.rows_b}` : "")"""
# A text and no button, since each element of a cell costs time at each scroll.
_OPEN = "p => p.data ? 'Rows' : ''"
_CHANGED = """p => "ag-right-aligned-cell" + (p.value === null ? " no-value" : "")
  + (p.data && p.data.s%d !== "match" ? " changed changed-" + p.data.s%d : "")"""
_CHANGED_TEXT = "p => p.data && p.data.s%d !== 'match' ? 'changed changed-' + p.data.s%d : ''"
_CELL = """p => skillian.marked(p.value, p.data && p.data.s%d !== "match"
  ? p.data["%s%d"] : undefined)"""
_UNEVEN = """p => "ag-right-aligned-cell"
  + (p.data && p.data.rows_a !== p.data.rows_b ? " changed" : "")"""
_WHOLE = "p => p.valueFormatted ?? skillian.shown(p.value)"
_PRESENCE = ("blank", "notBlank")
_OTHER_TESTS = ("equals", "notEqual", *_PRESENCE)
_TEXT_TESTS = ("contains", *_OTHER_TESTS)
_NUMBER_TESTS = (
    "greaterThan",
    "greaterThanOrEqual",
    "lessThan",
    "lessThanOrEqual",
    "inRange",
    *_OTHER_TESTS,
)
_TIME_TESTS = ("equals", "notEqual", "after", "before", "inRange", *_PRESENCE)
NUMBERS = frozenset({"integer", "decimal", "float"})
"""The families of types whose values are numbers."""
_TESTS = {
    **dict.fromkeys(NUMBERS, _NUMBER_TESTS),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), _TIME_TESTS),
    "boolean": _OTHER_TESTS,
}
"""The tests of a filter by the family of the column's type; those of texts for all others."""
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
        count_columns(names),
        {"headerName": "", ":valueGetter": _OPEN, "cellClass": "row-open", "sortable": False,
         "width": 76},
    ]  # fmt: skip


def count_columns(names: Sequence[str]) -> dict[str, Any]:
    """How many rows of both sides a group, a row or a key stands for."""
    children: list[dict[str, Any]] = [
        {
            "headerName": name,
            "headerTooltip": name,
            "field": f"rows_{side}",
            "type": "rightAligned",
            ":valueFormatter": _NUMBER,
            "sortable": False,
            "flex": 1,
            "minWidth": 130,
            ":cellClass": _UNEVEN,
        }
        for side, name in zip("ab", names, strict=True)
    ]
    return {"headerName": "Rows", "marryChildren": True, "children": children}


def status_column(styles: Mapping[Any, StatusStyle]) -> dict[str, Any]:
    """The column of the class; that of a key that is repeated has its rows on both sides."""
    labels = {key: f"{style.symbol} {style.label}" for key, style in styles.items()}
    shown = _STATUS % json.dumps(labels)
    return {
        "headerName": "Class",
        "field": "status",
        "sortable": True,
        ":width": _width(labels.values(), 36, 130),
        ":valueFormatter": shown,
        ":tooltipValueGetter": shown,
        ":cellClass": "p => 'status-' + p.value",
    }


def key_column(index: int, name: str, a: str = "text", b: str = "text") -> dict[str, Any]:
    """A column of the key; `a` and `b` are the families of its types on both sides."""
    return {
        "headerName": printable(name),
        "field": f"k{index}",
        ":valueFormatter": _TEXT,
        ":cellClass": _NO_VALUE,
        ":tooltipValueGetter": _WHOLE,
        # Keys of different types are compared as texts.
        **_filter(dict.fromkeys((*_TEXT_TESTS, *(_tests(a) if a == b else ())))),
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
            ":valueFormatter": _GAP if part == "g" else _NUMBER,
            ":cellClass": _CHANGED % (index, index),
            ":tooltipValueGetter": _WHOLE,
            **_filter(_NUMBER_TESTS),
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
    index: int, name: str, sides: Sequence[str], families: Sequence[str]
) -> dict[str, Any]:
    """The two sides of a column next to each other; what differs is marked.

    Args:
        index: Its position among the values.
        name: Its name.
        sides: The names of both sides.
        families: The families of its types on both sides.
    """
    is_number = NUMBERS.issuperset(families)
    changed = _CHANGED % (index, index) if is_number else _CHANGED_TEXT % (index, index)
    children: list[dict[str, Any]] = [
        {
            "headerName": side,
            "headerTooltip": side,
            "field": f"{part}{index}",
            **({"type": "rightAligned"} if is_number else {}),
            **(
                {":valueFormatter": _NUMBER}
                if is_number
                else {":cellRenderer": _CELL % (index, other, index)}
            ),
            ":cellClass": changed,
            ":tooltipValueGetter": _WHOLE,
            **_filter(_tests(family)),
            "sortable": True,
            "flex": 1,
            ":minWidth": _width(sides, 64, 120),
        }
        for part, other, side, family in zip("ab", "ba", sides, families, strict=True)
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
                ":valueFormatter": _TEXT,
                ":cellClass": _NO_VALUE,
                ":tooltipValueGetter": _WHOLE,
                "sortable": False,
                "flex": 1,
                "minWidth": 120,
            }
        ],
    }


def _tests(family: str) -> Sequence[str]:
    return _TESTS.get(family, _TEXT_TESTS)


def _filter(tests: Iterable[str]) -> dict[str, Any]:
    """A filter whose values are texts, so that numbers keep all of their digits."""
    options = {"filterOptions": list(tests), "maxNumConditions": 1, "buttons": ["apply", "reset"]}
    return {"filter": "agTextColumnFilter", "filterParams": options}

"""How the numbers and dates of a text file are written, as far as its values leave no doubt.

A column of text is recognised only if all of its values are written alike: as numbers with a
decimal comma, as numbers with commas between thousands, or as dates such as 31.12.2024. What could
be read in two ways (`1,234`, or 03/04/2024 alone) is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from sqlglot import exp

from skillian.connectors.base import ColumnType, Connector, Table
from skillian.connectors.dialects import filled
from skillian.data import sql
from skillian.data.sql.values import python_rows

_COMMA = r"-?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?-?"
_THOUSANDS = r"-?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.[0-9]+)?-?"
_DAY = "([0-9]{1,2})"
_SIGNS = {"dots": ".", "slashes": "/", "hyphens": "-"}


def _tests_of_dates() -> Iterator[tuple[str, str]]:
    for name, sign in _SIGNS.items():
        date = rf"{_DAY}[{sign}]{_DAY}[{sign}][0-9]{{4}}"
        yield name, f"COUNT_IF(REGEXP_FULL_MATCH(v, '{date}'))"
        yield f"{name}_first", f"MAX(TRY_CAST(REGEXP_EXTRACT(v, '^{date}$', 1) AS INT))"
        yield f"{name}_second", f"MAX(TRY_CAST(REGEXP_EXTRACT(v, '^{date}$', 2) AS INT))"
        yield f"{name}_short", f"COUNT_IF(LENGTH(v) < 10 AND REGEXP_FULL_MATCH(v, '{date}'))"


_TESTS = {
    "values": "COUNT(v)",
    # Numbers, of which some cannot have the other meaning of a comma.
    "comma": f"COUNT_IF(REGEXP_FULL_MATCH(v, '{_COMMA}'))",
    "only_comma": f"COUNT_IF(CONTAINS(v, ',') AND NOT REGEXP_FULL_MATCH(v, '{_THOUSANDS}'))",
    "thousands": f"COUNT_IF(REGEXP_FULL_MATCH(v, '{_THOUSANDS}'))",
    "only_thousands": f"COUNT_IF(CONTAINS(v, ',') AND NOT REGEXP_FULL_MATCH(v, '{_COMMA}'))",
    "points": "COUNT_IF(CONTAINS(v, '.'))",
    **dict(_tests_of_dates()),
}
_MONTHS = 12
STATED = frozenset({"decimal", "thousands", "dates"})
"""The options that are found; who states one of them says how the file is written."""
_MOST_COLUMNS = 200


async def recognised(connector: Connector, table: Table) -> str:
    """The options that read more columns of a text file as numbers or dates; empty for none.

    Args:
        connector: Reads the file.
        table: Its columns, as they are read without these options.

    Raises:
        ToolError: The file cannot be read.
    """
    texts = [name for name, kind in table.columns.items() if kind.kind == "text"][:_MOST_COLUMNS]
    if not texts:
        return ""
    options: dict[str, str] = {}
    for column in await _looks(connector, table.name, texts):
        for name, value in _of_column(column).items():
            if options.setdefault(name, value) != value:
                return ""  # its columns are not written alike
    if options.get("decimal") == "," and "thousands" not in options and _has_fractions(table):
        options["thousands"] = "."
    return urlencode(options)


def is_better(before: Mapping[str, ColumnType], after: Mapping[str, ColumnType]) -> bool:
    """Whether fewer columns are texts, and no other one is."""
    texts = [
        {name for name, kind in columns.items() if kind.kind == "text"}
        for columns in (before, after)
    ]
    return texts[1] < texts[0]


async def _looks(connector: Connector, name: str, texts: list[str]) -> list[dict[str, int]]:
    """What the values of each column look like."""
    columns = [
        sql.named(filled(test, "duckdb", v=sql.bare(text)), f"{test_name}_{index}")
        for index, text in enumerate(texts)
        for test_name, test in _TESTS.items()
    ]
    select = exp.Select(expressions=columns).from_(sql.table(name), copy=False)
    [row] = python_rows(await connector.run(select.sql("duckdb"), {}))
    return [{key: int(row[f"{key}_{index}"] or 0) for key in _TESTS} for index in range(len(texts))]


def _of_column(looks: Mapping[str, int]) -> dict[str, str]:
    """The options by which a column of text is one of numbers or dates."""
    values = looks["values"]
    if values and looks["comma"] == values and looks["only_comma"]:
        return {"decimal": ",", **({"thousands": "."} if looks["points"] else {})}
    if values and looks["thousands"] == values and looks["only_thousands"]:
        return {"decimal": ".", "thousands": ","}
    for name, sign in _SIGNS.items():
        if values and looks[name] == values:
            order = _order(looks[f"{name}_first"], looks[f"{name}_second"], sign)
            padding = "-" if looks[f"{name}_short"] else ""
            return (
                {"dates": order.replace("%", f"%{padding}").replace("%-Y", "%Y")} if order else {}
            )
    return {}


def _order(first: int, second: int, sign: str) -> str:
    """The format of dates whose first and second number are at most these; empty if in doubt."""
    if second > _MONTHS >= first:
        return sign.join(("%m", "%d", "%Y"))
    if sign == "." or first > _MONTHS >= second:
        return sign.join(("%d", "%m", "%Y"))
    return ""


def _has_fractions(table: Table) -> bool:
    return any(kind.kind == "decimal" and kind.scale for kind in table.columns.values())


def in_words(options: Mapping[str, Any]) -> str:
    """How a file is read, as a sentence; empty without such options."""
    parts: list[str] = []
    if options.get("decimal") == ",":
        parts.append("numbers with a decimal comma")
    elif options.get("thousands"):
        parts.append("numbers with commas between thousands")
    if options.get("dates"):
        parts.append(f"dates such as {_example(str(options['dates']))}")
    return f"Read with {' and '.join(parts)}." if parts else ""


def _example(dates: str) -> str:
    example = {"%d": "31", "%-d": "31", "%m": "12", "%-m": "12", "%Y": "2024"}
    for sign, text in example.items():
        dates = dates.replace(sign, text)
    return dates

"""DuckDB's types."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from skillian.connectors.base import ColumnType, Kind

if TYPE_CHECKING:
    import duckdb

_KINDS: dict[str, Kind] = {
    "VARCHAR": "text",
    "ENUM": "text",
    "TINYINT": "integer",
    "SMALLINT": "integer",
    "INTEGER": "integer",
    "BIGINT": "integer",
    "HUGEINT": "integer",
    "UTINYINT": "integer",
    "USMALLINT": "integer",
    "UINTEGER": "integer",
    "UBIGINT": "integer",
    "UHUGEINT": "integer",
    "DECIMAL": "decimal",
    "FLOAT": "float",
    "DOUBLE": "float",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "TIMESTAMPTZ_NS": "timestamptz",
}
_WIDE = frozenset({"HUGEINT", "UHUGEINT"})
_PLAIN = frozenset(_KINDS) - {"ENUM", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
# DuckDB returns a date of the first or the last year for infinity, and a text for any other date
# that Python does not have.
_YEARS = range(2, 9999)
_TYPE = re.compile(r"(?P<name>[A-Z_ ]+)(?:\((?P<arguments>.*)\))?", re.DOTALL)


def column_type(name: str) -> ColumnType:
    """The type of a column by DuckDB's name for it."""
    match = _TYPE.fullmatch(name)
    if match is None or match["name"] not in _KINDS:
        return ColumnType("other", name)
    kind = _KINDS[match["name"]]
    if kind != "decimal":
        return ColumnType(kind, name)
    return ColumnType(kind, name, scale=int(match["arguments"].partition(",")[2]))


def plain_rows(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]] | None:
    """All rows, with the values that Arrow has; None if DuckDB returns a value in another form."""
    kinds = [str(kind).partition("(")[0] for kind in relation.types]
    if not _PLAIN.issuperset(kinds):
        return None
    rows = relation.fetchall()
    for index, kind in enumerate(kinds):
        if kind.startswith(("DATE", "TIMESTAMP")) and not all(
            row[index] is None or _is_moment(row[index]) for row in rows
        ):
            return None
    names = relation.columns
    wide = [name for name, kind in zip(names, kinds, strict=True) if kind in _WIDE]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for name in wide:
        for row in found:
            row[name] = None if row[name] is None else Decimal(row[name])
    return found


def _is_moment(value: object) -> bool:
    return isinstance(value, date) and value.year in _YEARS

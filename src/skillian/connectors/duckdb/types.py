"""DuckDB's types."""

import re

from skillian.connectors.base import ColumnType, Kind

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

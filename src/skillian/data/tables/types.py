"""What a column's cells are, whatever its database calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skillian.connectors.base import ColumnType

CellKind = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "binary",
    "uuid",
    "json",
    "nested",
    "other",
]

_INTEGERS = {
    "TINYINT": 3,
    "UTINYINT": 3,
    "SMALLINT": 5,
    "USMALLINT": 5,
    "INTEGER": 10,
    "INT": 10,
    "MEDIUMINT": 8,
    "UINTEGER": 10,
    "YEAR": 4,
    "UBIGINT": 20,
    "BIGINT UNSIGNED": 20,
    "HUGEINT": 39,
    "UHUGEINT": 39,
    "UINT64": 20,
    "INT128": 39,
    "UINT128": 39,
    "INT256": 77,
    "UINT256": 78,
}
_BIGINT_DIGITS = 19
_NAMED: dict[str, CellKind] = {
    "BLOB": "binary",
    "BYTEA": "binary",
    "UUID": "uuid",
    "JSON": "json",
    "JSONB": "json",
    "TIME": "time",
    "TIME WITHOUT TIME ZONE": "time",
    "NUMERIC": "decimal",
}
_BINARY = re.compile(r"(?:TINY|MEDIUM|LONG)?BLOB|(?:VAR)?BINARY(?:\(\d+\))?")
_TIME = re.compile(r"TIME(?:_NS)?(?:\(\d\))?(?: WITHOUT TIME ZONE)?")
_NUMBER = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+),\s*(-?\d+)\)")
_NESTED = re.compile(r".*\[\d*\]|(?:STRUCT|MAP|UNION|ARRAY)\b.*", re.DOTALL)
# Of ClickHouse only nine digits without a zone: others are read as microseconds, or refused.
_NANOS = re.compile(r".*_NS|DATETIME64\(9\)|NULLABLE\(DATETIME64\(9\)\)")
_SINGLE = frozenset({"FLOAT", "REAL", "FLOAT4", "FLOAT32"})
# The same in the words of databases whose FLOAT has 64 bits.
_SINGLE_IN: Mapping[str, frozenset[str]] = {
    "bigquery": frozenset(),
    "oracle": frozenset({"BINARY_FLOAT"}),
    "snowflake": frozenset(),
    "tsql": frozenset({"REAL"}),
}
_FLOAT_OPTIONS = re.compile(r"\([\d, ]*+\)| UNSIGNED| ZEROFILL")


@dataclass(frozen=True, slots=True)
class CellType:
    """The type of a column's cells.

    Attributes:
        kind: What they are.
        sql: The type's name in the database.
        digits: The digits of a number before the point; None if there is no limit.
        scale: Those after it; None if there is no limit.
        single: Whether a float has 32 bits.
        nanos: Whether a time has nanoseconds.
    """

    kind: CellKind
    sql: str
    digits: int | None = 0
    scale: int | None = 0
    single: bool = False
    nanos: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is an exact number."""
        return self.kind in {"integer", "decimal"}


def cell_type(kind: ColumnType, dialect: str) -> CellType:
    """The type of a column's cells; `dialect` is the sqlglot dialect of its name."""
    name = " ".join(kind.sql.upper().split())
    if kind.kind == "integer":
        plain = re.sub(r"\(\d+\)| ZEROFILL", "", name)
        return CellType("integer", kind.sql, _INTEGERS.get(plain, _BIGINT_DIGITS))
    if kind.kind == "decimal":
        number = _NUMBER.fullmatch(name)
        digits = max(int(number[1]) - int(number[2]), 0) if number else None
        return CellType("decimal", kind.sql, digits, kind.scale)
    if kind.kind == "float":
        plain = _FLOAT_OPTIONS.sub("", name)
        return CellType("float", kind.sql, single=plain in _SINGLE_IN.get(dialect, _SINGLE))
    if kind.kind in {"timestamp", "timestamptz"}:
        return CellType(kind.kind, kind.sql, nanos=_NANOS.fullmatch(name) is not None)
    if kind.kind != "other":
        return CellType("json" if name == "JSON" else kind.kind, kind.sql)
    return _other(kind.sql, name)


def _other(written: str, name: str) -> CellType:
    if name.startswith("NUMERIC"):
        return CellType("decimal", written, None, None)
    if name in _NAMED:
        return CellType(_NAMED[name], written)
    if name.startswith("BIT"):
        return CellType("integer" if name == "BIT(1)" else "other", written, 1)
    if _BINARY.fullmatch(name):
        return CellType("binary", written)
    if _TIME.fullmatch(name):
        return CellType("time", written)
    return CellType("nested" if _NESTED.fullmatch(name) else "other", written)

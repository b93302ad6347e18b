"""How cells travel from a database into DuckDB without losing a digit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.connectors.duckdb.workspace import stored_type
from skillian.data import sql
from skillian.data.tables.types import CellKind, CellType

_WIDEST = 38
_BIGINT_DIGITS = 19
_TEXT = "VARCHAR"
_NANOS: Mapping[CellKind, str] = {"timestamp": "TIMESTAMP_NS", "timestamptz": "TIMESTAMPTZ_NS"}
# Types of MySQL whose values are bytes, which it does not write as text.
_BYTES = re.compile(
    r"bit\b|geometry|point|linestring|polygon|multi(?:point|linestring|polygon)"
    r"|geom(?:etry)?collection|vector\b",
    re.IGNORECASE,
)


class Transported(NamedTuple):
    """A column on its way into the workspace.

    Attributes:
        value: The expression that the database computes.
        type: The cells' type in the workspace.
        stored: The type of the workspace's column.
    """

    value: exp.Expr
    type: CellType
    stored: str


def transported(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    """The expression and the type by which a column's cells travel."""
    plain = _plain(kind, value, dialect)
    if plain is not None:
        return plain
    if kind.is_number:
        return _number(kind, value, dialect)
    if kind.kind == "float":
        return _float(kind, value, dialect)
    if dialect == "mysql" and _BYTES.match(kind.sql):
        value = filled("LOWER(HEX(v))", dialect, v=value)
    template = _TEXTS.get((kind.kind, dialect)) or _TEXTS.get((kind.kind, "")) or "CAST(v AS TEXT)"
    sql_name = kind.sql if kind.kind in {"nested", "other"} else _TEXT
    return Transported(filled(template, dialect, v=value), replace(kind, sql=sql_name), _TEXT)


def _plain(kind: CellType, value: exp.Expr, dialect: str) -> Transported | None:
    if kind.kind in _PLAIN:
        stored = _NANOS[kind.kind] if kind.nanos else _PLAIN[kind.kind]
        if kind.nanos and dialect == "clickhouse":
            # Arrow's times have microseconds here.
            value = filled("CAST(v AS TEXT)", dialect, v=value)
        return Transported(value.copy(), replace(kind, sql=stored), stored)
    if kind.kind == "text":
        return Transported(sql.as_text(value.copy()), replace(kind, sql=_TEXT), _TEXT)
    return None


def _number(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    if dialect == "clickhouse" and kind.kind == "decimal" and kind.scale is not None:
        # It may hold more digits than its type says.
        kind = replace(kind, digits=max(kind.digits or 0, _WIDEST - kind.scale))
    if kind.digits is not None and kind.scale is not None:
        width = kind.digits + kind.scale
        if kind.kind == "integer" and kind.digits <= _BIGINT_DIGITS:
            if kind.sql.upper() == "BIT(1)":
                value = filled("v + 0", dialect, v=value)
            return Transported(value.copy(), replace(kind, sql="BIGINT"), "BIGINT")
        if width <= _WIDEST:
            stored = f"DECIMAL({width}, {kind.scale})"
            return Transported(value.copy(), replace(kind, sql=stored), stored)
    text = {
        "postgres": "CAST(TRIM_SCALE(v) AS TEXT)",
        "clickhouse": "CAST(v AS TEXT)",
        "duckdb": "RTRIM(RTRIM(CAST(v AS TEXT), '0'), '.')" if kind.scale else "CAST(v AS TEXT)",
    }.get(dialect)
    if text is None:
        whole = "CAST(v AS CHAR)"
        text = f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {whole}))" if kind.scale else whole
    unlimited = replace(kind, sql="digits", digits=None, scale=None)
    return Transported(filled(text, dialect, v=value), unlimited, _TEXT)


def _float(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    stored = "FLOAT" if kind.single else "DOUBLE"
    if dialect != "duckdb" and kind.single:
        # Its text has fewer digits than the number.
        value = filled("CAST(v AS DOUBLE)", "duckdb", v=value)
    return Transported(value.copy(), replace(kind, sql=stored), stored)


_PLAIN: Mapping[CellKind, str] = {
    "boolean": stored_type("boolean"),
    "date": stored_type("date"),
    "timestamp": stored_type("timestamp"),
    "timestamptz": stored_type("timestamptz"),
}
_ZEROS = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(v AS CHAR)))"
_TEXTS = {
    ("binary", ""): "LOWER(HEX(v))",
    ("binary", "postgres"): "ENCODE(v, 'hex')",
    ("uuid", ""): "LOWER(CAST(v AS TEXT))",
    ("time", "mysql"): f"CASE WHEN v LIKE '%.%' THEN {_ZEROS} ELSE CAST(v AS CHAR) END",
    ("json", "mysql"): "CAST(v AS CHAR)",
    ("nested", "clickhouse"): "CAST(v AS TEXT)",
    ("nested", ""): "CAST(TO_JSON(v) AS TEXT)",
}

"""Checksums of rows that two engines compute alike, so that rows need not travel to be compared.

Each cell becomes a text that both engines write with the same bytes, and that two different values
never share; equal texts then mean equal cells under any rule. The digest of a row is the first 15
hexadecimal digits of the MD5 of its texts, as an integer, and that of many rows is the sum. Two
sets of rows that differ have the same digest with a probability of about 1 in 10 ** 18.

A text that one engine writes differently only costs time: its rows travel. So formats that differ
only for rare values, such as years before 1, are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from skillian.connectors import floats
from skillian.data import sql
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.templates import filled
from skillian.data.tables.types import CellKind, CellType

DIALECTS = frozenset({"duckdb", "postgres", "mysql"})
"""The dialects whose databases compute the same digests."""

_FREE: frozenset[CellKind] = frozenset({"text", "json", "nested", "other"})
"""The kinds whose text may hold any character, and is preceded by its length."""
_PLAIN = "CAST(v AS TEXT)"
_MYSQL_TEXT = "CAST(v AS CHAR)"
_ZEROS = "RTRIM(RTRIM(CAST(v AS TEXT), '0'), '.')"
_MYSQL_ZEROS = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(v AS CHAR)))"
# By kind and dialect; the text of the same dialect on both sides may be any (see `_same_engine`).
_TEXTS: Mapping[tuple[CellKind, str], str] = {
    ("integer", "duckdb"): _PLAIN,
    ("integer", "postgres"): _PLAIN,
    ("integer", "mysql"): _MYSQL_TEXT,
    ("decimal", "postgres"): "CAST(TRIM_SCALE(v) AS TEXT)",
    ("text", "duckdb"): _PLAIN,
    ("text", "postgres"): _PLAIN,
    ("text", "mysql"): "CONVERT(v USING utf8mb4)",
    ("boolean", "duckdb"): "CASE WHEN v THEN '1' WHEN NOT v THEN '0' END",
    ("boolean", "postgres"): "CASE WHEN v THEN '1' WHEN NOT v THEN '0' END",
    ("boolean", "mysql"): "CASE WHEN v THEN '1' WHEN NOT v THEN '0' END",
    ("date", "duckdb"): _PLAIN,
    ("date", "postgres"): "TO_CHAR(v, 'YYYY-MM-DD')",
    ("date", "mysql"): _MYSQL_TEXT,
    ("timestamp", "duckdb"): "CASE WHEN ISFINITE(v) THEN CAST(EPOCH_US(v) AS TEXT)"
    " ELSE CAST(v AS TEXT) END",
    ("timestamp", "postgres"): "CASE WHEN ISFINITE(v)"
    " THEN CAST(CAST(EXTRACT(EPOCH FROM v) * 1000000 AS BIGINT) AS TEXT) ELSE CAST(v AS TEXT) END",
    ("timestamp", "mysql"): "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', v) AS CHAR)",
    ("binary", "duckdb"): "LOWER(HEX(v))",
    ("binary", "postgres"): "ENCODE(v, 'hex')",
    ("binary", "mysql"): "LOWER(HEX(v))",
    ("uuid", "duckdb"): "LOWER(CAST(v AS TEXT))",
    ("uuid", "postgres"): "LOWER(CAST(v AS TEXT))",
    ("uuid", "mysql"): "LOWER(CAST(v AS CHAR))",
    ("time", "duckdb"): _PLAIN,
    ("time", "postgres"): _PLAIN,
    ("time", "mysql"): f"CASE WHEN v LIKE '%.%' THEN {_MYSQL_ZEROS} ELSE {_MYSQL_TEXT} END",
}
_DIGEST = {
    "duckdb": "CAST('0x' || SUBSTRING(MD5(v), 1, 15) AS BIGINT)",
    "postgres": "CAST(CAST('x' || SUBSTRING(MD5(v), 1, 15) AS BIT(60)) AS BIGINT)",
    "mysql": "CAST(CONV(SUBSTRING(MD5(v), 1, 15), 16, 10) AS DECIMAL(20, 0))",
}
_LENGTH = {
    "duckdb": "CAST(LENGTH(v) AS TEXT)",
    "postgres": "CAST(CHAR_LENGTH(v) AS TEXT)",
    "mysql": "CAST(CHAR_LENGTH(v) AS CHAR)",
}


def no_common_text(pair: ColumnPair, dialects: tuple[str, str]) -> str:
    """Return why two engines do not write a column's cells alike; empty if they do."""
    kinds = pair.cells.a, pair.cells.b
    numbers = {kind.kind for kind in kinds} <= {"integer", "decimal", "boolean"}
    if kinds[0].kind != kinds[1].kind and not numbers:
        return f"{pair.a} is {kinds[0].sql} and {kinds[1].sql}"
    for kind, dialect in zip(kinds, dialects, strict=True):
        same = dialects[0] == dialects[1] and kinds[0].sql == kinds[1].sql
        if _template(kind, dialect) is None and not (same and dialect == "postgres"):
            return f"{pair.a} is {kind.sql}"
    return ""


def prepared(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """Return what `digest` takes for a cell: a float as text, which is long to compute."""
    if kind.kind != "float":
        return value.copy()
    width = exp.DType.FLOAT if kind.single else exp.DType.DOUBLE
    return exp.Lower(this=floats.shortest(value.copy(), width, dialect))


def cell_text(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """Return the text of a prepared cell, NULL for NULL."""
    if kind.kind == "float":
        return filled(_FLOAT, dialect, v=value)
    return filled(_template(kind, dialect) or _PLAIN, dialect, v=value)


def digest(cells: Sequence[tuple[CellType, exp.Expr]], dialect: str) -> exp.Expr:
    """Return the digest of a row's prepared cells, an integer below 2 ** 60."""
    parts: list[exp.Expr] = []
    for kind, value in cells:
        text = cell_text(kind, value, dialect)
        if kind.kind in _FREE:
            length = filled(_LENGTH[dialect], dialect, v=text)
            written = exp.Concat(expressions=[length, sql.text(":"), text], coalesce=False)
            case = exp.case().when(sql.is_null(value), sql.text("-"), copy=False)
            text = exp.Paren(this=case.else_(written, copy=False))
        else:
            text = exp.Coalesce(this=text, expressions=[sql.text("-")])
        parts += [text, sql.text(";")]
    row = exp.Concat(expressions=parts, coalesce=False)
    return filled(_DIGEST[dialect], dialect, v=row)


def _template(kind: CellType, dialect: str) -> str | None:
    if kind.nanos:
        return None
    if kind.kind == "decimal" and dialect != "postgres":
        if not kind.scale:
            return _TEXTS["integer", dialect]
        return _ZEROS if dialect == "duckdb" else _MYSQL_ZEROS
    if kind.kind == "float":
        return "" if dialect in {"duckdb", "postgres"} else None
    if kind.kind == "timestamptz":
        return _TEXTS.get(("timestamp", dialect)) if dialect != "mysql" else None
    return _TEXTS.get((kind.kind, dialect))


# The digits and the exponent of the shortest decimal that reads back as the float: engines write
# it with or without an exponent, and with different zeros.
_MANTISSA = "SPLIT_PART(LTRIM(v, '-'), 'e', 1)"
_FRACTION = f"SPLIT_PART({_MANTISSA}, '.', 2)"
_DIGITS = f"LTRIM(SPLIT_PART({_MANTISSA}, '.', 1) || {_FRACTION}, '0')"
_EXPONENT = (
    "COALESCE(CAST(NULLIF(SPLIT_PART(v, 'e', 2), '') AS INT), 0)"
    f" - LENGTH({_FRACTION}) + LENGTH({_DIGITS}) - LENGTH(RTRIM({_DIGITS}, '0'))"
)
_FLOAT = (
    "CASE WHEN v IN ('nan', 'inf', '-inf', 'infinity', '-infinity') THEN REPLACE(v, 'inity', '')"
    f" WHEN {_DIGITS} = '' THEN '0'"
    f" ELSE CASE WHEN v LIKE '-%' THEN '-' ELSE '' END || RTRIM({_DIGITS}, '0') || 'e' ||"
    f" CAST({_EXPONENT} AS TEXT) END"
)

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
    # The bits of 64, of which all that are equal, such as both zeros, have one text.
    ("float", "duckdb"): "CASE WHEN v = 0 THEN '0' WHEN ISNAN(v) THEN 'nan'"
    " ELSE LOWER(HEX(CAST(CAST(CAST(v AS DOUBLE) AS BIT) AS BLOB))) END",
    ("float", "postgres"): "CASE WHEN v = 0 THEN '0' WHEN v = 'NaN' THEN 'nan'"
    " ELSE ENCODE(FLOAT8SEND(v), 'hex') END",
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


def cell_text(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """Return the text of a cell, NULL for NULL."""
    return filled(_template(kind, dialect) or _PLAIN, dialect, v=value)


def digest(cells: Sequence[tuple[CellType, exp.Expr]], dialect: str) -> exp.Expr:
    """Return the digest of a row's cells, an integer below 2 ** 60."""
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
    if kind.kind == "timestamptz":
        return _TEXTS.get(("timestamp", dialect)) if dialect != "mysql" else None
    return _TEXTS.get((kind.kind, dialect))

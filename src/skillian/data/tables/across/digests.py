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
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.dialects import call, filled
from skillian.data import sql
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.types import MYSQL_FRACTION, MYSQL_ZEROS, CellKind, CellType

_ENGINES = ("duckdb", "postgres", "mysql")
DIALECTS = frozenset(_ENGINES)
"""The dialects whose databases compute the same digests."""

_FREE: frozenset[CellKind] = frozenset({"text", "json", "nested", "other"})
"""The kinds whose text may hold any character, and is preceded by its number of bytes."""
_PLAIN = "CAST(v AS TEXT)"
_MYSQL_TEXT = "CAST(v AS CHAR)"
_ZEROS = "RTRIM(RTRIM(CAST(v AS TEXT), '0'), '.')"
_TRUTH = "CASE WHEN v THEN '1' WHEN NOT v THEN '0' END"
# By kind, of each of `_ENGINES`; the text of the same dialect on both sides may be any.
_TEXTS: Mapping[CellKind, tuple[str | None, str | None, str | None]] = {
    "integer": (_PLAIN, _PLAIN, _MYSQL_TEXT),
    "decimal": (None, "CAST(TRIM_SCALE(v) AS TEXT)", None),
    "text": (_PLAIN, _PLAIN, "CONVERT(v USING utf8mb4)"),
    "boolean": (_TRUTH, _TRUTH, _TRUTH),
    "date": (_PLAIN, _PLAIN, _MYSQL_TEXT),
    "timestamp": (_PLAIN, _PLAIN, MYSQL_FRACTION),
    "binary": ("LOWER(HEX(v))", "ENCODE(v, 'hex')", "LOWER(HEX(v))"),
    "uuid": (_PLAIN, _PLAIN, _MYSQL_TEXT),
    "time": (_PLAIN, _PLAIN, MYSQL_FRACTION),
    # The bits of 64, of which all that are equal, such as both zeros, have one text.
    "float": (
        (
            "CASE WHEN v = 0 THEN '0' WHEN ISNAN(v) THEN 'nan'"
            " ELSE LOWER(HEX(CAST(CAST(CAST(v AS DOUBLE) AS BIT) AS BLOB))) END"
        ),
        "CASE WHEN v = 0 THEN '0' WHEN v = 'NaN' THEN 'nan' ELSE ENCODE(FLOAT8SEND(v), 'hex') END",
        None,
    ),
}
_FIRST_DIGIT = "SUBSTRING(MD5(v), 1, 1)"
# A cast to BIT drops the digits beyond its length.
_DIGEST = {
    "duckdb": "CAST('0x' || SUBSTRING(MD5(v), 1, 15) AS BIGINT)",
    "postgres": "CAST(CAST('x' || MD5(v) AS BIT(60)) AS BIGINT)",
    "mysql": "CAST(CONV(SUBSTRING(MD5(v), 1, 15), 16, 10) AS UNSIGNED)",
}
_LENGTH = {
    "duckdb": "CAST(STRLEN(v) AS TEXT)",
    "postgres": "CAST(OCTET_LENGTH(v) AS TEXT)",
    "mysql": "CAST(LENGTH(v) AS CHAR)",
}


class DigestCell(NamedTuple):
    """A cell of a row.

    Attributes:
        kind: Its type.
        value: The expression of its value.
        fixed: Whether it is a decimal of the same scale in both databases: its zeros are kept.
    """

    kind: CellType
    value: exp.Expr
    fixed: bool = False


def cell_of(pair: ColumnPair, side: int, value: exp.Expr) -> DigestCell:
    """The cell of a pair of columns on a side."""
    a, b = pair.cells.a, pair.cells.b
    fixed = a.kind == b.kind == "decimal" and a.scale is not None and a.scale == b.scale
    return DigestCell((a, b)[side], value, fixed)


def no_common_text(pair: ColumnPair, dialects: tuple[str, str]) -> str:
    """Why two engines do not write a column's cells alike; empty if they do."""
    kinds = pair.cells.a, pair.cells.b
    numbers = {kind.kind for kind in kinds} <= {"integer", "decimal", "boolean"}
    if kinds[0].kind != kinds[1].kind and not numbers:
        return f"{pair.a} is {kinds[0].sql} and {kinds[1].sql}"
    for kind, dialect in zip(kinds, dialects, strict=True):
        same = dialects[0] == dialects[1] and kinds[0].sql == kinds[1].sql
        if _template(kind, dialect) is None and not (same and dialect == "postgres"):
            return f"{pair.a} is {kind.sql}"
    return ""


def cell_text(cell: DigestCell, dialect: str) -> exp.Expr:
    """The text of a cell, NULL for NULL."""
    if cell.fixed:
        template = _MYSQL_TEXT if dialect == "mysql" else _PLAIN
    else:
        template = _template(cell.kind, dialect) or _PLAIN
    return filled(template, dialect, v=cell.value)


def digest(cells: Sequence[DigestCell], dialect: str) -> exp.Expr:
    """The digest of a row's cells, an integer below 2 ** 60."""
    return filled(_DIGEST[dialect], dialect, v=_row_text(cells, dialect))


def is_in_first_part(cells: Sequence[DigestCell], dialect: str) -> exp.Expr:
    """Whether the digest is among the least sixteenth, which costs less than the digest."""
    digit = filled(_FIRST_DIGIT, dialect, v=_row_text(cells, dialect))
    return exp.EQ(this=digit, expression=sql.text("0"))


def _row_text(cells: Sequence[DigestCell], dialect: str) -> exp.Expr:
    parts: list[exp.Expr] = []
    for cell in cells:
        text = cell_text(cell, dialect)
        missing = sql.text("-")
        if cell.kind.kind in _FREE:
            length = filled(_LENGTH[dialect], dialect, v=text)
            parts += [exp.Coalesce(this=length, expressions=[missing]), sql.text(":")]
            missing = sql.text("")
        parts += [exp.Coalesce(this=text, expressions=[missing]), sql.text(";")]
    if dialect == "duckdb":  # whose `||` copies the text so far for each part
        return call("CONCAT", *parts)
    return exp.Concat(expressions=parts, coalesce=False)


def _template(kind: CellType, dialect: str) -> str | None:
    if kind.nanos:
        return None
    name = kind.kind
    if name == "decimal" and dialect != "postgres":
        if kind.scale:
            return _ZEROS if dialect == "duckdb" else MYSQL_ZEROS
        name = "integer"
    if name == "timestamptz" and dialect != "mysql":
        name = "timestamp"
    return None if name not in _TEXTS else _TEXTS[name][_ENGINES.index(dialect)]

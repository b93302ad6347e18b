"""Spark: what sqlglot does not translate itself."""

import re
from functools import partial

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import (
    QUOTIENT,
    Adapt,
    Casts,
    Change,
    adapter,
    call,
    codes_of,
    replaced,
)
from skillian.errors import QueryError

_Type = exp.DataType.Type
# strftime's codes and Java's patterns for them.
_PATTERNS = {
    "%Y": "yyyy",
    "%y": "yy",
    "%m": "MM",
    "%d": "dd",
    "%H": "HH",
    "%M": "mm",
    "%S": "ss",
    "%f": "SSSSSS",
    "%j": "DDD",
    "%b": "MMM",
    "%B": "MMMM",
    "%-d": "d",
    "%-m": "M",
    "%-H": "H",
}
_JSON_OPTIONS = (
    *("timestampFormat", "yyyy-MM-dd HH:mm:ss.SSSSSSXXX"),
    *("timestampNTZFormat", "yyyy-MM-dd HH:mm:ss.SSSSSS"),
    *("ignoreNullFields", "false"),
)


def _float_text(node: exp.Cast) -> exp.Expr:
    kind: exp.DataType = node.this.type
    return floats.shortest(_inner(node.this), kind.this, "spark")


def _regexp_like(node: exp.RegexpLike) -> exp.Expr:
    # `$` also matches before a final line feed; `\z` does not.
    pattern = node.expression.name
    end = _text(f"{pattern[:-1]}\\z" if pattern.endswith("$") else pattern)
    return exp.RegexpLike(this=_inner(node.this), expression=end)


def _normalize(node: exp.Normalize) -> exp.Expr:
    if node.meta.get("lenient"):
        return _inner(node.this)
    raise QueryError("`nfc`: Spark has no equivalent; write the tables in that form")


def _time_to_str(node: exp.TimeToStr) -> exp.Expr:
    pattern = _text(_pattern(node.args["format"].name))
    return call("DATE_FORMAT", _inner(node.this), pattern)


def _str_to_time(node: exp.StrToTime) -> exp.Expr:
    pattern = _text(_pattern(node.args["format"].name))
    read = call("TO_TIMESTAMP", _inner(node.this), pattern)
    return exp.cast(read, exp.DType.TIMESTAMPNTZ)


def _pattern(form: str) -> str:
    """Java's pattern for one of strftime."""
    parts = codes_of(form, _PATTERNS, "Spark")
    return "".join(
        _PATTERNS[code] if code else re.sub(r"[^\W\d_]+", r"'\g<0>'", text.replace("'", "''"))
        for code, text in parts
    )


def _json(node: exp.JSONFormat) -> exp.Expr:
    # Without a format, times are cut to milliseconds.
    return call("TO_JSON", _inner(node.this), call("MAP", *map(_text, _JSON_OPTIONS)))


def _text(text: str) -> exp.Literal:
    return exp.Literal.string(text)


_CHANGES: dict[type[exp.Expr], Change] = {
    exp.IntDiv: f"CAST({QUOTIENT} AS DECIMAL(38, 0))",
    exp.JSONFormat: _json,
    exp.Normalize: _normalize,
    exp.RegexpLike: _regexp_like,
    # SIGN returns a binary float in Spark.
    exp.Sign: "CASE WHEN v > 0 THEN 1 WHEN v < 0 THEN -1 WHEN v = 0 THEN 0 END",
    exp.StrToTime: _str_to_time,
    exp.TimeToStr: _time_to_str,
    # Spark would turn the German sharp s into two letters.
    exp.Upper: "UPPER(REPLACE(v, 'ß', 'ẞ'))",
}
_CASTS: Casts = {
    _Type.TIMESTAMP: "CAST(v AS TIMESTAMPNTZ)",  # TIMESTAMP has a time zone in Spark
    _Type.INT128: "CAST(v AS DECIMAL(38, 0))",
    (_Type.TEXT, _Type.TIMESTAMPTZ): "CAST(v AS TEXT) || '+00'",
    (_Type.TEXT, _Type.FLOAT): _float_text,
    (_Type.TEXT, _Type.DOUBLE): _float_text,
}
# In neutral SQL: read as Spark's, casts and quotients would not fail in Databricks.
adapt = adapter("", _CHANGES, _CASTS)
# The parts of a replacement, which `replaced` does not visit, are adapted too.
_inner: Adapt = partial(replaced, change=adapt)

"""Spark: what sqlglot does not translate itself."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import QUOTIENT, Adapt, adapter, call, printed_float, replaced
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
_CODE = re.compile(r"%-?.|[A-Za-z]+|'|.", re.DOTALL)


def _cast(node: exp.Cast) -> exp.Expr:
    goal, source = node.to.this, node.this.type
    if goal == _Type.TIMESTAMP:
        # TIMESTAMP has a time zone in Spark.
        return _as(_inner(node.this), "TIMESTAMP_NTZ")
    if goal == _Type.INT128:
        return _as(_inner(node.this), "DECIMAL(38, 0)")
    if goal == _Type.TEXT and source is not None and source.this == _Type.TIMESTAMPTZ:
        return exp.DPipe(this=exp.cast(_inner(node.this), "TEXT"), expression=_text("+00"))
    float_kind = printed_float(node)
    return floats.shortest(_inner(node.this), float_kind, "spark") if float_kind else node


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
    return _as(read, "TIMESTAMP_NTZ")


def _pattern(form: str) -> str:
    written: list[str] = []
    for part in _CODE.findall(form):
        if part.startswith("%") and part != "%%":
            if part not in _PATTERNS:
                known = " ".join(sorted(_PATTERNS))
                raise QueryError(
                    f"`format: {form}`: Spark has no equivalent of {part}; known: {known}"
                )
            written.append(_PATTERNS[part])
        else:
            literal = part.replace("%%", "%").replace("'", "''")
            written.append(f"'{literal}'" if literal.isalpha() else literal)
    return "".join(written)


def _as(value: exp.Expr, goal: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(goal, dialect="spark"))


def _text(text: str) -> exp.Literal:
    return exp.Literal.string(text)


_CHANGES: dict[type[exp.Expr], Callable[[Any], exp.Expr] | str] = {
    exp.Cast: _cast,
    exp.IntDiv: f"CAST({QUOTIENT} AS DECIMAL(38, 0))",
    exp.Normalize: _normalize,
    exp.RegexpLike: _regexp_like,
    # SIGN returns a binary float in Spark.
    exp.Sign: "CASE WHEN v > 0 THEN 1 WHEN v < 0 THEN -1 WHEN v = 0 THEN 0 END",
    exp.StrToTime: _str_to_time,
    exp.TimeToStr: _time_to_str,
    # Spark would turn the German sharp s into two letters.
    exp.Upper: "UPPER(REPLACE(v, 'ß', 'ẞ'))",
}
# In neutral SQL: read as Spark's, casts and quotients would not fail in Databricks.
adapt = adapter("", _CHANGES)
# The parts of a replacement, which `replaced` does not visit, are adapted too.
_inner: Adapt = partial(replaced, change=adapt)

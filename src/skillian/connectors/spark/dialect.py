"""Spark: what sqlglot does not translate itself."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import (
    Adapt,
    adapter,
    call,
    printed_float,
    replaced,
    whole_quotient,
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


def _int_div(node: exp.IntDiv) -> exp.Expr:
    return _as(whole_quotient(_inner(node.this), _inner(node.expression)), "DECIMAL(38, 0)")


def _sign(node: exp.Sign) -> exp.Expr:
    # SIGN returns a binary float in Spark.
    value, zero = _inner(node.this), exp.Literal.number(0)
    case = exp.case().when(exp.GT(this=value, expression=zero), exp.Literal.number(1))
    case = case.when(exp.LT(this=value.copy(), expression=zero.copy()), exp.Literal.number(-1))
    return case.when(exp.EQ(this=value.copy(), expression=zero.copy()), zero.copy())


def _regexp_like(node: exp.RegexpLike) -> exp.Expr:
    # `$` also matches before a final line feed; `\z` does not.
    pattern = node.expression.name
    end = _text(f"{pattern[:-1]}\\z" if pattern.endswith("$") else pattern)
    return exp.RegexpLike(this=_inner(node.this), expression=end)


def _normalize(node: exp.Normalize) -> exp.Expr:
    if node.meta.get("lenient"):
        return _inner(node.this)
    raise QueryError("`nfc`: Spark has no equivalent; write the tables in that form")


def _upper(node: exp.Upper) -> exp.Expr:
    # Spark would turn the German sharp s into two letters.
    letters = [_text(letter) for letter in "ßẞ"]
    replaced = call("REPLACE", _inner(node.this), *letters)
    return exp.Upper(this=replaced)


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


_CHANGES: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Cast: _cast,
    exp.IntDiv: _int_div,
    exp.Normalize: _normalize,
    exp.RegexpLike: _regexp_like,
    exp.Sign: _sign,
    exp.StrToTime: _str_to_time,
    exp.TimeToStr: _time_to_str,
    exp.Upper: _upper,
}
adapt = adapter(_CHANGES)
# The parts of a replacement, which `replaced` does not visit, are adapted too.
_inner: Adapt = partial(replaced, change=adapt)

"""PostgreSQL: what sqlglot does not translate itself.

Text is compared byte by byte and ordered by code point (COLLATE "C"), whatever the collation of its
column. The connector sets the time zone to UTC and the date style to ISO.
"""

import re
from functools import partial

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import (
    MOMENT_PATTERN,
    READ_CODES,
    Adapt,
    Casts,
    Change,
    adapter,
    call,
    codes_of,
    printed_float,
    replaced,
)

_Type = exp.DataType.Type

# strftime's codes in `to_char`; those left out have another meaning in PostgreSQL.
_WRITTEN = {
    "%Y": "YYYY", "%y": "YY", "%m": "MM", "%-m": "FMMM", "%d": "DD", "%-d": "FMDD", "%j": "DDD",
    "%b": "Mon", "%B": "FMMonth", "%a": "Dy", "%A": "FMDay",
    "%H": "HH24", "%-H": "FMHH24", "%I": "HH12", "%-I": "FMHH12", "%p": "AM",
    "%M": "MI", "%S": "SS", "%f": "US", "%G": "IYYY", "%V": "IW", "%u": "ID",
}  # fmt: skip
# What they match when text is parsed, since `to_timestamp` is lenient.
_READ = {**READ_CODES, "%I": "[0-9]{1,2}", "%p": "[AaPp][Mm]"}
_MOMENTS = frozenset({_Type.DATE, _Type.TIMESTAMP, _Type.TIMESTAMPTZ})


def _to_text(node: exp.Cast) -> exp.Expr:
    float_kind = printed_float(node)
    value = _inner(node.this)
    text = floats.shortest(value, float_kind, "postgres") if float_kind else None
    return _collated(text or exp.cast(value, "TEXT"))


def _to_boolean(node: exp.Cast) -> exp.Expr:
    # Through text, since of all types only int4 has a direct cast.
    return exp.cast(exp.cast(_inner(node.this), "TEXT"), "BOOLEAN")


def _to_decimal(node: exp.Cast) -> exp.Expr:
    if not (isinstance(node.this, exp.Column) and node.this.table):
        return node
    # A direct cast keeps 15 digits of a binary float; its text has all of them.
    return exp.cast(exp.cast(node.this, "TEXT"), node.to)


def _to_moment(node: exp.Cast) -> exp.Expr:
    value = _inner(node.this)
    if isinstance(node.this, exp.StrToTime):
        return value
    if node.this.type is not None and node.this.type.this in _MOMENTS:
        return exp.cast(value, "TIMESTAMP")
    # The cast alone accepts 'now', and drops a time zone.
    text = _collated(exp.cast(value, "TEXT"))
    return _guarded(text, MOMENT_PATTERN, exp.cast(value.copy(), "TIMESTAMP"))


def _in(node: exp.In) -> exp.Expr:
    if not (_is_text(node.this) and isinstance(node.this.this, exp.Column)):
        return node
    # Only the first test can use an index; the second is exact whatever the collation.
    exact = exp.In(this=_inner(node.this), expressions=[_inner(each) for each in node.expressions])
    return exp.Paren(this=exp.And(this=node.copy(), expression=exact))


def _upper(node: exp.Upper) -> exp.Expr:
    # In "C" only ASCII letters have a case.
    return _collated(exp.Upper(this=_collated(_inner(node.this), "default")))


def _time_to_text(node: exp.TimeToStr) -> exp.Expr:
    pattern = _template(codes_of(node.args["format"].name, _WRITTEN, "PostgreSQL"))
    value = exp.cast(_inner(node.this), "TIMESTAMP")
    return _collated(call("TO_CHAR", value, exp.Literal.string(pattern)))


def _text_to_time(node: exp.StrToTime) -> exp.Expr:
    parts = codes_of(node.args["format"].name, _READ, "PostgreSQL")
    following = [code for code, _ in parts[1:]] + [""]
    accepted = "".join(
        _accepted(code, touches_code=bool(after)) if code else re.escape(text)
        for (code, text), after in zip(parts, following, strict=True)
    )
    value = _inner(node.this)
    read = exp.cast(call("TO_TIMESTAMP", value, exp.Literal.string(_template(parts))), "TIMESTAMP")
    return _guarded(value.copy(), f"^{accepted}$", read)


def _template(parts: list[tuple[str, str]]) -> str:
    """The pattern of `to_char` for codes and the texts between them."""
    return "".join(
        _WRITTEN[code] if code else '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
        for code, text in parts
    )


def _accepted(code: str, *, touches_code: bool) -> str:
    # Without text in between, only a fixed number of digits separates two codes.
    return re.sub(r"\{1,(\d)\}", r"{\1}", _READ[code]) if touches_code else _READ[code]


def _guarded(text: exp.Expr, pattern: str, value: exp.Expr) -> exp.Expr:
    """The timestamp `value`; the statement fails with the text if that does not match."""
    fits = exp.RegexpLike(this=text, expression=exp.Literal.string(pattern))
    message = exp.DPipe(this=text.copy(), expression=exp.Literal.string(" is not TIMESTAMP"))
    return exp.case().when(fits, value).else_(exp.cast(message, "TIMESTAMP"))


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this == _Type.TEXT


def _collated(text: exp.Expr, collation: str = "C") -> exp.Expr:
    return exp.Collate(this=text, expression=exp.to_identifier(collation, quoted=True))


def _apart(node: exp.Select) -> exp.Expr:
    # OFFSET 0 keeps the subquery apart. Merged into the outer query, the planner would estimate one
    # group for each row and sort them all, mostly on disk.
    return node.offset(0, copy=False) if node.meta.get("apart") else node


_CHANGES: dict[type[exp.Expr], Change] = {
    exp.In: _in,
    exp.Select: _apart,
    exp.StrToTime: _text_to_time,
    exp.TimeToStr: _time_to_text,
    exp.Upper: _upper,
}
_CASTS: Casts = {
    _Type.TEXT: _to_text,
    _Type.BOOLEAN: _to_boolean,
    _Type.DECIMAL: _to_decimal,
    _Type.TIMESTAMP: _to_moment,
    _Type.INT128: lambda node: exp.cast(_inner(node.this), "DECIMAL"),
}
adapt = adapter("postgres", _CHANGES, _CASTS)
# The parts of a replacement, which `replaced` does not visit, are adapted too.
_inner: Adapt = partial(replaced, change=adapt)

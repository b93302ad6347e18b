"""PostgreSQL: where its SQL differs from what sqlglot writes by itself.

Texts are compared byte for byte and ordered by code point (COLLATE "C"), whatever the collation of
their column says. The connector sets the time zone to UTC and dates to ISO.
"""

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from skillian.data import sql
from skillian.data.dialects import floats
from skillian.errors import QueryError

_Type = exp.DataType.Type
_MOMENT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"

_CODE = re.compile(r"(?P<code>%-?.)|(?P<text>[^%]+)", re.DOTALL)
# strftime's codes as `to_char` has them; those left out mean something else to PostgreSQL.
_WRITTEN = {
    "%Y": "YYYY", "%y": "YY", "%m": "MM", "%-m": "FMMM", "%d": "DD", "%-d": "FMDD", "%j": "DDD",
    "%b": "Mon", "%B": "FMMonth", "%a": "Dy", "%A": "FMDay",
    "%H": "HH24", "%-H": "FMHH24", "%I": "HH12", "%-I": "FMHH12", "%p": "AM",
    "%M": "MI", "%S": "SS", "%f": "US", "%G": "IYYY", "%V": "IW", "%u": "ID",
}  # fmt: skip
# What they take when a text is read, which `to_timestamp` does not look at closely.
_READ = {
    "%Y": "[0-9]{4}",
    "%y": "(6[0-8]|[0-57-9][0-9])",  # 69 is 1969 or 2069
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%j": "[0-9]{1,3}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]+",
    "%H": "[0-9]{1,2}",
    "%I": "[0-9]{1,2}",
    "%p": "[AaPp][Mm]",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
    "%f": "[0-9]{1,6}",
}
_MOMENTS = frozenset({_Type.DATE, _Type.TIMESTAMP, _Type.TIMESTAMPTZ})


def adapt(node: exp.Expr) -> exp.Expr:
    """Return what stands for one node of a statement; raises `QueryError` where nothing does."""
    change = _CHANGES.get(type(node))
    return node if change is None else change(node)


def _inner(node: exp.Expr) -> exp.Expr:
    # What a replaced node holds is not visited any more.
    return sql.replaced(node, adapt)


def _cast(node: exp.Cast) -> exp.Expr:
    change = _CASTS.get(node.to.this)
    return node if change is None else change(node)


def _to_text(node: exp.Cast) -> exp.Expr:
    float_kind = floats.printed(node)
    value = _inner(node.this)
    text = floats.shortest(value, float_kind, "postgres") if float_kind else None
    return _collated(text or exp.cast(value, "TEXT"))


def _to_boolean(node: exp.Cast) -> exp.Expr:
    # From any type: only int4 has a cast of its own.
    return exp.cast(exp.cast(_inner(node.this), "TEXT"), "BOOLEAN")


def _to_decimal(node: exp.Cast) -> exp.Expr:
    if not (isinstance(node.this, exp.Column) and node.this.table):
        return node
    # A binary float keeps 15 digits on the direct way, and all of them as a text.
    return exp.cast(exp.cast(node.this, "TEXT"), node.to)


def _to_moment(node: exp.Cast) -> exp.Expr:
    value = _inner(node.this)
    if isinstance(node.this, exp.StrToTime):
        return value
    if node.this.type is not None and node.this.type.this in _MOMENTS:
        return exp.cast(value, "TIMESTAMP")
    # The cast alone takes 'now', and drops a time zone.
    text = _collated(exp.cast(value, "TEXT"))
    return _guarded(text, _MOMENT_PATTERN, exp.cast(value.copy(), "TIMESTAMP"))


def _in(node: exp.In) -> exp.Expr:
    if not (_is_text(node.this) and isinstance(node.this.this, exp.Column)):
        return node
    # The first test alone can use an index; the second is exact whatever the collation.
    exact = exp.In(this=_inner(node.this), expressions=[_inner(each) for each in node.expressions])
    return exp.Paren(this=exp.And(this=node.copy(), expression=exact))


def _upper(node: exp.Upper) -> exp.Expr:
    # In "C" only the letters of ASCII have a case.
    return _collated(exp.Upper(this=_collated(_inner(node.this), "default")))


def _time_to_text(node: exp.TimeToStr) -> exp.Expr:
    pattern = "".join(_template(code, text) for code, text in _parts(node.args["format"].name))
    value = exp.cast(_inner(node.this), "TIMESTAMP")
    return _collated(_call("TO_CHAR", value, exp.Literal.string(pattern)))


def _text_to_time(node: exp.StrToTime) -> exp.Expr:
    parts = _parts(node.args["format"].name)
    template = "".join(_template(code, text) for code, text in parts)
    following = [bool(code) for code, _ in parts[1:]] + [False]
    accepted = "".join(
        _accepted(code, text, touches_code=touches)
        for (code, text), touches in zip(parts, following, strict=True)
    )
    value = _inner(node.this)
    read = exp.cast(_call("TO_TIMESTAMP", value, exp.Literal.string(template)), "TIMESTAMP")
    return _guarded(value.copy(), f"^{accepted}$", read)


def _parts(pattern: str) -> list[tuple[str, str]]:
    """Return a strftime pattern as codes and the texts between them."""
    found = [(match["code"] or "", match["text"] or "") for match in _CODE.finditer(pattern)]
    return [("", "%") if code == "%%" else (code, text) for code, text in found]


def _template(code: str, text: str) -> str:
    if not code:
        return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
    if code not in _WRITTEN:
        raise QueryError(f"format {code} is not one of PostgreSQL's; use {', '.join(_WRITTEN)}")
    return _WRITTEN[code]


def _accepted(code: str, text: str, *, touches_code: bool) -> str:
    if not code:
        return re.escape(text)
    if code not in _READ:
        raise QueryError(f"format {code} cannot be read; use {', '.join(_READ)}")
    # Without a text between, only a full number of digits tells where the next begins.
    return re.sub(r"\{1,(\d)\}", r"{\1}", _READ[code]) if touches_code else _READ[code]


def _guarded(text: exp.Expr, pattern: str, value: exp.Expr) -> exp.Expr:
    """Return the timestamp `value`, or fail naming the text, where that is not of the pattern."""
    fits = exp.RegexpLike(this=text, expression=exp.Literal.string(pattern))
    told = exp.DPipe(this=text.copy(), expression=exp.Literal.string(" is not TIMESTAMP"))
    return exp.case().when(fits, value).else_(exp.cast(told, "TIMESTAMP"))


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this == _Type.TEXT


def _collated(text: exp.Expr, collation: str = "C") -> exp.Expr:
    return exp.Collate(this=text, expression=exp.to_identifier(collation, quoted=True))


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[*arguments])


_CASTS: dict[object, Callable[[exp.Cast], exp.Expr]] = {
    _Type.TEXT: _to_text,
    _Type.BOOLEAN: _to_boolean,
    _Type.DECIMAL: _to_decimal,
    _Type.TIMESTAMP: _to_moment,
    _Type.INT128: lambda node: exp.cast(_inner(node.this), "DECIMAL"),
}


def _apart(node: exp.Select) -> exp.Expr:
    # Merged with what is around it, the planner would take each of its rows for a group and sort
    # them all, mostly on disk.
    return node.offset(0, copy=False) if node.meta.get("apart") else node


_CHANGES: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Cast: _cast,
    exp.In: _in,
    exp.Select: _apart,
    exp.StrToTime: _text_to_time,
    exp.TimeToStr: _time_to_text,
    exp.Upper: _upper,
}

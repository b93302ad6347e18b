"""MySQL and MariaDB: what sqlglot does not translate itself.

A failed cast returns 0 or NULL and a warning with the value, for which the connector raises an
error. `CAST(x AS CHAR)` has the session's collation, which the connector sets to compare bytes.
"""

import re
from functools import partial

from sqlglot import exp

from skillian.connectors.dialects import (
    MOMENT_PATTERN,
    QUOTIENT,
    READ_CODES,
    Adapt,
    Casts,
    Change,
    adapter,
    call,
    codes_of,
    replaced,
)

_Type = exp.DataType.Type
_WHOLE = "DECIMAL(65, 0)"
_MOMENT = "DATETIME(6)"
_BOOLEAN = """
CASE WHEN LOWER(CAST(v AS CHAR)) IN ('true', 't', '1', 'yes', 'y') THEN TRUE
WHEN LOWER(CAST(v AS CHAR)) IN ('false', 'f', '0', 'no', 'n') THEN FALSE
ELSE CAST(CONCAT(v, ' is not BOOLEAN') AS SIGNED) END
"""
# As DuckDB writes it: without trailing zeros in the fraction.
_MOMENT_TEXT = (
    "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v, '%Y-%m-%d %H:%i:%S.%f')))"
)

# strftime's codes; those left out have another meaning in MySQL.
_OTHERS = ("%a", "%A", "%G", "%I", "%p", "%T", "%U", "%w", "%W", "%-d", "%-m", "%-H", "%-I")
_WRITTEN = frozenset([*READ_CODES, *_OTHERS])
# MySQL has no function for the Unicode form NFC. Characters of these ranges are always in it:
# Latin, Cyrillic, punctuation, currencies, kana, Chinese, Hangul, emoji.
_COMPOSED_PATTERN = (
    r"^[\x{0}-\x{2FF}\x{400}-\x{482}\x{48A}-\x{52F}\x{2010}-\x{2027}\x{20A0}-\x{20BF}"
    r"\x{3041}-\x{3096}\x{30A1}-\x{30FA}\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}"
    r"\x{1F300}-\x{1FAFF}]*$"
)


def _to_moment(node: exp.Cast) -> exp.Expr:
    return _guarded(_inner(node.this), MOMENT_PATTERN, " is not TIMESTAMP")


def _regexp_like(node: exp.RegexpLike) -> exp.Expr:
    return _matches(_inner(node.this), node.expression.name)


def _normalize(node: exp.Normalize) -> exp.Expr:
    value = _inner(node.this)
    if node.meta.get("lenient"):
        return value
    unknown = _with_message(
        value.copy(), " may have another Unicode form, which MySQL cannot check"
    )
    known = exp.case().when(_matches(value.copy(), _COMPOSED_PATTERN), value)
    return known.else_(exp.cast(_as(unknown, "BIGINT"), "TEXT"))


def _is(node: exp.Is) -> exp.Expr:
    if not isinstance(node.expression, exp.Null):
        return node
    # Of a date that is NOT NULL, IS NULL would also find 0000-00-00.
    return exp.NullSafeEQ(this=_inner(node.this), expression=exp.Null())


def _count(node: exp.Count) -> exp.Expr:
    distinct = node.this
    if not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1:
        return node
    # The bytes distinguish values that their collation treats as equal.
    value = _inner(distinct.expressions[0])
    both = [value, exp.cast(value.copy(), "BINARY")]
    return exp.Count(this=exp.Distinct(expressions=both))


def _time_to_str(node: exp.TimeToStr) -> exp.Expr:
    codes_of(node.args["format"].name, _WRITTEN, "MySQL")
    return node


def _str_to_time(node: exp.StrToTime) -> exp.Expr:
    form = node.args["format"].name
    parts = codes_of(form, READ_CODES, "MySQL")
    codes = {code for code, _ in parts}
    pattern = "".join(READ_CODES[code] if code else re.escape(text) for code, text in parts)
    value = _inner(node.this)
    # A missing part would be 0.
    missing = [] if "%j" in codes else [code for code in ("%m", "%d") if code not in codes]
    if "%b" in codes or "%B" in codes:
        missing = [code for code in missing if code != "%m"]
    started = (
        call("CONCAT", exp.Literal.string("01 " * len(missing)), value.copy()) if missing else value
    )
    read = exp.StrToTime(
        this=started, format=exp.Literal.string("".join(f"{code} " for code in missing) + form)
    )
    # By way of its text, since otherwise a 31 February would be accepted.
    return _guarded(value.copy(), f"^{pattern}$", f" is not {form}", exp.cast(read, "TEXT"))


def _guarded(value: exp.Expr, pattern: str, message: str, read: exp.Expr | None = None) -> exp.Expr:
    """`read`, or the value itself, as a timestamp; it fails unless the text matches."""
    case = exp.case().when(
        _matches(exp.cast(value.copy(), "TEXT"), pattern), _as(read or value.copy(), _MOMENT)
    )
    return case.else_(_as(_with_message(value.copy(), message), _MOMENT))


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    # `$` also matches before a final line feed; `\z` does not.
    text = exp.Literal.string(f"{pattern[:-1]}\\z" if pattern.endswith("$") else pattern)
    place = call("REGEXP_INSTR", value, text)
    return exp.Paren(this=exp.GT(this=place, expression=exp.Literal.number(0)))


def _with_message(value: exp.Expr, message: str) -> exp.Expr:
    return call("CONCAT", value, exp.Literal.string(message))


def _as(value: exp.Expr, goal: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(goal, dialect="mysql"))


_CHANGES: dict[type[exp.Expr], Change] = {
    exp.Count: _count,
    exp.IntDiv: f"CAST({QUOTIENT} AS {_WHOLE})",
    exp.Is: _is,
    exp.Normalize: _normalize,
    exp.RegexpLike: _regexp_like,
    exp.StrToTime: _str_to_time,
    exp.TimeToStr: _time_to_str,
}
_CASTS: Casts = {
    _Type.INT128: f"CAST(v AS {_WHOLE})",
    # A direct cast from a text or an unsigned number overflows 64 bits without a warning.
    _Type.BIGINT: f"CAST(CAST(v AS {_WHOLE}) AS SIGNED)",
    _Type.BOOLEAN: _BOOLEAN,
    _Type.TIMESTAMP: _to_moment,
    (_Type.TEXT, _Type.TIMESTAMP): _MOMENT_TEXT,
    (_Type.TEXT, _Type.TIMESTAMPTZ): f"CONCAT({_MOMENT_TEXT}, '+00')",
}
adapt = adapter("mysql", _CHANGES, _CASTS)
# The parts of a replacement, which `replaced` does not visit, are adapted too.
_inner: Adapt = partial(replaced, change=adapt)

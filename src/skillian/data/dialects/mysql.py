"""MySQL and MariaDB: where their SQL differs from what sqlglot writes by itself.

A cast that fails gives 0 or NULL there and a warning with the value, on which the connector
raises. `CAST(x AS CHAR)` has the session's collation, which the connector sets to bytes.
"""

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from skillian.data import sql
from skillian.errors import QueryError

_Type = exp.DataType.Type
_WHOLE = "DECIMAL(65, 0)"
_ZONES = {_Type.TIMESTAMP: "", _Type.TIMESTAMPTZ: "+00"}
_MOMENT = "DATETIME(6)"
_MOMENT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")

# strftime's codes and what they stand for; those left out mean something else to MySQL.
_CODE = re.compile(r"%-?.|.", re.DOTALL)
_READ = {
    "%Y": "[0-9]{4}",
    "%y": "(6[0-8]|[0-57-9][0-9])",  # 69 is 1969 or 2069
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
    "%f": "[0-9]{1,6}",
    "%j": "[0-9]{1,3}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]+",
}
_WRITTEN = frozenset(
    [*_READ, "%a", "%A", "%G", "%I", "%p", "%T", "%U", "%w", "%W", "%-d", "%-m", "%-H", "%-I"]
)
# There is no function for the Unicode form NFC. Nothing of this has another one: Latin, Cyrillic,
# punctuation, currencies, kana, Chinese, Hangul, emoji.
_COMPOSED_PATTERN = (
    r"^[\x{0}-\x{2FF}\x{400}-\x{482}\x{48A}-\x{52F}\x{2010}-\x{2027}\x{20A0}-\x{20BF}"
    r"\x{3041}-\x{3096}\x{30A1}-\x{30FA}\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}"
    r"\x{1F300}-\x{1FAFF}]*$"
)


def adapt(node: exp.Expr) -> exp.Expr:
    """Return what stands for one node of a statement; raises `QueryError` where nothing does."""
    change = _CHANGES.get(type(node))
    return node if change is None else change(node)


def _cast(node: exp.Cast) -> exp.Expr:
    goal, given = node.to.this, node.this.type
    if goal == _Type.INT128:
        return _as(_inner(node.this), _WHOLE)
    if goal == _Type.BIGINT:
        # Straight from a text or an unsigned number, 64 bits wrap round without a warning.
        return _as(_as(_inner(node.this), _WHOLE), "BIGINT")
    if goal == _Type.BOOLEAN:
        return _boolean(_inner(node.this))
    if goal == _Type.TIMESTAMP:
        return _guarded(_inner(node.this), _MOMENT_PATTERN, " is not TIMESTAMP")
    if goal == _Type.TEXT and given is not None and given.this in _ZONES:
        return _moment_text(_inner(node.this), _ZONES[given.this])
    return node


def _boolean(value: exp.Expr) -> exp.Expr:
    text = exp.Lower(this=exp.cast(value.copy(), "TEXT"))

    def is_one_of(words: tuple[str, ...]) -> exp.Expr:
        return exp.In(this=text.copy(), expressions=[exp.Literal.string(word) for word in words])

    case = exp.case().when(is_one_of(_TRUE), exp.true()).when(is_one_of(_FALSE), exp.false())
    return case.else_(_as(_told(value, " is not BOOLEAN"), "BIGINT"))


def _moment_text(value: exp.Expr, zone: str) -> exp.Expr:
    # As DuckDB writes it: of the fraction only the digits that there are.
    text: exp.Expr = exp.TimeToStr(this=value, format=exp.Literal.string("%Y-%m-%d %H:%M:%S.%f"))
    for last in "0.":
        text = exp.Trim(this=text, expression=exp.Literal.string(last), position="TRAILING")
    return _told(text, zone) if zone else text


def _int_div(node: exp.IntDiv) -> exp.Expr:
    # DIV is of 64 bits, and `/` rounds: what is left is taken off before.
    number, divisor = _inner(node.this), _inner(node.expression)
    rest = exp.Mod(this=exp.Paren(this=number), expression=exp.Paren(this=divisor))
    whole = exp.Paren(this=exp.Sub(this=exp.Paren(this=number.copy()), expression=rest))
    quotient = exp.Div(this=whole, expression=exp.Paren(this=divisor.copy()))
    return _as(quotient, _WHOLE)


def _regexp_like(node: exp.RegexpLike) -> exp.Expr:
    return _matches(_inner(node.this), node.expression.name)


def _normalize(node: exp.Normalize) -> exp.Expr:
    value = _inner(node.this)
    if node.meta.get("lenient"):
        return value
    unknown = _told(value.copy(), " may have another Unicode form, which MySQL cannot tell")
    known = exp.case().when(_matches(value.copy(), _COMPOSED_PATTERN), value)
    return known.else_(exp.cast(_as(unknown, "BIGINT"), "TEXT"))


def _count(node: exp.Count) -> exp.Expr:
    distinct = node.this
    if not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1:
        return node
    # Values that are equal by their collation are told apart by their bytes.
    value = _inner(distinct.expressions[0])
    both = [value, exp.cast(value.copy(), "BINARY")]
    return exp.Count(this=exp.Distinct(expressions=both))


def _time_to_str(node: exp.TimeToStr) -> exp.Expr:
    _codes(node.args["format"].name, _WRITTEN)
    return node


def _str_to_time(node: exp.StrToTime) -> exp.Expr:
    form = node.args["format"].name
    codes = _codes(form, _READ.keys())
    pattern = "".join(_READ.get(code) or re.escape(code.replace("%%", "%")) for code in codes)
    value = _inner(node.this)
    # A part that is not there would be 0.
    missing = [] if "%j" in codes else [code for code in ("%m", "%d") if code not in codes]
    if "%b" in codes or "%B" in codes:
        missing = [code for code in missing if code != "%m"]
    started = _concat(exp.Literal.string("01 " * len(missing)), value.copy()) if missing else value
    read = exp.StrToTime(
        this=started, format=exp.Literal.string("".join(f"{code} " for code in missing) + form)
    )
    # By way of its text, since a 31st of February comes through otherwise.
    return _guarded(value.copy(), f"^{pattern}$", f" is not {form}", exp.cast(read, "TEXT"))


def _codes(form: str, known: Any) -> list[str]:
    codes = _CODE.findall(form)
    for code in codes:
        if len(code) > 1 and code != "%%" and code not in known:
            raise QueryError(
                f"`format: {form}`: MySQL has nothing for {code}; known: {' '.join(sorted(known))}"
            )
    return codes


def _guarded(value: exp.Expr, pattern: str, told: str, read: exp.Expr | None = None) -> exp.Expr:
    """Return `read`, or the value itself, as a moment, if its text is like the pattern."""
    case = exp.case().when(
        _matches(exp.cast(value.copy(), "TEXT"), pattern), _as(read or value.copy(), _MOMENT)
    )
    return case.else_(_as(_told(value.copy(), told), _MOMENT))


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    # At the very end: `$` is also before a line feed there.
    text = exp.Literal.string(f"{pattern[:-1]}\\z" if pattern.endswith("$") else pattern)
    place = exp.Anonymous(this="REGEXP_INSTR", expressions=[value, text])
    return exp.Paren(this=exp.GT(this=place, expression=exp.Literal.number(0)))


def _told(value: exp.Expr, what: str) -> exp.Expr:
    return _concat(value, exp.Literal.string(what))


def _concat(*texts: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="CONCAT", expressions=list(texts))


def _as(value: exp.Expr, goal: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(goal, dialect="mysql"))


def _inner(node: exp.Expr) -> exp.Expr:
    """What a new node is made of has to be adapted here: `transform` does not go into it."""
    return sql.replaced(node, adapt)


_CHANGES: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Cast: _cast,
    exp.Count: _count,
    exp.IntDiv: _int_div,
    exp.Normalize: _normalize,
    exp.RegexpLike: _regexp_like,
    exp.StrToTime: _str_to_time,
    exp.TimeToStr: _time_to_str,
}

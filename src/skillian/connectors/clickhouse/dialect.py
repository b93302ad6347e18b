"""ClickHouse: what sqlglot does not translate itself.

ClickHouse returns a wrong value where other databases fail: it reads a text that is not a number as
NULL, reads 30 February as 1 March, cuts decimals and the times of a list, and lets sums and
integers overflow. Here each of these fails, or is exact. The connector's settings make names, joins
and aggregates standard.
"""

from sqlglot import exp

from skillian.connectors.dialects import Casts, Change, adapter, call, codes_of, filled, replaced

_Type = exp.DataType.Type
_WIDE = "Decimal(76, 0)"
_MOMENT = "DateTime64(6)"
_INTEGERS = frozenset({_Type.SMALLINT, _Type.INT, _Type.BIGINT})
_TIMESTAMPS = frozenset({_Type.TIMESTAMP, _Type.TIMESTAMPNTZ, _Type.DATETIME})
_MOMENTS = _TIMESTAMPS | {_Type.DATE, _Type.TIMESTAMPTZ}
# Sources of a cast that are never text.
_NUMBERS = (exp.AggFunc, exp.Binary, exp.Case, exp.Coalesce, exp.Null, exp.Paren, exp.Abs, exp.Neg)
# `v` is the value. A cast of a text that may be NULL, or to a type that may, is NULL if the text
# does not fit: only a cast of `assumeNotNull(v)` to another type fails.
_CHECKED = "if(isNull(v), NULL, {cast})"
_CAST = "CAST(assumeNotNull(v) AS {type})"
# The message of this cast names the value; the messages of others do not.
_FAILURE = "CAST(CAST(concat(toString(assumeNotNull(v)), ' is not {name}') AS Int64) AS {type})"
_INTEGER = (
    "if(isNull(accurateCastOrNull(assumeNotNull(v), '{type}')), {failure},"
    " accurateCast(assumeNotNull(v), '{type}'))"
)
# By its shortest text, so that a float 0.15 is 0.15, rounded half away from zero.
_ROUNDED = "CAST(round(CAST(toString(assumeNotNull(v)) AS Decimal(76, 38)), {scale}) AS {type})"
_DATE = (
    "if(ifNull(toString(CAST(assumeNotNull(v) AS Nullable(Date32)))"
    " = substring(toString(assumeNotNull(v)), 1, 10), false),"
    " CAST(assumeNotNull(v) AS Nullable(Date32)), {failure})"
)
_TIME = (
    "if(ifNull(startsWith(toString(CAST(assumeNotNull(v) AS Nullable(DateTime64(6)))),"
    " replaceOne(toString(assumeNotNull(v)), 'T', ' ')), false),"
    " CAST(assumeNotNull(v) AS Nullable(DateTime64(6))), {failure})"
)
_INSTANT = "CAST(toString(toTimeZone(v, 'UTC')) AS DateTime64(6))"
_MOMENT_TEXT = (
    "trim(TRAILING '.' FROM trim(TRAILING '0' FROM toString(CAST(v AS DateTime64(6{zone})))))"
)
_PARSED = (
    "if(isNull(v), NULL,"
    " CAST(toString(parseDateTime64(assumeNotNull(v), {format})) AS DateTime64(6)))"
)
_PART = "arrayElement(splitByString({delimiter}, ifNull(v, '')), {place})"
_READ = frozenset(["%Y", "%y", "%m", "%d", "%H", "%M", "%S", "%f", "%j", "%b"])
_WRITTEN = _READ | {"%a", "%I", "%p", "%G", "%V", "%u", "%w"}


def adapt(node: exp.Expr) -> exp.Expr:
    """The replacement of a node; raises `QueryError` where there is no equivalent."""
    if isinstance(node, exp.Query) and node.args.get("with_") is not None:
        return _materialized(node)
    return _change(node)


def _materialized(node: exp.Query) -> exp.Expr:
    # Otherwise a relation is computed again for each of its uses.
    uses = [table.name for table in node.find_all(exp.Table)]
    for relation in node.args["with_"].expressions:
        if uses.count(relation.alias) > 1:
            relation.set("materialized", True)  # noqa: FBT003 - sqlglot's interface
    return node


def _cast(node: exp.Cast) -> exp.Expr:
    if isinstance(node.this, exp.Literal) and node.this.is_number:
        # ClickHouse reads a number of more than 64 bits as a float.
        return _plain(exp.Literal.string(node.this.name), _name(node.to))
    if isinstance(node.this, _NUMBERS) and not isinstance(node.this, exp.DPipe):
        return _plain(_inner(node.this), _name(node.to))
    return _checked(node.this, _checked_cast(node))


def _checked_cast(node: exp.Cast) -> str:
    goal, name = node.to.this, _name(node.to)
    if goal in _INTEGERS:
        failure = _FAILURE.format(name=goal.value, type=name)
        return _INTEGER.format(type=name, failure=failure)
    if goal == _Type.DECIMAL and isinstance(node.this, exp.Column):
        scale = node.to.expressions[1].name if len(node.to.expressions) > 1 else 0
        return _ROUNDED.format(type=name, scale=scale)
    return _CAST.format(type=name)


def _decimal_text(node: exp.Cast) -> exp.Expr:
    # A cast to text drops trailing zeros.
    kind: exp.DataType = node.this.type
    scale = kind.expressions[1].copy() if len(kind.expressions) > 1 else exp.Literal.number(0)
    return call("toDecimalString", _inner(node.this), scale.this or scale)


def _to_moment(node: exp.Cast) -> exp.Expr:
    is_date = node.to.this == _Type.DATE
    kind = node.this.type
    if kind is not None and kind.this == _Type.TIMESTAMPTZ:
        moment = filled(_INSTANT, "clickhouse", v=_inner(node.this))
        return _plain(moment, "Date32") if is_date else moment
    if isinstance(node.this, exp.StrToTime | exp.Null) or (
        kind is not None and kind.this in _MOMENTS
    ):
        return _plain(_inner(node.this), "Date32" if is_date else _MOMENT)
    name, goal = ("DATE", "Date32") if is_date else ("TIMESTAMP", _MOMENT)
    failure = _FAILURE.format(name=name, type=goal)
    return _checked(node.this, (_DATE if is_date else _TIME).format(failure=failure))


def _function(node: exp.Anonymous) -> exp.Expr:
    if node.name.upper() != "SPLIT_PART":
        return node
    text, delimiter, place = node.expressions
    return filled(
        _PART.format(delimiter=delimiter.sql("clickhouse"), place=place),
        "clickhouse",
        v=_inner(text),
    )


def _in(node: exp.In) -> exp.Expr:
    # IN would cut the values to the digits of a column of times, or refuse them.
    if not all(isinstance(each, exp.Placeholder) for each in node.expressions or [node]):
        return node
    value = _inner(node.this)
    tests = [exp.EQ(this=value.copy(), expression=each) for each in node.expressions]
    return exp.Paren(this=exp.or_(*tests, copy=False))


def _time_to_str(node: exp.TimeToStr) -> exp.Expr:
    return call("formatDateTime", _inner(node.this), _format(node, _WRITTEN))


def _str_to_time(node: exp.StrToTime) -> exp.Expr:
    pattern = _format(node, _READ).sql("clickhouse")
    return filled(_PARSED.format(format=pattern), "clickhouse", v=_inner(node.this))


def _format(node: exp.Expr, known: frozenset[str]) -> exp.Literal:
    form: str = node.args["format"].name
    codes_of(form, known, "ClickHouse")
    return exp.Literal.string(form)


def _checked(value: exp.Expr, cast: str) -> exp.Expr:
    """A cast that fails for a value that does not fit, and is NULL only for NULL."""
    return filled(_CHECKED.format(cast=cast), "clickhouse", v=_inner(value))


def _plain(value: exp.Expr, goal: str) -> exp.Expr:
    # The setting `cast_keep_nullable` makes the result NULL for NULL.
    kind = exp.DataType.build(goal, dialect="clickhouse")
    kind.set("nullable", False)  # noqa: FBT003 - sqlglot's interface
    return exp.Cast(this=value, to=kind)


def _name(kind: exp.DataType) -> str:
    if kind.this == _Type.INT128:
        return _WIDE
    name = kind.copy()
    name.set("nullable", False)  # noqa: FBT003 - sqlglot's interface
    return name.sql("clickhouse")


def _inner(node: exp.Expr) -> exp.Expr:
    """Adapt the parts of a replacement, which `replaced` does not visit."""
    return replaced(node, adapt)


_CHANGES: dict[type[exp.Expr], Change] = {
    exp.Anonymous: _function,
    exp.Cast: _cast,
    exp.In: _in,
    exp.IntDiv: "CAST(toString(intDiv(v, w)) AS Decimal(76, 0))",
    exp.Lower: "lowerUTF8(v)",
    exp.Normalize: "normalizeUTF8NFC(v)",
    exp.Pad: "leftPadUTF8(v, w, x)",
    exp.StrToTime: _str_to_time,
    exp.Substring: "substringUTF8(v, w, x)",
    exp.Sum: "SUM(v * CAST('1' AS Decimal(76, 0)))",
    exp.TimeToStr: _time_to_str,
    # ClickHouse would turn the German sharp s into two letters.
    exp.Upper: "upperUTF8(replaceAll(v, 'ß', 'ẞ'))",
}
_CASTS: Casts = {
    _Type.TEXT: "CAST(v AS String)",
    (_Type.TEXT, _Type.DECIMAL): _decimal_text,
    (_Type.TEXT, _Type.TIMESTAMP): _MOMENT_TEXT.format(zone=""),
    (_Type.TEXT, _Type.TIMESTAMPTZ): f"concat({_MOMENT_TEXT}, '+00')".format(zone=", 'UTC'"),
    **dict.fromkeys((_Type.DATE, *_TIMESTAMPS), _to_moment),
}
_change = adapter("clickhouse", _CHANGES, _CASTS)

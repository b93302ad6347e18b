"""From a measure's value in one row to its exact aggregate.

A sum of whole numbers is a decimal without fraction; an average is a quotient of whole numbers,
rounded half away from zero to `AVERAGE_DIGITS` digits more than its values have. Nothing passes
through a binary float.
"""

from sqlglot import exp

from skillian.data import sql
from skillian.data.binding import MeasureTerm
from skillian.errors import QueryError

AVERAGE_DIGITS = 6

NAN = 2
"""The code of NaN; those of the infinities are 1 and -1."""

COUNTS = frozenset({"count", "count_distinct"})
_NUMBERS = frozenset({"integer", "decimal"})
_WITHOUT_SCALE = frozenset({"numeric", "decimal"})
# Types of whole numbers whose sum DuckDB returns as a binary float.
_INEXACT_SUMS = frozenset({"UHUGEINT"})


def result_scale(term: MeasureTerm) -> int:
    """Return how many digits after the point the aggregate needs.

    Raises `QueryError` where the value is not an exact number.
    """
    if term.definition.aggregation in COUNTS:
        return 0
    if term.type.kind == "float":
        raise QueryError(
            f"measure {term.name!r} is {term.type.sql}, a binary float, whose sums are not exact;"
            f" declare `expression: CAST({term.definition.column or '…'} AS DECIMAL(18,2))`"
        )
    if term.type.sql.lower() in _WITHOUT_SCALE:
        raise QueryError(
            f"measure {term.name!r} is {term.type.sql} without a scale; declare"
            f" `expression: CAST({term.definition.column or '…'} AS DECIMAL(18,2))`"
        )
    if term.type.kind not in _NUMBERS:
        raise QueryError(f"measure {term.name!r} is {term.type.sql}, which is not a number")
    more = AVERAGE_DIGITS if term.definition.aggregation == "avg" else 0
    return term.type.scale + more


def aggregate(term: MeasureTerm, value: exp.Expr, scale: int) -> exp.Expr:
    """Return the aggregate of `value` as a decimal with this scale (at least `result_scale`)."""
    match term.definition.aggregation:
        case "avg":
            return _average(_sum(term, value), value, term.type.scale, scale)
        case "sum":
            result: exp.Expr = _sum(term, value)
        case "min":
            result = exp.Min(this=value)
        case "max":
            result = exp.Max(this=value)
        case "count":
            result = exp.Count(this=value)
        case _:
            # As plain text: a column's collation may take two texts for one.
            text = exp.cast(value, "TEXT") if term.type.kind == "text" else value
            result = exp.Count(this=exp.Distinct(expressions=[text]))
    return sql.decimal(result, scale)


def finite(term: MeasureTerm, value: exp.Expr, code: exp.Expr | None, scale: int) -> exp.Expr:
    """Return the aggregate where it is a finite number, else NULL; `code` is that of a row."""
    total = aggregate(term, value, scale)
    special = code_of(term, value, code, scale)
    if special is None:
        return total
    return sql.decimal(exp.case().when(sql.is_null(special), total, copy=False), scale)


def code_of(
    term: MeasureTerm, value: exp.Expr, code: exp.Expr | None, scale: int
) -> exp.Expr | None:
    """Return the code of the aggregate: as databases order them, NaN is above all numbers."""
    if term.may_be_nan:
        nan = exp.EQ(this=aggregate(term, value, scale), expression=_nan())
        return exp.Paren(this=exp.case().when(nan, exp.Literal.number(NAN), copy=False))
    if code is None:
        return None
    highest, lowest = exp.Max(this=code.copy()), exp.Min(this=code.copy())
    if term.definition.aggregation in {"sum", "avg"}:
        case = _code_of_sum(highest, lowest)
    else:
        is_max = term.definition.aggregation == "max"
        first, beyond = (highest, (NAN, 1)) if is_max else (lowest, (-1,))
        case = exp.case()
        for each in beyond:
            case = case.when(sql.equals(first, each), exp.Literal.number(each), copy=False)
        nothing = sql.equals(exp.Count(this=value.copy()), 0)
        case = case.when(nothing, first.copy(), copy=False)
    return exp.Paren(this=case)


def _code_of_sum(highest: exp.Expr, lowest: exp.Expr) -> exp.Case:
    both = sql.all_of([sql.equals(highest, 1), sql.equals(lowest, -1)])
    nan = sql.any_of([sql.equals(highest, NAN), both])
    case = exp.case().when(nan, exp.Literal.number(NAN), copy=False)
    case = case.when(sql.equals(highest, 1), exp.Literal.number(1), copy=False)
    return case.when(sql.equals(lowest, -1), exp.Literal.number(-1), copy=False)


def _nan() -> exp.Expr:
    return exp.cast(exp.Literal.string("NaN"), "DECIMAL")


def _sum(term: MeasureTerm, value: exp.Expr) -> exp.Expr:
    inexact = term.type.sql in _INEXACT_SUMS
    return exp.Sum(this=sql.decimal(value.copy(), term.type.scale) if inexact else value.copy())


def _average(total: exp.Expr, value: exp.Expr, scale: int, result_scale: int) -> exp.Expr:
    # In whole numbers, because a quotient of decimals is a binary float in DuckDB:
    # sign(n) * ((2 * |n| + count) // (2 * count)) with n = sum * 10 ** result_scale.
    exact = sql.decimal(total, scale)
    numerator = exp.cast(exp.Mul(this=exact, expression=_power(result_scale)), "INT128")
    count = exp.Nullif(this=exp.Count(this=value.copy()), expression=exp.Literal.number(0))
    doubled = exp.Add(this=_twice(exp.Abs(this=numerator)), expression=count)
    quotient = exp.IntDiv(
        this=exp.Paren(this=doubled), expression=exp.Paren(this=_twice(count.copy()))
    )
    signed = exp.Mul(this=exp.Sign(this=numerator.copy()), expression=exp.Paren(this=quotient))
    unit = exp.cast(exp.Literal.string(f"1e-{result_scale}"), _fraction(result_scale))
    return sql.decimal(exp.Mul(this=sql.decimal(signed, 0), expression=unit), result_scale)


def _twice(value: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.Literal.number(2), expression=value)


def _power(scale: int) -> exp.Expr:
    return exp.cast(exp.Literal.number(10**scale), exp.DataType.build(f"DECIMAL({scale + 1}, 0)"))


def _fraction(scale: int) -> exp.DataType:
    return exp.DataType.build(f"DECIMAL({scale + 1}, {scale})")

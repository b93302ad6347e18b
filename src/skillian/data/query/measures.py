"""From a measure's value in one row to its exact aggregate.

A sum of whole numbers is a decimal without fraction; an average is a quotient of whole numbers,
rounded half away from zero to `AVERAGE_DIGITS` digits more than its values have. A binary float
counts as the shortest decimal that reads back as it, so 0.1 is 0.1, and sums do not depend on the
order. A `numeric` of PostgreSQL without a scale has that of its values. Next to each number there
may be a code for what a decimal cannot hold: NaN, or an infinity.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import call
from skillian.data import sql
from skillian.data.query.binding import BoundSource, MeasureTerm
from skillian.data.query.dimensions import UNSCALED
from skillian.data.query.filters import Condition, filtered_rows
from skillian.data.query.unfit import is_empty, not_numbers
from skillian.data.sql.values import fetch_tree
from skillian.errors import QueryError

AVERAGE_DIGITS = 6

NAN = 2
"""The code of NaN; the codes of the infinities are 1 and -1."""

COUNTS = frozenset({"count", "count_distinct"})
_NUMBERS = frozenset({"integer", "decimal"})
_WITHOUT_SCALE = frozenset({"numeric", "decimal"})
# The code of an aggregate: `c` is the code of a row, `n` the number of values.
_CODE_OF_SUM = """
CASE WHEN MAX(c) = 2 OR (MAX(c) = 1 AND MIN(c) = -1) THEN 2
WHEN MAX(c) = 1 THEN 1 WHEN MIN(c) = -1 THEN -1 END
"""
_CODES_OF = {
    "sum": _CODE_OF_SUM,
    "avg": _CODE_OF_SUM,
    "max": """
CASE WHEN MAX(c) = 2 THEN 2 WHEN MAX(c) = 1 THEN 1 WHEN n = 0 THEN MAX(c) END
""",
    "min": "CASE WHEN MIN(c) = -1 THEN -1 WHEN n = 0 THEN MIN(c) END",
}
_NAN = "CAST('NaN' AS DECIMAL)"
_CODE_OF_NAN = f"(CASE WHEN v = {_NAN} THEN 2 END)"
# In whole numbers, because a quotient of decimals is a binary float in DuckDB.
_ROUNDED = "SIGN(s) * ((2 * ABS(s) + NULLIF(n, 0)) DIV (2 * NULLIF(n, 0)))"
# Types of whole numbers whose sum DuckDB returns as a binary float.
_INEXACT_SUMS = frozenset({"UHUGEINT"})
_BIGINT_SUMS = frozenset({"spark", "databricks"})
"""The dialects in which a sum of 64-bit numbers has 64 bits, and fails beyond them."""


def result_scale(term: MeasureTerm) -> int:
    """The number of decimal places of the aggregate.

    Raises `QueryError` if the value is not an exact number.
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
    """The aggregate of `value` as a decimal with this scale (at least `result_scale`)."""
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
            # As plain text, since two texts may be equal in a column's collation.
            text = exp.cast(value, "TEXT") if term.type.kind == "text" else value
            result = exp.Count(this=exp.Distinct(expressions=[text]))
    return sql.decimal(result, scale)


def finite(term: MeasureTerm, value: exp.Expr, code: exp.Expr | None, scale: int) -> exp.Expr:
    """The aggregate, or NULL if it is not finite; `code` is the code of a row."""
    total = aggregate(term, value, scale)
    special = code_of(term, value, code, scale)
    if special is None:
        return total
    return sql.decimal(exp.case().when(sql.is_null(special), total, copy=False), scale)


def code_of(
    term: MeasureTerm, value: exp.Expr, code: exp.Expr | None, scale: int
) -> exp.Expr | None:
    """The code of the aggregate; as in databases, NaN is larger than all numbers."""
    if term.may_be_nan:
        return sql.template(_CODE_OF_NAN, v=aggregate(term, value, scale))
    if code is None:
        return None
    return sql.template(
        f"({_CODES_OF[term.definition.aggregation]})", c=code, n=exp.Count(this=value.copy())
    )


def of_one_row(term: MeasureTerm, value: exp.Expr) -> exp.Expr:
    """What `finite` returns for a group of one row, before the cast to a decimal."""
    if term.definition.aggregation in COUNTS:
        return sql.template("(CASE WHEN NOT v IS NULL THEN 1 ELSE 0 END)", v=value)
    if term.may_be_nan:
        return sql.template(f"(CASE WHEN v <> {_NAN} THEN v END)", v=value)
    return sql.decimal(value, 0) if term.type.sql in _INEXACT_SUMS else value


def code_of_one_row(term: MeasureTerm, value: exp.Expr, code: exp.Expr | None) -> exp.Expr | None:
    """What `code_of` returns for a group of one row."""
    return sql.template(_CODE_OF_NAN, v=value) if term.may_be_nan else code


def _sum(term: MeasureTerm, value: exp.Expr) -> exp.Expr:
    inexact = term.type.sql in _INEXACT_SUMS
    return exp.Sum(this=sql.decimal(value.copy(), term.type.scale) if inexact else value.copy())


def _average(total: exp.Expr, value: exp.Expr, scale: int, result_scale: int) -> exp.Expr:
    power = f"CAST({10**result_scale} AS DECIMAL({result_scale + 1}, 0))"
    unit = f"CAST('1e-{result_scale}' AS DECIMAL({result_scale + 1}, {result_scale}))"
    numerator = sql.template(f"CAST(s * {power} AS INT128)", s=sql.decimal(total, scale))
    rounded = sql.decimal(sql.template(_ROUNDED, s=numerator, n=exp.Count(this=value.copy())), 0)
    return sql.decimal(sql.template(f"w * {unit}", w=rounded), result_scale)


_CODES = {"nan": NAN, "inf": 1, "infinity": 1, "-inf": -1, "-infinity": -1}
_SPECIAL_NUMBERS = {NAN: Decimal("NaN"), 1: Decimal("Infinity"), -1: Decimal("-Infinity")}
_NARROW = frozenset({"float", "real"})
"""Names of 32-bit floats in databases."""


def number_of(value: Decimal | None, code: object) -> Decimal | None:
    """The number that a decimal and a code represent."""
    return value if code is None else _SPECIAL_NUMBERS[int(str(code))]


async def exact_measures(
    source: BoundSource, names: Iterable[str], where: Sequence[Condition] = ()
) -> tuple[MeasureTerm, ...]:
    """Measures with exact values; `where` restricts the rows that are considered.

    Raises as `BoundSource.measures`, and `QueryError` for floats with too many digits and for
    values that are not numbers.
    """
    return tuple([await _exact(source, term, where) for term in await source.measures(names)])


async def _exact(source: BoundSource, term: MeasureTerm, where: Sequence[Condition]) -> MeasureTerm:
    dialect = source.connector.dialect
    if term.definition.aggregation in COUNTS:
        return term
    if term.type.kind == "decimal" and dialect == "postgres":
        return replace(term, may_be_nan=True)
    if dialect in _BIGINT_SUMS and term.type.sql == "bigint":
        return replace(term, value=sql.decimal(term.value, 0))
    is_float = term.type.kind == "float" and dialect in floats.EXACT
    if is_float or term.type.sql == UNSCALED:
        return await _decimal_of(source, term, where)
    if term.type.kind == "text" and await is_empty(source, term.value):
        return replace(
            term, value=sql.decimal(term.value, 0), type=ColumnType("decimal", "DECIMAL(38,0)")
        )
    if term.type.kind == "text":
        raise QueryError(f"source {source.name}: {await not_numbers(source, term)}")
    return term


async def _decimal_of(
    source: BoundSource, term: MeasureTerm, where: Sequence[Condition]
) -> MeasureTerm:
    parameters = sql.BoundValues()
    rows = filtered_rows(source, {"value": term.value}, where, parameters)
    value = sql.bare("value")
    finite = sql.is_null(_code(value))
    largest = exp.Select(
        expressions=[
            sql.named(exp.Max(this=exp.case().when(finite, part, copy=False)), name)
            for name, part in (
                ("fraction", _fraction_digits(value, term.type)),
                ("size", exp.Abs(this=value)),
            )
        ]
    )
    row = await fetch_one(
        source, largest.from_(rows.subquery(sql.name("rows"), copy=False)), parameters
    )
    fraction = max(int(row["fraction"] or 0), 0)
    whole = len(str(int(Decimal(str(row["size"] or 0)))))
    if fraction + whole > sql.MAX_DIGITS:
        column = term.definition.column or "…"
        raise QueryError(
            f"source {source.name}: measure {term.name!r} is {term.type.sql}, whose"
            f" values take {whole} digits before the point and {fraction} after it, more than the"
            f" {sql.MAX_DIGITS} of a decimal; declare how to round them in a sources.yaml:"
            f" `expression: CAST({column} AS DECIMAL(38,{max(sql.MAX_DIGITS - whole - 6, 0)}))`"
        )
    code = _code(term.value)
    exact = sql.decimal(_printed(term.value, term.type), fraction)
    return replace(
        term,
        value=exp.case().when(sql.is_null(code), exact, copy=False),
        type=ColumnType("decimal", f"DECIMAL({sql.MAX_DIGITS},{fraction})", fraction),
        code=code,
        float_type=term.type.sql if term.type.kind == "float" else "",
    )


def _printed(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    """The text of a decimal; of a float the shortest one that reads back as it.

    The type gives dialects the width of a float.
    """
    value = value.copy()
    if kind.kind != "float":
        return sql.as_text(value)
    value.type = exp.DataType.build("FLOAT" if kind.sql.lower() in _NARROW else "DOUBLE")
    return exp.cast(value, "TEXT")


def _code(value: exp.Expr) -> exp.Expr:
    cases = " ".join(f"WHEN t = '{written}' THEN {code}" for written, code in _CODES.items())
    return sql.template(f"(CASE {cases} END)", t=exp.Lower(this=sql.as_text(value.copy())))


def _fraction_digits(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    """The number of decimal places of a printed float, exponent included."""
    text = exp.Lower(this=_printed(value, kind))
    return sql.template(
        "LENGTH(TRIM(TRAILING '0' FROM f)) - COALESCE(CAST(NULLIF(e, '') AS INT), 0)",
        f=_part(_part(text, "e", 1), ".", 2),
        e=_part(text, "e", 2),
    )


def _part(text: exp.Expr, delimiter: str, place: int) -> exp.Expr:
    parts = exp.Literal.string(delimiter), exp.Literal.number(place)
    return call("SPLIT_PART", text.copy(), *parts)


async def fetch_one(
    source: BoundSource, select: exp.Select, parameters: sql.BoundValues
) -> Mapping[str, Any]:
    """The only row of a statement, without the time limit of a query."""
    rows = await fetch_tree(source.connector, select, parameters.values)
    return rows[0]

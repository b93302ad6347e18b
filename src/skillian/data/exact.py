"""Measures as exact numbers: what binary floats print, and what is not a finite number.

A binary float counts as the shortest decimal that reads back as it, so 0.1 is 0.1, and sums do not
depend on the order. Next to each number there may be a code for what no decimal holds: NaN, or an
infinity.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import arrow, sql
from skillian.data.binding import BoundSource, MeasureTerm
from skillian.data.compile import prepare
from skillian.data.filters import Condition
from skillian.data.measures import COUNTS, NAN
from skillian.data.selection import filtered_rows
from skillian.data.unfit import is_empty, not_numbers
from skillian.errors import QueryError

_CODES = {"nan": NAN, "inf": 1, "infinity": 1, "-inf": -1, "-infinity": -1}
_NUMBERS = {NAN: Decimal("NaN"), 1: Decimal("Infinity"), -1: Decimal("-Infinity")}
_DIALECTS = frozenset({"duckdb", "postgres", "spark"})
"""Where a float prints all of the digits that tell it from others."""
_NARROW = frozenset({"float", "real"})
"""What databases call a float of 32 bits."""


def number_of(value: Decimal | None, code: object) -> Decimal | None:
    """Return the number that a decimal and a code stand for."""
    return value if code is None else _NUMBERS[int(str(code))]


def _printed(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    """Return the shortest text that reads back as a float; its type tells dialects the width."""
    value = value.copy()
    value.type = exp.DataType.build("FLOAT" if kind.sql.lower() in _NARROW else "DOUBLE")
    return exp.cast(value, "TEXT")


async def exact_measures(
    source: BoundSource, names: Iterable[str], where: Sequence[Condition] = ()
) -> tuple[MeasureTerm, ...]:
    """Return measures whose values are exact, with `where` the only rows that are asked for.

    Raises as `BoundSource.measures`, and `QueryError` for floats of too many digits and for what
    is not a number.
    """
    return tuple([await _exact(source, term, where) for term in await source.measures(names)])


async def _exact(source: BoundSource, term: MeasureTerm, where: Sequence[Condition]) -> MeasureTerm:
    dialect = source.connector.dialect
    if term.definition.aggregation in COUNTS:
        return term
    if term.type.kind == "decimal" and dialect == "postgres":
        return replace(term, may_be_nan=True)
    if term.type.kind == "float" and dialect in _DIALECTS:
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
    parameters = sql.Parameters()
    rows = filtered_rows(source, {"value": term.value}, where, parameters)
    value = sql.bare("value")
    finite = sql.is_null(_code(value))
    found = exp.Select(
        expressions=[
            sql.named(exp.Max(this=exp.case().when(finite, part, copy=False)), name)
            for name, part in (
                ("fraction", _fraction_digits(value, term.type)),
                ("size", exp.Abs(this=value)),
            )
        ]
    )
    row = await ask_one(
        source, found.from_(rows.subquery(sql.name("rows"), copy=False)), parameters
    )
    fraction = max(int(row["fraction"] or 0), 0)
    whole = len(str(int(row["size"] or 0)))
    if fraction + whole > sql.MAX_DIGITS:
        column = term.definition.column or "…"
        raise QueryError(
            f"source {source.name}: measure {term.name!r} is {term.type.sql}, a binary float whose"
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
        float_type=term.type.sql,
    )


def _code(value: exp.Expr) -> exp.Expr:
    text = exp.Lower(this=sql.as_text(value.copy()))
    case = exp.case()
    for written, code in _CODES.items():
        case = case.when(sql.is_text(text, written), exp.Literal.number(code), copy=False)
    return exp.Paren(this=case)


def _fraction_digits(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    """Return how many digits after the point a float prints, its exponent counted in."""
    text = exp.Lower(this=_printed(value, kind))
    fraction = exp.Trim(
        this=_part(_part(text, "e", 1), ".", 2),
        expression=exp.Literal.string("0"),
        position="TRAILING",
    )
    exponent = exp.Nullif(this=_part(text, "e", 2), expression=exp.Literal.string(""))
    shifted = exp.Coalesce(this=exp.cast(exponent, "INT"), expressions=[sql.zero()])
    return exp.Sub(this=exp.Length(this=fraction), expression=shifted)


def _part(text: exp.Expr, delimiter: str, place: int) -> exp.Expr:
    given = [text.copy(), exp.Literal.string(delimiter), exp.Literal.number(place)]
    return exp.Anonymous(this="SPLIT_PART", expressions=given)


async def ask_one(
    source: BoundSource, select: exp.Select, parameters: sql.Parameters
) -> Mapping[str, Any]:
    """Return the only row of a statement, however long it takes."""
    connector = source.connector
    statement = prepare(select, connector.dialect, parameters.values)
    found: list[dict[str, Any]] = []
    async with aclosing(connector.stream(statement.text, statement.parameters)) as batches:
        async for batch in batches:
            found += arrow.rows(batch)
    return found[0]

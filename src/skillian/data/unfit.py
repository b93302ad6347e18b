"""Which values a conversion does not take, as SQL that does not fail at them."""

import re
from collections.abc import Sequence

from sqlglot import exp

from skillian.data import arrow, sql
from skillian.data.binding import BoundSource, MeasureTerm
from skillian.data.compile import compile_sql

_SHOWN = 5
_LONGEST = 40
_SIGNS = "€$£%"
_COMMA = re.compile(r"[+-]?[0-9]{1,3}(\.?[0-9]{3})*,[0-9]{1,2}")


def unfit_test(value: exp.Expr, dialect: str) -> exp.Expr | None:
    """Return the test for rows in which `value` cannot be made; None where that cannot be asked.

    DuckDB can try a conversion; elsewhere only those can be tested that stand in a CASE of
    their own, with the pattern of what fits.
    """
    if dialect == "duckdb":
        there = [sql.negated(sql.is_null(column)) for column in value.find_all(exp.Column)]
        return sql.all_of([*there, sql.is_null(_tried(value))])
    for case in value.find_all(exp.Case):
        fits = case.args["ifs"][0].this
        if isinstance(fits, exp.RegexpLike):
            return sql.negated(fits)
    return None


async def not_numbers(source: BoundSource, term: MeasureTerm) -> str:
    """Return why a text is no measure: which values are not numbers, and what to do."""
    told = f"measure {term.name!r} is {term.type.sql}, which is not a number"
    column = term.definition.column
    if source.connector.dialect != "duckdb" or column is None:
        return told
    value = sql.bare("value")
    number = exp.TryCast(this=value, to=exp.DataType.build(f"DECIMAL({sql.MAX_DIGITS}, 10)"))
    bad = sql.all_of([sql.negated(sql.is_null(value)), sql.is_null(number)])
    rows = source.rows(exp.Select(expressions=[sql.named(term.value.copy(), "value")]))
    found = exp.Select(expressions=[sql.named(exp.cast(value.copy(), "TEXT"), "value")])
    found.from_(rows.subquery(sql.name("rows"), copy=False), copy=False)
    text = compile_sql(found.where(bad).limit(_SHOWN), "duckdb")
    values = [str(row["value"]) for row in arrow.rows(await source.connector.run(text, {}))]
    if not values:
        return f"{told}; declare `expression: CAST({column} AS DECIMAL(18,2))` in a sources.yaml"
    shown = ", ".join(repr(each[:_LONGEST]) for each in dict.fromkeys(values))
    return (
        f"{told}: it holds {shown}. Correct these values, leave the place of one that is not known"
        " empty, or declare in a sources.yaml what they mean, such as"
        f" `expression: {_meant(column, values)}`"
    )


def _meant(column: str, values: Sequence[str]) -> str:
    """Return an expression that reads values such as these."""
    written = exp.column(column, quoted=not column.isidentifier()).sql("duckdb")
    found = f"TRIM({written})"
    if all(_COMMA.fullmatch(each.strip()) for each in values):
        found = f"REPLACE(REPLACE({found}, '.', ''), ',', '.')"
    elif any("," in each for each in values):
        found = f"REPLACE({found}, ',', '')"
    for sign in sorted({sign for each in values for sign in each if sign in _SIGNS}):
        found = f"REPLACE({found}, '{sign}', '')"
    for word in sorted({each.strip() for each in values if each.strip().isalpha()}):
        found = f"NULLIF({found}, '{word}')"
    return f"CAST({found} AS DECIMAL(18,2))"


def _tried(value: exp.Expr) -> exp.Expr:
    """Return the value with every conversion in it giving NULL in place of an error."""
    root = exp.Paren(this=value.copy())
    for read in [*root.find_all(exp.StrToTime)]:
        read.replace(exp.func("TRY_STRPTIME", read.this, read.args["format"]))
    for cast in [*root.find_all(exp.Cast)]:
        if type(cast) is exp.Cast:
            cast.replace(exp.TryCast(**cast.args))
    return root

"""Which values cannot be converted, by SQL that does not fail for them."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from skillian.connectors.base import ColumnType, Kind
from skillian.connectors.dialects import filled
from skillian.connectors.files.options import taken_options
from skillian.data import sql
from skillian.data.query.binding import BoundSource, MeasureTerm
from skillian.errors import QueryError

_SHOWN = 5
_LONGEST = 40
_SIGNS = "€$£%"
# A narrower type would silently drop digits of a value.
_FRACTION = 10
_NUMBER = f"DECIMAL({sql.MAX_DIGITS},{_FRACTION})"
_PLAIN = f"^{sql.PLAIN_NUMBER}$"
_PADDED = r"^[+-]?0[0-9]+(\.[0-9]*)?$"
# The types that a text is read as, to find the values that prevent it.
_READ = {**sql.DUCKDB_TYPES, "integer": "DECIMAL(38, 0)", "decimal": "DECIMAL(38, 10)"}
_SPECIAL = frozenset({"nan", "inf", "infinity"})
_COMMA = re.compile(r"[+-]?[0-9]{1,3}(\.?[0-9]{3})*,[0-9]{1,2}-?")
_DOTTED = re.compile(r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}")
_THOUSANDS = re.compile(r"[+-]?[0-9,]*[0-9](\.[0-9]*)?-?")


def unfit_test(value: exp.Expr, dialect: str) -> exp.Expr | None:
    """The test for rows whose `value` cannot be converted; None if there is no such test.

    DuckDB can try a conversion. Other databases can only test conversions inside a CASE with a
    pattern of valid texts.
    """
    if dialect == "duckdb":
        present = [sql.negated(sql.is_null(column)) for column in value.find_all(exp.Column)]
        return sql.all_of([*present, sql.is_null(_tried(value))])
    for case in value.find_all(exp.Case):
        fits = case.args["ifs"][0].this
        if isinstance(fits, exp.RegexpLike):
            return sql.negated(fits)
    return None


async def not_numbers(source: BoundSource, term: MeasureTerm) -> str:
    """Why text cannot be a measure: which values are not numbers, and the fix."""
    problem = f"measure {term.name!r} is {term.type.sql}, which is not a number"
    column = term.definition.column
    if source.connector.dialect != "duckdb" or column is None:
        return problem
    values = await misfits(source, term.value, ColumnType("decimal", _NUMBER, _FRACTION))
    holds = await what_text_holds(source, term.value, "decimal")
    return (
        f"{problem}{f': it holds {holds}' if holds else ''}. Correct these values, leave unknown"
        " ones empty, or declare in a sources.yaml what they mean, such as `expression:"
        f" {_suggestion(column, values)}"
    )


async def is_empty(source: BoundSource, value: exp.Expr) -> bool:
    """Whether a file's column is text only because it has no value, such as below a header.

    In a database the declared type counts, with or without rows.
    """
    from skillian.connectors.files.connector import FilesConnector  # noqa: PLC0415 - loads its libraries

    if not isinstance(source.connector, FilesConnector):
        return False
    return not await _values(source, value, sql.negated(sql.is_null(sql.bare("value"))), 1)


async def misfits(source: BoundSource, value: exp.Expr, goal: ColumnType) -> list[str]:
    """The first values that cannot be converted; empty if the search takes too long."""
    fails = f"NOT value IS NULL AND TRY_CAST(value AS {goal.sql}) IS NULL"
    return await _tried_values(source, value, filled(fails, "duckdb", value=sql.bare("value")))


async def what_text_holds(source: BoundSource, value: exp.Expr, kind: Kind) -> str:
    """The texts of a column that cannot be of a type, and what to do, for a message; or nothing."""
    if source.connector.dialect != "duckdb" or kind not in _READ:
        return ""
    values = await misfits(source, value, ColumnType(kind, _READ[kind]))
    if values:
        options = file_options(source, values, kind)
        advice = f"; add {options} to read them" if options else ""
        return f"{await described(source, value, values)}{advice}"
    padded = exp.RegexpLike(this=sql.bare("value"), expression=exp.Literal.string(_PADDED))
    is_exact = kind in {"integer", "decimal"}
    if is_exact and (values := await _tried_values(source, value, padded)):
        return f"{await described(source, value, values)}, whose zeros a number does not keep"
    values = await _unusual(source, value, _READ[kind])
    return f"{await described(source, value, values)} as text" if values else ""


async def _unusual(source: BoundSource, value: exp.Expr, kind: str) -> list[str]:
    """The first texts that a type does not write so, such as +1; without any, the first texts."""
    is_number = kind.startswith(("DECIMAL", "DOUBLE"))
    usual = (
        f"REGEXP_MATCHES(value, '{_PLAIN}')"
        if is_number
        else f"CAST(TRY_CAST(value AS {kind}) AS TEXT) = value"
    )
    for test in (f"NOT value IS NULL AND NOT {usual}", "NOT value IS NULL"):
        present = filled(test, "duckdb", value=sql.bare("value"))
        if values := await _tried_values(source, value, present):
            return values
    return []


async def described(source: BoundSource, value: exp.Expr, values: Sequence[str]) -> str:
    """The values for a message, the first one with its line or cell in a file."""
    from skillian.connectors.files.connector import FilesConnector  # noqa: PLC0415 - loads its libraries

    place = ""
    column, table = value.find(exp.Column), source.relation
    if isinstance(source.connector, FilesConnector) and column and isinstance(table, exp.Table):
        place = await source.connector.locate(table.name, column.name, values[0])
    named = [repr(each[:_LONGEST]) for each in dict.fromkeys(values)]
    named[0] += f" ({place})" if place else ""
    return ", ".join(named)


async def _tried_values(source: BoundSource, value: exp.Expr, test: exp.Expr) -> list[str]:
    try:
        return await _values(source, value, test, _SHOWN)
    except QueryError:
        return []


async def _values(source: BoundSource, value: exp.Expr, test: exp.Expr, limit: int) -> list[str]:
    rows = source.rows(exp.Select(expressions=[sql.named(value.copy(), "value")]))
    text = sql.select([sql.named(exp.cast(sql.bare("value"), "TEXT"), "value")], rows, "rows")
    found = await source.read(text.where(test).limit(limit), sql.BoundValues())
    return [str(row["value"]) for row in found]


def _written(column: str) -> str:
    return exp.column(column, quoted=not column.isidentifier()).sql("duckdb")


def file_options(source: BoundSource, values: Sequence[str], kind: Kind = "decimal") -> str:
    """The options of a file that read values such as these, for a message; or nothing."""
    from skillian.connectors.files.connector import FilesConnector  # noqa: PLC0415 - loads its libraries

    if not isinstance(source.connector, FilesConnector):
        return ""
    numbers = [each for each in values if any(sign.isdigit() for sign in each)]
    options: list[str] = []
    if kind == "date" and numbers and all(_DOTTED.fullmatch(each) for each in numbers):
        options = ["dates=%d.%m.%Y"]
    elif numbers and all(_COMMA.fullmatch(each) for each in numbers):
        options = ["decimal=,", *(["thousands=."] if any("." in each for each in numbers) else [])]
    elif _have_thousands(numbers):
        options = ["thousands=,"]
    elif numbers:
        return ""
    words = {*values} - {*numbers}
    if words & {"NaN", "inf", "-inf"}:
        return ""
    options += [f"null={word}" for word in sorted(words) if word.isalnum() or word == r"\N"]
    taken = taken_options(Path(source.relation.name.partition("#")[0]))
    if not options or any(option.partition("=")[0] not in taken for option in options):
        return ""
    return f"{shlex.quote('?' + '&'.join(options))} to the name or URL of the file"


def _have_thousands(numbers: Sequence[str]) -> bool:
    """Whether commas keep texts from being numbers; too many digits do, too, without any."""
    return any("," in each for each in numbers) and all(map(_THOUSANDS.fullmatch, numbers))


def _suggestion(column: str, values: Sequence[str]) -> str:
    """An expression that reads values such as these, and how it reads them."""
    if values and all(each.strip().lstrip("+-").lower() in _SPECIAL for each in values):
        return (
            f"CAST({_written(column)} AS DOUBLE)`, which keeps NaN and the infinities as they are"
        )
    expression = f"TRIM({_written(column)})"
    effect = f"rounds to {_FRACTION} digits after the point"
    stripped = [each.strip(f" {_SIGNS}") for each in values]
    numbers = [each for each in stripped if any(sign.isdigit() for sign in each)]
    if numbers and all(_COMMA.fullmatch(each) for each in numbers):
        expression = f"REPLACE(REPLACE({expression}, '.', ''), ',', '.')"
        effect += " and reads commas, not points, as decimal signs"
    elif _have_thousands(numbers):
        expression = f"REPLACE({expression}, ',', '')"
        effect += " and removes commas"
    for sign in sorted({sign for each in values for sign in each if sign in _SIGNS}):
        expression = f"TRIM(REPLACE({expression}, '{sign}', ''))"
    for word in sorted({*stripped} - {*numbers}):
        expression = f"NULLIF({expression}, {exp.Literal.string(word).sql('duckdb')})"
    return f"CAST({expression} AS {_NUMBER})`, which {effect}"


def _tried(value: exp.Expr) -> exp.Expr:
    """The value with each of its conversions returning NULL instead of an error."""
    root = exp.Paren(this=value.copy())
    for read in [*root.find_all(exp.StrToTime)]:
        read.replace(exp.func("TRY_STRPTIME", read.this, read.args["format"]))
    for cast in [*root.find_all(exp.Cast)]:
        if type(cast) is exp.Cast:
            cast.replace(exp.TryCast(**cast.args))
    return root

"""CSV files: exact column types from all values.

DuckDB's own detection is not used: in a file with one ragged row it takes each whole line for one
column, and it may skip what it takes for a comment or a title. Here a column is whole numbers only
if each value is written as the number itself is: `001` and `+1` are text. Numbers with a fraction
are decimals with the most digits found, never binary floats; they may have spaces around them, and
an exponent as programs print one (`1e-05`, `1.0E10`; `12E4` may be a code, and is text). Nothing
between two delimiters is NULL; `""` is an empty text.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb
from sqlglot import exp, parse_one

from skillian.connectors.base import ColumnType
from skillian.connectors.duckdb.engine import Cursor
from skillian.connectors.duckdb.types import column_type
from skillian.connectors.files.lines import CsvFormat, check_last_line, find_fault
from skillian.errors import QueryError

_MAX_DIGITS = 38
_SAMPLE_ROWS = 2048
_EXPRESSIONS = 1000
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_ZONE = "(Z|[+-][0-9]{2}(:[0-9]{2})?)"
_PLAIN = r"(0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+"
_SCIENTIFIC = r"[0-9](\.[0-9]+)?[eE][+-][0-9]{1,3}|[0-9]\.[0-9]+[eE][0-9]{1,3}"
# The test for each type, the narrowest type first. Whole numbers and dates are written in one way
# only: cast to the type and back, they are the same text.
_TESTS = {
    "BIGINT": "CAST(TRY_CAST(value AS BIGINT) AS TEXT) = value",
    "DECIMAL": rf"REGEXP_FULL_MATCH(value, ' *-?({_PLAIN}|{_SCIENTIFIC}) *')",
    "BOOLEAN": "value IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')",
    "DATE": "LENGTH(value) = 10 AND CAST(TRY_CAST(value AS DATE) AS TEXT) = value",
    "TIMESTAMP": f"REGEXP_FULL_MATCH(value, '{_DATE}[ T]{_TIME}')"
    " AND YEAR(TRY_CAST(value AS TIMESTAMP)) BETWEEN 1 AND 9999",
    "TIMESTAMP WITH TIME ZONE": f"REGEXP_FULL_MATCH(value, '{_DATE}[ T]{_TIME}{_ZONE}')"
    " AND YEAR(TRY_CAST(value AS TIMESTAMPTZ)) BETWEEN 1 AND 9999",
}
_MANTISSA = "SPLIT_PART(LOWER(LTRIM(TRIM(value), '-')), 'e', 1)"
_EXPONENT = "COALESCE(CAST(NULLIF(SPLIT_PART(LOWER(value), 'e', 2), '') AS INT), 0)"
_WHOLE_DIGITS = f"MAX(LENGTH(SPLIT_PART({_MANTISSA}, '.', 1)) + {_EXPONENT})"
_FRACTION_DIGITS = f"MAX(LENGTH(SPLIT_PART({_MANTISSA}, '.', 2)) - {_EXPONENT})"
_SPACED = "COUNT_IF(value <> TRIM(value))"

_NUMBERS = frozenset({"BIGINT", "DECIMAL"})
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"})
# For each column, the types that fit all of its values.
_Types = Mapping[str, tuple[str, ...]]


def csv_types(cursor: Cursor, path: Path, form: CsvFormat) -> dict[str, ColumnType]:
    """The columns of a file and their types, after reading all of it.

    Raises `QueryError` with the file and the line that is not CSV.
    """
    check_last_line(path, form)
    rows = exp.select("*").from_(_table(path, form))
    types: _Types = {
        name: tuple(kind for kind in _TESTS if name not in form.texts or kind in _MOMENTS)
        for name in form.names
    }
    try:
        # The first rows rule out most types; only the remaining ones are tried on all rows.
        types = _matching(cursor, rows.limit(_SAMPLE_ROWS), types, form)
        types = _matching(cursor, rows, types, form)
        decimals = _decimals(cursor, rows, types, form)
    except (duckdb.InvalidInputException, duckdb.NotImplementedException):
        raise QueryError(find_fault(path, form)) from None
    return {name: column_type(decimals.get(name) or _narrowest(types[name])) for name in types}


def csv_select(path: Path, form: CsvFormat, types: Mapping[str, ColumnType]) -> exp.Select:
    """The SELECT of a file's rows, with the columns in these types."""
    columns = [
        exp.cast(
            _number(name, form) if kind.kind in {"integer", "decimal"} else _column(name),
            exp.DataType.build(kind.sql, dialect="duckdb"),
        ).as_(name, quoted=True)
        for name, kind in types.items()
    ]
    return exp.select(*columns).from_(_table(path, form))


def file_pattern(path: Path) -> exp.Literal:
    """The path, with its links followed, as a pattern for DuckDB that matches only it."""
    return exp.Literal.string(re.sub(r"[*?\[]", r"[\g<0>]", os.path.realpath(path)))


def _table(path: Path, form: CsvFormat) -> exp.Table:
    types = [
        exp.PropertyEQ(this=exp.Literal.string(name), expression=exp.Literal.string("VARCHAR"))
        for name in form.names
    ]
    options = {
        "auto_detect": exp.false(),
        "delim": exp.Literal.string(form.delimiter),
        "quote": exp.Literal.string(form.options.quote),
        "escape": exp.Literal.string(form.options.quote),
        "nullstr": exp.Array(
            expressions=[exp.Literal.string(text) for text in ("", *form.options.null)]
        ),
        "comment": exp.Literal.string(""),
        "header": exp.true(),
        "allow_quoted_nulls": exp.false(),
        "strict_mode": exp.true(),
        "hive_partitioning": exp.false(),
        "columns": exp.Struct(expressions=types),
    }
    settings = [exp.EQ(this=exp.var(name), expression=value) for name, value in options.items()]
    arguments = [file_pattern(path), *settings]
    return exp.Table(this=exp.Anonymous(this="READ_CSV", expressions=arguments))


def _matching(cursor: Cursor, rows: exp.Select, types: _Types, form: CsvFormat) -> _Types:
    tests = [(name, kind) for name, kinds in types.items() for kind in kinds]
    counts = [exp.Count(this=_column(name)) for name in types]
    matching = [
        exp.CountIf(this=_about(name, _TESTS[kind], form if kind in _NUMBERS else None))
        for name, kind in tests
    ]
    row = _row(cursor, rows, [*counts, *matching])
    values = dict(zip(types, row, strict=False))
    matches = dict(zip(tests, row[len(values) :], strict=True))
    return {
        name: tuple(kind for kind in kinds if matches[name, kind] == values[name])
        for name, kinds in types.items()
    }


def _narrowest(types: tuple[str, ...]) -> str:
    # No value is of all types: such a column holds only NULLs.
    nothing = {*_MOMENTS} <= {*types}
    return "VARCHAR" if nothing or not types or types[0] == "DECIMAL" else types[0]


def _decimals(cursor: Cursor, rows: exp.Select, types: _Types, form: CsvFormat) -> dict[str, str]:
    """The types of the columns that are decimals, as far as they fit into 38 digits."""
    names = [name for name, kinds in types.items() if kinds[:1] == ("DECIMAL",)]
    if not names:
        return {}
    digits = iter(
        _row(
            cursor,
            rows,
            [
                _about(name, count, form)
                for name in names
                for count in (_WHOLE_DIGITS, _FRACTION_DIGITS, _SPACED)
            ],
        )
    )
    # Whole numbers with spaces around them may be codes that differ in the spaces.
    return {
        name: f"DECIMAL({_MAX_DIGITS},{max(scale, 0)})"
        for name, whole, scale, spaced in zip(names, digits, digits, digits, strict=True)
        if max(whole, 0) + max(scale, 0) <= _MAX_DIGITS and (scale > 0 or not spaced)
    }


def _row(cursor: Cursor, rows: exp.Select, columns: Sequence[exp.Expr]) -> tuple[int, ...]:
    # In several statements: the memory of one with thousands of expressions grows with them.
    values: list[int] = []
    for start in range(0, len(columns), _EXPRESSIONS):
        some = columns[start : start + _EXPRESSIONS]
        statement = exp.select(*some, copy=False).from_(rows.subquery("rows"), copy=False)
        values += cursor.execute(statement.sql("duckdb")).fetchall()[0]
    return tuple(values)


def _about(name: str, template: str, form: CsvFormat | None = None) -> exp.Expr:
    value = _column(name) if form is None else _number(name, form)

    def named(node: exp.Expr) -> exp.Expr:
        return value.copy() if isinstance(node, exp.Column) else node

    return _parsed(template).transform(named)


def _number(name: str, form: CsvFormat) -> exp.Expr:
    """A column's text with a point as its decimal sign, and without thousands."""
    column, point, comma = _column(name), form.options.decimal, form.options.thousands
    if point == "." and not comma:
        return column
    digits = rf"[0-9]{{1,3}}(?:{re.escape(comma)}[0-9]{{3}})+|[0-9]+" if comma else "[0-9]+"
    pattern = rf" *-?(?:{digits})?(?:{re.escape(point)}[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})? *"
    text: exp.Expr = column
    for sign, instead in ((comma, ""), (point, ".")):
        if sign:
            parts = [exp.Literal.string(part) for part in (sign, instead)]
            text = exp.Anonymous(this="REPLACE", expressions=[text.copy(), *parts])
    fits = exp.Anonymous(
        this="REGEXP_FULL_MATCH", expressions=[column.copy(), exp.Literal.string(pattern)]
    )
    other = exp.DPipe(this=exp.Literal.string("?"), expression=column.copy())
    return exp.Paren(this=exp.case().when(fits, text).else_(other))


@cache
def _parsed(template: str) -> exp.Expr:
    return parse_one(template, dialect="duckdb")


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)

"""CSV files: exact column types from all values.

DuckDB's own detection is not used: in a file with one ragged row it takes each whole line for one
column, and it may skip what it takes for a comment or a title. Here a column is whole numbers only
if each value is written as the number itself is: `001` and `+1` are text. Numbers with a fraction
are decimals with the most digits found, never binary floats; they may have spaces around them, and
an exponent as programs print one (`1e-05`, `1.0E10`, and `1e5` among other numbers; `12E4` may be
a code, and is text), or a trailing minus (`1.50-`). Nothing between two delimiters is NULL; `""` is
an empty text.
"""

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from threading import Lock

import duckdb
from cachetools import LRUCache, cached
from sqlglot import exp

from skillian.connectors.base import MAX_DIGITS, ColumnType
from skillian.connectors.dialects import call, filled
from skillian.connectors.duckdb.statement import Cursor, column_type
from skillian.connectors.files.lines import CsvFormat, check_last_line, find_fault
from skillian.errors import QueryError

_SAMPLE_ROWS = 2048
_SMALL_BYTES = 8_000_000
_MAX_FILES = 256
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6}0{0,3})?)?"
_ZONE = "(Z| UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
_PLAIN = r"(0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+"
_BARE = "[0-9]e[0-9]{1,3}"
_SCIENTIFIC = rf"[0-9](\.[0-9]+)?[eE][+-][0-9]{{1,3}}|[0-9]\.[0-9]+[eE][0-9]{{1,3}}|{_BARE}"
# The test for each type, the narrowest type first. Whole numbers and dates are written in one way
# only: cast to the type and back, they are the same text. A cast that fails takes long, so a text
# that looks like no time is not cast to one. A date comes before
# a number, since `dates=%Y%m%d` writes it as one.
_TESTS = {
    "DATE": "CASE WHEN LENGTH(value) = 10"
    " THEN CAST(TRY_CAST(value AS DATE) AS TEXT) = value ELSE FALSE END",
    "BIGINT": "CAST(TRY_CAST(value AS BIGINT) AS TEXT) = value",
    "DECIMAL": rf"REGEXP_FULL_MATCH(value, ' *-?({_PLAIN}|{_SCIENTIFIC}) *')",
    "BOOLEAN": "value IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')",
    "TIMESTAMP": f"CASE WHEN REGEXP_FULL_MATCH(value, '{_DATE}[ T]{_TIME}')"
    " THEN YEAR(TRY_CAST(value AS TIMESTAMP)) BETWEEN 1 AND 9999 ELSE FALSE END",
    "TIMESTAMP WITH TIME ZONE": f"CASE WHEN REGEXP_FULL_MATCH(value, '{_DATE}[ T]{_TIME}{_ZONE}')"
    " THEN YEAR(TRY_CAST(value AS TIMESTAMPTZ)) BETWEEN 1 AND 9999 ELSE FALSE END",
}
_MANTISSA = "SPLIT_PART(LOWER(LTRIM(TRIM(value), '-')), 'e', 1)"
_EXPONENT = "COALESCE(CAST(NULLIF(SPLIT_PART(LOWER(value), 'e', 2), '') AS INT), 0)"
_WHOLE_DIGITS = f"MAX(LENGTH(SPLIT_PART({_MANTISSA}, '.', 1)) + {_EXPONENT})"
_FRACTION_DIGITS = f"MAX(LENGTH(SPLIT_PART({_MANTISSA}, '.', 2)) - {_EXPONENT})"
_SPACED = "COUNT_IF(value <> TRIM(value))"
_CODES = f"COUNT_IF(REGEXP_FULL_MATCH(value, ' *-?{_BARE} *')) * 2 > COUNT(*)"
# A number is the shortest decimal of the nearest float if both have the same digits.
_FLOAT = "CAST(TRY_CAST(value AS DOUBLE) AS TEXT)"
_DIGITS = f"TRIM(REPLACE({_MANTISSA}, '.', ''), '0')"
_NOT_FLOATS = f"COUNT_IF({_DIGITS} IS DISTINCT FROM {_DIGITS.replace('value', _FLOAT)})"

_TRAILING_MINUS = "NUMERIC"
"""DECIMAL, by the name that stands for a column in which a number has a trailing minus."""
_NUMBERS = frozenset({"BIGINT", "DECIMAL", "DOUBLE", _TRAILING_MINUS})
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"})
# For each column, the types that fit all of its values.
_Types = Mapping[str, tuple[str, ...]]


def csv_types(cursor: Cursor, path: Path, form: CsvFormat) -> dict[str, ColumnType]:
    """The columns of a file and their types, after reading all of it.

    A column without a name and without values, such as after a last delimiter, is left out.
    Raises `QueryError` with the file and the line that is not CSV.
    """
    check_last_line(path, form)
    rows = exp.select("*").from_(_table(path, form), copy=False)
    types: _Types = {
        name: tuple(kind for kind in _TESTS if name not in form.texts or kind in _MOMENTS)
        for name in form.names
    }
    try:
        # The first rows rule out most types; only the remaining ones are tried on all rows.
        if path.stat().st_size > _SMALL_BYTES:
            types = _matching(cursor, rows.limit(_SAMPLE_ROWS), types, form)
        types = _matching(cursor, rows, types, form)
        decimals = _decimals(cursor, rows, types, form)
    except (duckdb.InvalidInputException, duckdb.NotImplementedException):
        raise QueryError(find_fault(path, form)) from None
    return {
        name: column_type(decimals.get(name) or _narrowest(kinds))
        for name, kinds in types.items()
        if name not in form.unnamed or not _has_nothing(kinds)
    }


def _same_types(_cursor: Cursor, _path: Path, form: CsvFormat, version: Hashable) -> Hashable:
    return form, version


@cached(LRUCache[Hashable, Mapping[str, ColumnType]](_MAX_FILES), key=_same_types, lock=Lock())
def types_once(
    cursor: Cursor,
    path: Path,
    form: CsvFormat,
    version: Hashable,  # noqa: ARG001 - part of the key
) -> Mapping[str, ColumnType]:
    """What `csv_types` returns, found once for each version of a file by all connectors."""
    return csv_types(cursor, path, form)


def csv_select(path: Path, form: CsvFormat, types: Mapping[str, ColumnType]) -> exp.Select:
    """The SELECT of a file's rows, with the columns in these types."""
    names = {kind.sql for kind in types.values()}
    goals = {name: exp.DataType.build(name, dialect="duckdb") for name in names}
    columns: list[exp.Expr] = []
    for name, kind in types.items():
        value = _written(name, form, kind.sql.partition("(")[0])
        cast = exp.Cast(this=value, to=goals[kind.sql].copy())
        columns.append(exp.alias_(cast, name, quoted=True, copy=False))
    return exp.select(*columns, copy=False).from_(_table(path, form), copy=False)


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
    return exp.Table(this=call("READ_CSV", file_pattern(path), *settings))


def _matching(cursor: Cursor, rows: exp.Select, types: _Types, form: CsvFormat) -> _Types:
    bits = {kind: 1 << place for place, kind in enumerate(_TESTS)}
    tried = [kind for kind in _TESTS if any(kind in kinds for kinds in types.values())]
    counts = [
        f"COUNT_IF(CASE WHEN kinds & {bits[kind]} > 0 THEN {_TESTS[kind]} END)" for kind in tried
    ]
    read = [_TRAILING_MINUS if kind == "DECIMAL" else kind for kind in tried]
    values = [_about_cell(count, form, kind) for kind, count in zip(read, counts, strict=True)]
    columns = {name: sum(bits[kind] for kind in kinds) for name, kinds in types.items()}
    found = _by_column(cursor, rows, columns, [exp.Count(this=exp.Star()), *values])
    matching = dict(types)
    for name, (total, *matches) in found.items():
        fitting = {kind for kind, count in zip(tried, matches, strict=True) if count == total}
        matching[name] = tuple(kind for kind in types[name] if kind in fitting)
    return matching


def _narrowest(types: tuple[str, ...]) -> str:
    return "VARCHAR" if _has_nothing(types) or not types or types[0] == "DECIMAL" else types[0]


def _has_nothing(types: tuple[str, ...]) -> bool:
    """Whether a column holds only NULLs: no value is of all types."""
    return {*_MOMENTS} <= {*types}


def _decimals(cursor: Cursor, rows: exp.Select, types: _Types, form: CsvFormat) -> dict[str, str]:
    """The types of the columns that are decimals of up to 38 digits, or floats."""
    names = [name for name, kinds in types.items() if kinds[:1] == ("DECIMAL",)]
    if not names:
        return {}
    tests = _WHOLE_DIGITS, _FRACTION_DIGITS, _SPACED, _CODES
    digits = [_about_cell(text, form, _TRAILING_MINUS) for text in tests]
    digits.append(filled("COUNT_IF(ENDS_WITH(RTRIM(v), '-'))", "duckdb", v=_column("value")))
    found = _by_column(cursor, rows, dict.fromkeys(names, 0), digits)
    kinds: dict[str, str] = {}
    wide: list[str] = []
    for name, (whole, scale, spaced, are_codes, trailing) in found.items():
        if are_codes:
            continue
        if max(whole, 0) + max(scale, 0) > MAX_DIGITS:
            wide += [name] if scale > 0 and not trailing else []
        elif scale > 0 or not spaced:  # whole numbers with spaces around them may be codes
            kind = _TRAILING_MINUS if trailing else "DECIMAL"
            kinds[name] = f"{kind}({MAX_DIGITS},{max(scale, 0)})"
    if wide:
        test = [_about_cell(_NOT_FLOATS, form, "DECIMAL")]
        others = _by_column(cursor, rows, dict.fromkeys(wide, 0), test)
        kinds |= {name: "DOUBLE" for name, (count,) in others.items() if not count}
    return kinds


def _by_column(
    cursor: Cursor, rows: exp.Select, columns: Mapping[str, int], aggregates: Sequence[exp.Expr]
) -> dict[str, tuple[int, ...]]:
    """Aggregates over the values of each column that has any.

    Each cell becomes a row, since planning an expression for each column takes a time that grows
    with the square of their number.

    Args:
        cursor: Runs the statement.
        rows: The rows of the file.
        columns: The columns, and what `kinds` is in an expression about a value of each.
        aggregates: The expressions, about `value`.
    """
    names = [*columns]
    lists: dict[str, list[exp.Expr]] = {
        "place": [exp.Literal.number(place) for place in range(len(names))],
        "kinds": [exp.Literal.number(kinds) for kinds in columns.values()],
        "value": [_column(name) for name in names],
    }
    unnested = [
        exp.alias_(call("UNNEST", exp.Array(expressions=items)), name, copy=False)
        for name, items in lists.items()
    ]
    cells = exp.select(*unnested, copy=False).from_(rows.subquery("rows", copy=False), copy=False)
    statement = exp.select("place", *aggregates, copy=False)
    statement = statement.from_(cells.subquery("cells", copy=False), copy=False)
    statement = statement.where("NOT value IS NULL", copy=False).group_by("place", copy=False)
    found = cursor.execute(statement.sql("duckdb")).fetchall()
    return {names[place]: tuple(values) for place, *values in found}


def _about_cell(template: str, form: CsvFormat, kind: str) -> exp.Expr:
    """An expression about the value of a type that is written in a cell."""
    return filled(template, "duckdb", value=_written("value", form, kind))


def _written(name: str, form: CsvFormat, kind: str) -> exp.Expr:
    """A column's text as a value of a type is usually written; any other text as it is."""
    if kind in _NUMBERS:
        return _number(_signed(name) if kind == _TRAILING_MINUS else _column(name), form)
    if kind == "DATE" and form.options.dates:
        template = "CASE WHEN STRFTIME(TRY_STRPTIME(value, how), how) = value"
        template += " THEN CAST(CAST(TRY_STRPTIME(value, how) AS DATE) AS TEXT) ELSE value END"
        how = exp.Literal.string(form.options.dates)
        return filled(template, "duckdb", value=_column(name), how=how)
    if kind == "TIMESTAMP WITH TIME ZONE":  # some programs write a space before the offset
        return filled("REPLACE(REPLACE(v, ' +', '+'), ' -', '-')", "duckdb", v=_column(name))
    return _column(name)


def _signed(name: str) -> exp.Expr:
    """A column's text, with a trailing minus, as SAP writes it, moved to the front."""
    case = "CASE WHEN ENDS_WITH(RTRIM(v), '-') THEN '-' || LTRIM(LEFT(RTRIM(v), -1)) ELSE v END"
    return filled(case, "duckdb", v=_column(name))


def _number(column: exp.Expr, form: CsvFormat) -> exp.Expr:
    """A text with a point as its decimal sign, and without thousands."""
    point, comma = form.options.decimal, form.options.thousands
    if point == "." and not comma:
        return column
    digits = rf"[0-9]{{1,3}}(?:{re.escape(comma)}[0-9]{{3}})+|[0-9]+" if comma else "[0-9]+"
    pattern = rf" *-?(?:{digits})?(?:{re.escape(point)}[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})? *"
    text = column
    for sign, instead in ((comma, ""), (point, ".")):
        if sign:
            parts = [exp.Literal.string(part) for part in (sign, instead)]
            text = call("REPLACE", text.copy(), *parts)
    case = "CASE WHEN REGEXP_FULL_MATCH(v, pattern) THEN plain ELSE '?' || v END"
    return filled(case, "duckdb", v=column, plain=text, pattern=exp.Literal.string(pattern))


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)

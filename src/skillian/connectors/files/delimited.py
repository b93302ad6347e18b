"""CSV files: what the first line says, exact column types from all values, and the line of a fault.

DuckDB's own detection is not used: in a file with one ragged row it takes each whole line for one
column, and it may skip what it takes for a comment or a title. Here a column is whole numbers only
if each value is written as the number itself is: `001` and `+1` are text. Numbers with a fraction
are decimals with the most digits found, never binary floats; they may have spaces around them, and
an exponent as programs print one (`1e-05`, `1.0E10`; `12E4` may be a code, and is text). Nothing
between two delimiters is NULL; `""` is an empty text.
"""

import csv
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TextIO

import duckdb
from sqlglot import exp, parse_one

from skillian.connectors.base import ColumnType
from skillian.connectors.duckdb.engine import Cursor
from skillian.connectors.duckdb.types import column_type
from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.prepared import Prepared
from skillian.errors import QueryError

# The first of several that fit equally well wins: a comma is most often part of a name.
_DELIMITERS = "\t;|,"
_MAX_HEADER = 1_000_000
_MAX_RECORDS = 1_000_000
# What DuckDB reads at most. A last line that is longer than its buffer it leaves out.
_MAX_LINE = 2_097_152
_TOO_LONG = f"it is longer than {_MAX_LINE} bytes, the most that a line may have"
_NOT_UTF8 = "it is not UTF-8 text; save it as UTF-8, or name its encoding, such as encoding=latin-1"
_VALUE = re.compile(r"|[+-]?[0-9]*[.,]?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_MAX_DIGITS = 38
_SAMPLE_ROWS = 2048
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
_DEFAULT = FileOptions()
# For each column, the types that fit all of its values.
_Types = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a file is written.

    Attributes:
        delimiter: What separates its cells.
        names: The names of its columns.
        options: What else its user says about it.
        name: The file's name, for messages about a copy of it.
        offset: How many lines the file has that its copy does not have.
        texts: The columns that are texts, even where they look like numbers.
    """

    delimiter: str
    names: tuple[str, ...]
    options: FileOptions = _DEFAULT
    name: str = ""
    offset: int = 0
    texts: frozenset[str] = frozenset()

    @property
    def header(self) -> str:
        """The line with the names, for a message."""
        return "first line" if self.options.header == 1 else "header"

    def place(self, path: Path, line: int) -> str:
        """Return a line of the file, for a message."""
        return f"{self.name or path.name}, line {line + self.offset}"


def read_format(
    path: Path, file: Prepared | None = None, options: FileOptions = _DEFAULT
) -> CsvFormat:
    """Return what the header says; raises `QueryError` for a file without one.

    Args:
        path: The file.
        file: Its copy, if it cannot be read as it is.
        options: What its user says about it.
    """
    file = file or Prepared(path)
    own = _DEFAULT if file.is_canonical else options
    with _opened(file.path) as opened:
        header = _first_record(opened, own.quote)
    line = f"{path.name}, line {1 + max(file.offset, 0)}"
    if len(header) > _MAX_HEADER:
        raise QueryError(f"{line}: its column names are longer than {_MAX_HEADER} characters")
    if not _is_utf8(header):
        raise QueryError(f"{line}: {_NOT_UTF8}")
    delimiters = own.delimiter or _DELIMITERS
    split = {delimiter: _cells(header, delimiter, own.quote) for delimiter in delimiters}
    # A quote inside an unquoted cell shows that the delimiter was part of a name.
    best = max(
        split,
        key=lambda delimiter: (_is_whole(header, delimiter, own.quote), len(split[delimiter])),
    )
    cells = split[best]
    if options.header and all(_VALUE.fullmatch(cell.strip()) for cell in cells):
        fix = ", or state header=0" if any(cells) else ""
        raise QueryError(f"{line}: it has no column names; write them into the first line{fix}")
    # With a single column, a line with commas below it is a fault and not a value.
    delimiter = best if len(cells) > 1 or own.delimiter else ","
    names = column_names(cells)
    return CsvFormat(delimiter, names, own, path.name, file.offset, file.texts)


def column_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Return names that differ in more than case, for a header's cells.

    Of two cells `a`, neither is named `a`, so that none is mistaken for the other: they are `a_1`
    and `a_2`. An empty cell is named by its position, such as `column_3`.
    """
    labels = [" ".join(cell.split()) or f"column_{place}" for place, cell in enumerate(cells, 1)]
    folded = [name.casefold() for name in labels]
    taken = {name for name in folded if folded.count(name) == 1}
    names: list[str] = []
    for name, key in zip(labels, folded, strict=True):
        chosen = name
        if folded.count(key) > 1:
            others = (f"{name}_{number}" for number in range(1, 2 * len(labels) + 2))
            chosen = next(other for other in others if other.casefold() not in taken)
            taken.add(chosen.casefold())
        names.append(chosen)
    return tuple(names)


def find_fault(path: Path, form: CsvFormat) -> str:
    """Return the file, the line and what is wrong with it, for a file that DuckDB rejected."""
    with _opened(path) as file:
        quote = form.options.quote
        lines = iter(lambda: file.readline(_MAX_LINE + 1), "")
        reader = csv.reader(lines, delimiter=form.delimiter, quotechar=quote, strict=True)
        csv.field_size_limit(_MAX_LINE)  # of this process; it is 131,072 by default
        while True:
            place = form.place(path, reader.line_num + 1)
            try:
                row = next(reader)
            except StopIteration:
                name = form.name or path.name
                return f"{name}: it is not CSV as RFC 4180 defines it; are line endings mixed?"
            except csv.Error as error:
                reason = _TOO_LONG if "field limit" in str(error) else str(error)
                return f"{place}: {reason}"
            text = form.delimiter.join(row)
            if not _is_utf8(text):
                return f"{place}: {_NOT_UTF8}"
            if len(text.encode()) > _MAX_LINE:
                return f"{place}: {_TOO_LONG}"
            if row and len(row) != len(form.names):
                values = "1 value" if len(row) == 1 else f"{len(row)} values"
                return (
                    f"{place}: it has {values}, but the {form.header} names"
                    f" {len(form.names)} columns"
                )


def _check_last_line(path: Path, form: CsvFormat) -> None:
    """Raise `QueryError` for a last line that is too long, which DuckDB may leave out silently."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END) - _MAX_LINE - 1
        if start <= 0:
            return
        file.seek(start)
        end = file.read().rstrip(b"\r\n")
    if b"\n" not in end and b"\r" not in end:
        raise QueryError(f"{form.name or path.name}, last line: {_TOO_LONG}")


def line_of(
    path: Path,
    column: str,
    value: str,
    file: Prepared | None = None,
    options: FileOptions = _DEFAULT,
) -> int | None:
    """Return the line of the first record with this text in a column; None if it is far below."""
    form = read_format(path, file, options)
    with _opened(path if file is None else file.path) as opened:
        reader = csv.reader(opened, delimiter=form.delimiter, quotechar=form.options.quote)
        place, line = form.names.index(column), 1
        try:
            for row in islice(reader, _MAX_RECORDS):
                if line > 1 and row[place : place + 1] == [value]:
                    return line + form.offset
                line = reader.line_num + 1
        except csv.Error:  # a field that is longer than Python's reader takes
            return None
    return None


def _opened(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _is_utf8(text: str) -> bool:
    """Whether a text was UTF-8 in the file: other bytes have become lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_record(file: TextIO, quote: str) -> str:
    """Return the first line, or several where a name is quoted and holds line ends."""
    record = ""
    while line := file.readline(_MAX_HEADER + 1):
        record += line
        if record.count(quote) % 2 == 0 or len(record) > _MAX_HEADER:
            break
    return record


def _is_whole(record: str, delimiter: str, quote: str) -> bool:
    """Whether each cell is quoted as a whole or not at all."""
    mark = re.escape(quote)
    cell = rf"(?:{mark}(?:[^{mark}]|{mark}{mark})*{mark}|[^{mark}{re.escape(delimiter)}]*)"
    return re.fullmatch(rf"{cell}(?:{re.escape(delimiter)}{cell})*\s*", record) is not None


def _cells(record: str, delimiter: str, quote: str) -> list[str]:
    lines = record.splitlines(keepends=True)
    rows = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    return next(rows, list[str]())


def csv_types(cursor: Cursor, path: Path, form: CsvFormat) -> dict[str, ColumnType]:
    """Return the columns of a file and their types, after reading all of it.

    Raises `QueryError` with the file and the line that is not CSV.
    """
    _check_last_line(path, form)
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
    """Return the SELECT of a file's rows, with the columns in these types."""
    columns = [
        exp.cast(
            _number(name, form) if kind.kind in {"integer", "decimal"} else _column(name),
            exp.DataType.build(kind.sql, dialect="duckdb"),
        ).as_(name, quoted=True)
        for name, kind in types.items()
    ]
    return exp.select(*columns).from_(_table(path, form))


def file_pattern(path: Path) -> exp.Literal:
    """Return the path, with its links followed, as a pattern for DuckDB that matches only it."""
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
    """Return the types of the columns that are decimals, as far as they fit into 38 digits."""
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


def _row(cursor: Cursor, rows: exp.Select, columns: Iterable[exp.Expr]) -> tuple[int, ...]:
    statement = exp.select(*columns).from_(rows.subquery("rows"))
    return cursor.execute(statement.sql("duckdb")).fetchall()[0]


def _about(name: str, template: str, form: CsvFormat | None = None) -> exp.Expr:
    value = _column(name) if form is None else _number(name, form)

    def named(node: exp.Expr) -> exp.Expr:
        return value.copy() if isinstance(node, exp.Column) else node

    return _parsed(template).transform(named)


def _number(name: str, form: CsvFormat) -> exp.Expr:
    """Return a column's text with a point as its decimal sign, and without thousands."""
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

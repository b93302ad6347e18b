"""The lines of CSV files: what the header says, and the line of a fault or a value."""

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.prepared import MAX_LINE, TOO_LONG, Prepared
from skillian.errors import QueryError

# The first of several that fit equally well wins: a comma is most often part of a name.
_DELIMITERS = "\t;|,"
_MAX_HEADER = 1_000_000
_MAX_RECORDS = 1_000_000
_NOT_UTF8 = "it is not UTF-8 text; save it as UTF-8, or name its encoding, such as encoding=latin-1"
_ENDS = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}
_FORMATS = {
    "PK\x03\x04": "a workbook or another ZIP archive; give a workbook the suffix .xlsx",
    "PAR1": "a Parquet file; give it the suffix .parquet",
}
_UNEVEN = "correct the line or put quotes around a value with a delimiter in it"
_FURTHER = ", or state the line of the names, such as header=2"
_UNCLOSED = "close it, or, if it is part of a value, put the value in quotes and write it twice"
_VALUE = re.compile(r"|[+-]?(?:[0-9]++(?:[.,][0-9]++)?|[.,][0-9]++)|[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_DEFAULT = FileOptions()


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
        unnamed: The columns whose names are only their positions.
    """

    delimiter: str
    names: tuple[str, ...]
    options: FileOptions = _DEFAULT
    name: str = ""
    offset: int = 0
    texts: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()

    @property
    def header(self) -> str:
        """The line with the names, for a message."""
        return "first line" if self.options.header == 1 else "header"

    def place(self, path: Path, line: int) -> str:
        """A line of the file, for a message."""
        return f"{self.name or path.name}, line {line + self.offset}"


def read_format(
    path: Path, file: Prepared | None = None, options: FileOptions = _DEFAULT
) -> CsvFormat:
    """What the header of a file, or of its copy, says; raises `QueryError` for one without."""
    file = file or Prepared(path)
    own = _DEFAULT if file.is_canonical else options
    with _opened(file.path) as opened:
        header = _first_record(opened, own.quote)
    line = f"{path.name}, line {1 + max(file.offset, 0)}"
    if len(header) > _MAX_HEADER:
        raise QueryError(f"{line}: its column names are longer than {_MAX_HEADER} characters")
    for start, other in _FORMATS.items():
        if header.startswith(start):
            raise QueryError(f"{path.name}: it is {other}")
    if not _is_utf8(header):
        raise QueryError(f"{line}: {_NOT_UTF8}")
    known = own.delimiter or file.delimiter
    delimiters = known or _DELIMITERS
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
    delimiter = best if len(cells) > 1 or known else ","
    names = column_names(cells)
    unnamed = frozenset(name for name, cell in zip(names, cells, strict=True) if not cell.strip())
    return CsvFormat(delimiter, names, own, path.name, file.offset, file.texts, unnamed)


def column_names(cells: Iterable[str]) -> tuple[str, ...]:
    """The names for a header's cells, `numbered`; an empty one is named by its position.

    Such a name is `column_3`.
    """
    return numbered(
        [" ".join(cell.split()) or f"column_{place}" for place, cell in enumerate(cells, 1)]
    )


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """The names, of which those that differ in case at most get a number.

    Of two `a`, neither is named `a`, so that none is mistaken for the other: they are `a_1` and
    `a_2`. They are numbered by their spelling first, so that `A` and `a` have the same names in
    two tables that have them in another order.
    """
    folded = [name.casefold() for name in labels]
    counts = Counter(folded)
    taken = {name for name in folded if counts[name] == 1}
    names = [*labels]
    for place in sorted(range(len(labels)), key=labels.__getitem__):
        if counts[folded[place]] > 1:
            others = (f"{labels[place]}_{number}" for number in range(1, 2 * len(labels) + 2))
            names[place] = next(other for other in others if other.casefold() not in taken)
            taken.add(names[place].casefold())
    return tuple(names)


def find_fault(path: Path, form: CsvFormat) -> str:
    """The file, the line and what is wrong with it, for a file that DuckDB rejected."""
    with _opened(path) as file:
        quote = form.options.quote
        lines = iter(lambda: file.readline(MAX_LINE + 1), "")
        reader = csv.reader(lines, delimiter=form.delimiter, quotechar=quote, strict=True)
        csv.field_size_limit(MAX_LINE)  # of this process; it is 131,072 by default
        while True:
            place = form.place(path, reader.line_num + 1)
            try:
                row = next(reader)
            except StopIteration:
                return _mixed_ends(path, form)
            except csv.Error as error:
                return f"{place}: {_reason(error)}"
            text = form.delimiter.join(row)
            if not _is_utf8(text):
                return f"{place}: {_NOT_UTF8}"
            if len(text.encode()) > MAX_LINE:
                return f"{place}: {TOO_LONG}"
            if row and len(row) != len(form.names):
                values = "1 value" if len(row) == 1 else f"{len(row)} values"
                names = "1 column" if len(form.names) == 1 else f"{len(form.names)} columns"
                fix = _UNEVEN + (_FURTHER if form.options.header == 1 else "")
                return f"{place}: it has {values}, but the {form.header} names {names}; {fix}"


def _mixed_ends(path: Path, form: CsvFormat) -> str:
    """The first line that does not end as those above it."""
    with _opened(path) as file:
        first, is_open = "", False
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), ""), 1):
            is_open ^= line.count(form.options.quote) % 2 == 1
            end = line[len(line.rstrip("\r\n")) :]
            first = first or end
            if end not in ("", first) and not is_open:
                return (
                    f"{form.place(path, number)}: it ends with {_ENDS[end]}, and the lines above"
                    f" with {_ENDS[first]}; save the file with one kind of line ending"
                )
    return f"{form.name or path.name}: it is not CSV as RFC 4180 defines it"


def _reason(error: csv.Error) -> str:
    """Why Python's reader refuses a record, and what to do."""
    text = str(error)
    if "field limit" in text:
        return TOO_LONG
    return f"a quote is opened and not closed; {_UNCLOSED}" if "end of data" in text else text


def check_last_line(path: Path, form: CsvFormat) -> None:
    """Raise `QueryError` for a last line that is too long, which DuckDB may leave out silently."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END) - MAX_LINE - 1
        if start <= 0:
            return
        file.seek(start)
        end = file.read().rstrip(b"\r\n")
    if b"\n" not in end and b"\r" not in end:
        raise QueryError(f"{form.name or path.name}, last line: {TOO_LONG}")


def line_of(
    path: Path,
    column: str,
    value: str,
    file: Prepared | None = None,
    options: FileOptions = _DEFAULT,
) -> int | None:
    """The line of the first record with this text in a column; None if it is far below."""
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
    """The first line, or several where a name is quoted and holds line ends."""
    record = ""
    while line := file.readline(_MAX_HEADER + 1):
        record += line
        if record.count(quote) % 2 == 0 or len(record) > _MAX_HEADER:
            break
    return record


def _is_whole(record: str, delimiter: str, quote: str) -> bool:
    """Whether each cell is quoted as a whole or not at all."""
    mark = re.escape(quote)
    cell = rf"(?:{mark}(?:[^{mark}]++|{mark}{mark})*+{mark}|[^{mark}{re.escape(delimiter)}]*+)"
    return re.fullmatch(rf"{cell}(?:{re.escape(delimiter)}{cell})*+\s*+", record) is not None


def _cells(record: str, delimiter: str, quote: str) -> list[str]:
    lines = record.splitlines(keepends=True)
    rows = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    return next(rows, list[str]())

"""What the first line of a CSV file says, and which line of it is at fault.

DuckDB's own detection is not used: of a file with one ragged row it takes all of each line for
one column, and it may skip what it takes for a comment or a title.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from skillian.errors import QueryError

# Of equally good ones the first: a comma is found within names most often.
_DELIMITERS = "\t;|,"
_MAX_HEADER = 1_000_000
_NOT_UTF8 = "it is not UTF-8 text; save it as UTF-8"
_VALUE = re.compile(r"|[+-]?[0-9]*[.,]?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*")


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a file is written: its delimiter and the names of its columns."""

    delimiter: str
    names: tuple[str, ...]


def read_format(path: Path) -> CsvFormat:
    """Return what the header tells; raises `QueryError` for a file without one."""
    with _opened(path) as file:
        header = _first_record(file)
    if not _is_utf8(header):
        raise QueryError(f"{path.name}, line 1: {_NOT_UTF8}")
    split = {delimiter: _cells(header, delimiter) for delimiter in _DELIMITERS}
    # A quote inside a cell that has none around it tells a delimiter that was part of a name.
    best = max(split, key=lambda delimiter: (_is_whole(header, delimiter), len(split[delimiter])))
    cells = split[best]
    if all(_VALUE.fullmatch(cell.strip()) for cell in cells):
        raise QueryError(
            f"{path.name}, line 1: it names no columns; write their names into the first line"
        )
    # Of a single column, so that a line with commas below it is a fault and no value.
    return CsvFormat(best if len(cells) > 1 else ",", column_names(cells))


def column_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Return names that differ in more than case, for a header's cells.

    Of `a` that is there twice neither is `a`, so that none is taken for the other: they are `a_1`
    and `a_2`. A cell without a text is `column_3`, by its place.
    """
    given = [" ".join(cell.split()) or f"column_{place}" for place, cell in enumerate(cells, 1)]
    folded = [name.casefold() for name in given]
    taken = {name for name in folded if folded.count(name) == 1}
    names: list[str] = []
    for name, key in zip(given, folded, strict=True):
        chosen = name
        if folded.count(key) > 1:
            others = (f"{name}_{number}" for number in range(1, 2 * len(given) + 2))
            chosen = next(other for other in others if other.casefold() not in taken)
            taken.add(chosen.casefold())
        names.append(chosen)
    return tuple(names)


def find_fault(path: Path, form: CsvFormat) -> str:
    """Return the file, the line and what is wrong with it, for a file that DuckDB refused."""
    with _opened(path) as file:
        reader = csv.reader(file, delimiter=form.delimiter, strict=True)
        while True:
            place = f"{path.name}, line {reader.line_num + 1}"
            try:
                row = next(reader)
            except StopIteration:
                return f"{path.name}: it is not CSV as RFC 4180 has it; are line endings mixed?"
            except csv.Error as error:
                return f"{place}: {error}"
            if not _is_utf8("".join(row)):
                return f"{place}: {_NOT_UTF8}"
            if row and len(row) != len(form.names):
                return (
                    f"{place}: it has {len(row)} values, but the first line names"
                    f" {len(form.names)} columns"
                )


def _opened(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _is_utf8(text: str) -> bool:
    """Whether a text was UTF-8 in the file: other bytes have become lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_record(file: TextIO) -> str:
    """Return the first line, or several where a name is quoted and holds line ends."""
    record = ""
    for line in file:
        record += line
        if record.count('"') % 2 == 0 or len(record) > _MAX_HEADER:
            break
    return record


def _is_whole(record: str, delimiter: str) -> bool:
    """Whether each cell is quoted as a whole or not at all."""
    cell = rf'(?:"(?:[^"]|"")*"|[^"{re.escape(delimiter)}]*)'
    return re.fullmatch(rf"{cell}(?:{re.escape(delimiter)}{cell})*\s*", record) is not None


def _cells(record: str, delimiter: str) -> list[str]:
    rows = csv.reader(record.splitlines(keepends=True), delimiter=delimiter)
    return next(rows, list[str]())

"""Rows as CSV and as Excel workbooks.

No text becomes a formula or a link in either.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import starmap
from typing import IO, TYPE_CHECKING, Any

from skillian.connectors.scratch import scratch
from skillian.data.sql.values import jsonable

if TYPE_CHECKING:
    from skillian.data.results.result import ComparisonResult


SHEET_ROWS = 1_000_000
"""How many rows a sheet holds; the rest are on further sheets."""
BYTE_ORDER_MARK = "\ufeff".encode()
"""Begins a CSV file, so that spreadsheets read it as UTF-8."""

Book = Any  # xlsxwriter has no types
Sheet = Any
Format = Any

_EXACT_DIGITS = 15
_LONGEST = 32_767
_WIDTH = 16
# An empty text until the lines are written, where it is not as no value: half a character.
_EMPTY = "\udc00"
# A spreadsheet takes a text that begins with one of these for a formula.
_FORMULA_START = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")


def csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    """Lines of CSV; a text that would be a formula gets a `'` in front."""
    return _written([_csv_cell(value) for value in row] for row in rows)


def csv_table(columns: Iterable[tuple[Sequence[Any], str]]) -> bytes:
    """Lines of CSV, as `csv_lines`, of columns with the names of their types in Arrow."""
    return _written(zip(*starmap(_csv_column, columns), strict=True))


def _written(rows: Iterable[Iterable[object]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().replace(_EMPTY, '""').encode(errors="replace")


def _csv_column(values: Sequence[Any], kind: str) -> Iterable[object]:
    """The cells of a column; the writer leaves None empty, and writes whole numbers as they are."""
    if kind.startswith(("int", "uint")):
        return values
    if kind.startswith("decimal"):
        return [None if value is None else format(value, "f") for value in values]
    return map(_csv_cell, values)


def _csv_cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.lstrip(" ").startswith(_FORMULA_START) else value or _EMPTY
    return "" if value is None else jsonable(value)


class _BookFile:
    """The file of a workbook; after its first error nothing is written.

    Otherwise the archive, which is closed when it is no longer used, would fail again and print a
    traceback.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._error: OSError | None = None
        self._ended = False
        self._position = 0

    def write(self, content: bytes) -> int:
        if self._error is None and not self._ended:
            try:
                self._file.write(content)
            except OSError as error:
                self._error = error
        self._position += len(content)
        return len(content)

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if self._error is None and not self._ended:
            self._file.seek(position)
        self._position = position
        return position

    def flush(self) -> None:
        """What is written is flushed when the file is closed."""

    def end(self, error: OSError | None = None) -> None:
        """Write nothing more; raises the first error."""
        self._ended = True
        first = self._error or error
        if first is not None:
            raise first


class RowSheets:
    """Writes a workbook: rows on as many sheets as they need, and a summary.

    Args:
        file: Where the workbook goes.
        names: The names of the columns.
        summary: The names and values of the last sheet; without any there is none.
        sheet_rows: How many rows a sheet holds.
    """

    def __init__(
        self,
        file: IO[bytes],
        names: Sequence[str],
        summary: Sequence[tuple[str, object]] = (),
        sheet_rows: int = SHEET_ROWS,
    ) -> None:
        # Rows go to disk as they arrive, so memory does not grow with them.
        import xlsxwriter  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - another extra

        self._file = _BookFile(file)
        options = {"constant_memory": True, "tmpdir": str(scratch())}
        archive: Any = self._file  # has what an archive needs of a file
        self._book: Book = xlsxwriter.Workbook(archive, options)
        self._names = names
        self._amounts: dict[int, Format] = {}
        self._bold = self._book.add_format({"bold": True})
        self._sheet_rows = sheet_rows
        self._sheets = 0
        self._summary = summary
        self._sheet = self._add_sheet()

    def close(self) -> None:
        """Write the workbook to its file; raises `OSError`."""
        from xlsxwriter.exceptions import (  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
            FileCreateError,
        )

        if self._summary:
            self._summarise(self._summary)
        try:
            self._book.close()
        except FileCreateError as error:
            self._file.end(OSError(*error.args[0].args))
        self._file.end()

    def write(self, rows: Iterable[Iterable[object]]) -> None:
        """Write the values of rows."""
        for row in rows:
            if self._row > self._sheet_rows:
                self._sheet = self._add_sheet()
            for column, value in enumerate(row):
                _write(self._sheet, self._row, column, value, self._form_of(value))
            self._row += 1

    def _form_of(self, value: object) -> Format:
        """The format of an amount, by the number of its digits after the decimal point."""
        if not isinstance(value, Decimal):
            return None
        digits = len(str(jsonable(value)).partition(".")[2])
        if digits not in self._amounts:
            pattern = "#,##0" + ("." + "0" * digits if digits else "")
            self._amounts[digits] = self._book.add_format({"num_format": pattern})
        return self._amounts[digits]

    def _summarise(self, summary: Sequence[tuple[str, object]]) -> None:
        sheet = self._book.add_worksheet("Summary")
        sheet.set_column(0, 1, 2 * _WIDTH)
        for number, (name, value) in enumerate(summary):
            _write(sheet, number, 0, name, self._bold)
            _write(sheet, number, 1, value, self._form_of(value))

    def _add_sheet(self) -> Sheet:
        self._sheets += 1
        name = "Rows" if self._sheets == 1 else f"Rows {self._sheets}"
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(self._names) - 1, _WIDTH)
        for column, heading in enumerate(self._names):
            _write(sheet, 0, column, heading, self._bold)
        self._row = 1
        return sheet


def summary_of(result: ComparisonResult) -> Iterator[tuple[str, object]]:
    """The names and values of a summary."""
    yield "a", result.source_a
    yield "b", result.source_b
    yield "aligned on", ", ".join(result.key_columns)
    for condition in result.filters:
        values = ", ".join(str(jsonable(value)) for value in condition.values)
        yield "only", f"{condition.dimension} {condition.operator} {values}"
    yield "read at", result.started
    yield from ((name.replace("_", " "), count) for name, count in result.counts.items())
    yield from result.totals
    yield from (("", sentence) for sentence in result.sentences)
    yield "cache key", result.cache_key


def _write(sheet: Sheet, row: int, column: int, value: object, form: Format) -> None:
    if value is None:
        return
    text = str(jsonable(value))
    if isinstance(value, float):
        text = format(Decimal(repr(value)), "f")
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and _is_exact(text):
        sheet.write_number(row, column, float(text), form)
    else:
        sheet.write_string(row, column, _cut(text), form)


def _cut(text: str) -> str:
    """A text as a cell can hold it; one that is cut says so, and how long it is."""
    mark = f"… (cut: {len(text):,} characters)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - len(mark)] + mark


def _is_exact(number: str) -> bool:
    """Whether Excel keeps all digits of a number."""
    digits = number.lstrip("-").replace(".", "")
    return digits.isdecimal() and len(digits) <= _EXACT_DIGITS

"""Rows as CSV and as Excel workbooks, and the groups of a comparison in both.

No text becomes a formula or a link in either.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO, Any

from skillian.data.comparison.results import STATUSES, ComparisonResult
from skillian.data.comparison.rows import GroupRow
from skillian.data.sql.values import jsonable
from skillian.reports.words import STATUS

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
# A spreadsheet takes a text that begins with one of these for a formula.
_FORMULA_START = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")


def headings(result: ComparisonResult) -> list[str]:
    """The names of the columns: the dimensions, the class, the rows, and those of each measure."""
    names = [*result.proof.align_on, "class", "rows a", "rows b"]
    for measure in result.summary.measures:
        unit = f" ({measure.unit})" if measure.unit else ""
        names += [f"{measure.name} {part}{unit}" for part in ("a", "b", "b - a")]
        names += [f"{measure.name} %", f"{measure.name} class"]
    return names


def cells(row: GroupRow) -> Iterator[object]:
    """The values of one group; amounts are `Decimal`."""
    yield from row.key.values()
    yield STATUS[row.status]
    yield row.rows_a
    yield row.rows_b
    for each in row.measures:
        yield from (each.a, each.b, each.gap)
        yield each.percentage_diff
        yield STATUS[each.status]


async def write_csv(
    result: ComparisonResult, batches: AsyncIterable[Iterable[GroupRow]]
) -> AsyncIterator[bytes]:
    """Write CSV for spreadsheets: UTF-8 with a byte order mark, lines that end with CRLF.

    A text that would be a formula gets a `'` in front.

    Args:
        result: The comparison.
        batches: Its groups.

    Yields:
        Parts of the file.
    """
    yield BYTE_ORDER_MARK + csv_lines([headings(result)])
    async for batch in batches:
        yield csv_lines(cells(row) for row in batch)


def csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    """Lines of CSV; a text that would be a formula gets a `'` in front."""
    written = io.StringIO()
    csv.writer(written).writerows([_csv_cell(value) for value in row] for row in rows)
    return written.getvalue().encode(errors="replace")


def _csv_cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.lstrip(" ").startswith(_FORMULA_START) else value
    return "" if value is None else jsonable(value)


async def write_xlsx(
    file: IO[bytes],
    result: ComparisonResult,
    batches: AsyncIterable[Sequence[GroupRow]],
    sheet_rows: int = SHEET_ROWS,
) -> None:
    """Write a workbook; a number with more digits than Excel keeps is written as text.

    Args:
        file: Where the workbook goes.
        result: The comparison.
        batches: Its groups.
        sheet_rows: How many groups a sheet holds.
    """
    # Rows go to disk as they arrive, so memory does not grow with them.
    book = _workbook(file)
    bold = book.add_format({"bold": True})
    amounts = _Amounts(book)
    summary = book.add_worksheet("Summary")
    summary.set_column(0, 1, 2 * _WIDTH)
    for number, (name, value) in enumerate(_summary(result)):
        _write(summary, number, 0, name, bold)
        _write(summary, number, 1, value, amounts.format_of(value))
    groups = RowSheets(book, "Groups", headings(result), amounts, sheet_rows)
    async for batch in batches:
        await asyncio.to_thread(groups.write, map(cells, batch))
    await asyncio.to_thread(groups.close)


def _workbook(file: IO[bytes]) -> Book:
    import xlsxwriter  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - another extra

    return xlsxwriter.Workbook(file, {"constant_memory": True})


class _Amounts:
    """The formats of numbers, by the number of digits after the decimal point."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._formats: dict[int, Format] = {}

    def format_of(self, value: object) -> Format:
        if not isinstance(value, Decimal):
            return None
        digits = len(str(jsonable(value)).partition(".")[2])
        if digits not in self._formats:
            pattern = "#,##0" + ("." + "0" * digits if digits else "")
            self._formats[digits] = self._book.add_format({"num_format": pattern})
        return self._formats[digits]


class RowSheets:
    """Writes rows, on as many sheets as they need.

    Args:
        book: The workbook.
        title: The name of the first sheet; a number follows it on the others.
        names: Those of the columns.
        amounts: The formats of numbers.
        sheet_rows: How many rows a sheet holds.
    """

    def __init__(
        self,
        book: Book,
        title: str,
        names: Sequence[str],
        amounts: _Amounts,
        sheet_rows: int = SHEET_ROWS,
    ) -> None:
        self._book = book
        self._title = title
        self._names = names
        self._amounts = amounts
        self._bold = book.add_format({"bold": True})
        self._sheet_rows = sheet_rows
        self._sheets = 0
        self._sheet = self._add_sheet()

    @classmethod
    def of_file(cls, file: IO[bytes], title: str, names: Sequence[str]) -> RowSheets:
        """The sheets of a workbook that holds nothing else."""
        book = _workbook(file)
        return cls(book, title, names, _Amounts(book))

    def close(self) -> None:
        """Write the workbook to its file."""
        self._book.close()

    def write(self, rows: Iterable[Iterable[object]]) -> None:
        """Write the values of rows."""
        for row in rows:
            if self._row > self._sheet_rows:
                self._sheet = self._add_sheet()
            for column, value in enumerate(row):
                _write(self._sheet, self._row, column, value, self._amounts.format_of(value))
            self._row += 1

    def _add_sheet(self) -> Sheet:
        self._sheets += 1
        name = self._title if self._sheets == 1 else f"{self._title} {self._sheets}"
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(self._names) - 1, _WIDTH)
        for column, heading in enumerate(self._names):
            _write(sheet, 0, column, heading, self._bold)
        self._row = 1
        return sheet


def _summary(result: ComparisonResult) -> Iterator[tuple[str, object]]:
    yield "a", result.source_a
    yield "b", result.source_b
    yield "aligned on", ", ".join(result.proof.align_on)
    for condition in result.proof.filters:
        values = ", ".join(str(jsonable(value)) for value in condition.values)
        yield "only", f"{condition.dimension} {condition.operator} {values}"
    yield "read at", result.proof.snapshot
    counts = result.summary.classes.to_dict()
    yield "groups", sum(counts.values())
    for status in STATUSES:
        yield STATUS[status], counts[status]
    for measure in result.summary.measures:
        yield f"{measure.name}: total of a", measure.total_a
        yield f"{measure.name}: total of b", measure.total_b
        yield f"{measure.name}: b - a", measure.net_difference
        yield f"{measure.name}: |b - a|", measure.gross_difference
    for sentence in result.interpretation:
        yield "", sentence
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
        sheet.write_string(row, column, text[:_LONGEST], form)


def _is_exact(number: str) -> bool:
    """Whether Excel keeps all digits of a number."""
    digits = number.lstrip("-").replace(".", "")
    return digits.isdecimal() and len(digits) <= _EXACT_DIGITS

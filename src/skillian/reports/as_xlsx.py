"""A comparison as an Excel workbook: what was compared, and the groups.

Every text is written as a text: none becomes a formula or a link.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO, Any

import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]

from skillian.data.comparison.results import STATUSES, ComparisonResult
from skillian.data.comparison.rows import GroupRow
from skillian.data.sql.values import jsonable
from skillian.reports.columns import cells, headings
from skillian.reports.words import STATUS

SHEET_ROWS = 1_000_000
"""How many groups a sheet holds; the next ones are in another."""

Book = Any  # xlsxwriter carries no types
Sheet = Any
Format = Any

_EXACT_DIGITS = 15
_LONGEST = 32_767
_WIDTH = 16


async def write_xlsx(
    file: IO[bytes],
    result: ComparisonResult,
    batches: AsyncIterable[Sequence[GroupRow]],
    sheet_rows: int = SHEET_ROWS,
) -> None:
    """Write the workbook; a number of more digits than Excel keeps is written as a text."""
    # Rows go to disk as they come, so memory does not grow with them.
    book: Book = xlsxwriter.Workbook(file, {"constant_memory": True})
    bold = book.add_format({"bold": True})
    amounts = _Amounts(book)
    summary = book.add_worksheet("Summary")
    summary.set_column(0, 1, 2 * _WIDTH)
    for number, (name, value) in enumerate(_summary(result)):
        _write(summary, number, 0, name, bold)
        _write(summary, number, 1, value, amounts.format_of(value))
    groups = _Groups(book, headings(result), amounts, bold, sheet_rows)
    async for batch in batches:
        await asyncio.to_thread(groups.write, batch)
    await asyncio.to_thread(book.close)


class _Amounts:
    """The formats of numbers, by how many digits they have after the point."""

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


class _Groups:
    """Writes groups, on as many sheets as they take."""

    def __init__(
        self,
        book: Book,
        names: Sequence[str],
        amounts: _Amounts,
        bold: Format,
        sheet_rows: int,
    ) -> None:
        self._book = book
        self._names = names
        self._amounts = amounts
        self._bold = bold
        self._sheet_rows = sheet_rows
        self._sheets = 0
        self._sheet = self._next()

    def write(self, rows: Iterable[GroupRow]) -> None:
        for row in rows:
            if self._row > self._sheet_rows:
                self._sheet = self._next()
            for column, value in enumerate(cells(row)):
                _write(self._sheet, self._row, column, value, self._amounts.format_of(value))
            self._row += 1

    def _next(self) -> Sheet:
        self._sheets += 1
        name = "Groups" if self._sheets == 1 else f"Groups {self._sheets}"
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
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and _is_exact(text):
        sheet.write_number(row, column, float(text), form)
    else:
        sheet.write_string(row, column, text[:_LONGEST], form)


def _is_exact(number: str) -> bool:
    """Whether Excel keeps all digits of a number."""
    return len(number.lstrip("-").replace(".", "")) <= _EXACT_DIGITS

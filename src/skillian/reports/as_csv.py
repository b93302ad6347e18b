"""The groups of a comparison as CSV, as spreadsheets read it: UTF-8 with its mark, CRLF lines."""

import csv
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterable

from skillian.data.comparison.results import ComparisonResult
from skillian.data.comparison.rows import GroupRow
from skillian.data.sql.values import jsonable
from skillian.reports.columns import cells, headings

# A spreadsheet takes what begins with these for a formula.
_ACTIVE = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")


async def write_csv(
    result: ComparisonResult, batches: AsyncIterable[Iterable[GroupRow]]
) -> AsyncIterator[bytes]:
    """Give the file, some lines at a time; a text that would be a formula follows a `'`."""
    yield "\ufeff".encode() + _lines([headings(result)])
    async for batch in batches:
        yield _lines(cells(row) for row in batch)


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue().encode(errors="replace")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.lstrip(" ").startswith(_ACTIVE) else value
    return "" if value is None else jsonable(value)

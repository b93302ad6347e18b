"""Excel workbooks as Arrow tables: the first row of a sheet names its columns.

A number in a workbook is a binary float; its shortest text is what was typed, and is read as an
exact decimal. A cell that holds an error is NULL, like an empty one. A column with a cell whose
value is not in the file is not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile, is_zipfile
from zlib import error as zlib_error

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum

from skillian.connectors.arrow import arrow
from skillian.connectors.base import MAX_DIGITS
from skillian.connectors.files.lines import column_names
from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.prepared import TOO_PACKED, unpacked_limit
from skillian.connectors.files.sheet_xml import Place, WorkbookXml, letters_of
from skillian.errors import QueryError


@dataclass(frozen=True, slots=True)
class UnreadCell:
    """A cell whose value is not known; `reason` says why, after the name of the cell."""

    reason: str


Cell = int | float | str | bool | time | date | datetime | timedelta | UnreadCell


_DEFAULT = FileOptions()
_INT64_DIGITS = 18
_DAMAGED = (BadZipFile, KeyError, ParseError, ValueError, zlib_error)
_UNREADABLE = "it is not a workbook that can be read"
_NO_RESULT = UnreadCell(
    "has a formula whose result is not in the file; open the file in a spreadsheet program and"
    " save it"
)
_NO_DATE = UnreadCell(
    "has a number below zero, which is neither a date nor a time; correct it, or its format"
)


class Worksheet(NamedTuple):
    """The table of a worksheet.

    Attributes:
        name: The name of the file, or `file#sheet` for all but the first.
        rows: A `pyarrow.Table`.
        unread: The columns that cannot be read, which are NULL in `rows`, and why.
    """

    name: str
    rows: Any
    unread: Mapping[str, str]


class _Grid(NamedTuple):
    """The cells of a sheet from its header on; `top` and `left` place the first of them, from 0."""

    top: int
    left: int
    rows: Sequence[Sequence[Cell]]
    unread: Mapping[Place, UnreadCell] = MappingProxyType({})

    @property
    def columns(self) -> dict[str, int]:
        """The index of each column by its name; a column has a name or a value."""
        names = column_names(_text(cell) for cell in self.rows[0])
        cells = zip(names, zip(*self.rows, strict=True), strict=True)
        return {
            name: index
            for index, (name, column) in enumerate(cells)
            if any(cell != "" for cell in column)
        }

    def why_unread(self, index: int) -> str:
        """Why a column cannot be read; empty if it can."""
        places = [place for place in self.unread if place[1] == self.left + index]
        if not places:
            return ""
        row, column = min(places)
        return f"cell {letters_of(column)}{row + 1} {self.unread[row, column].reason}"


def read_workbook(path: Path, options: FileOptions = _DEFAULT) -> Iterator[Worksheet]:
    """Yield each worksheet that has rows; the first is that of `options.sheet`.

    Raises `QueryError` for a file that is not a workbook, or one that is protected by a password.
    """
    _check_size(path)
    try:
        with CalamineWorkbook.from_path(path) as book:  # pyright: ignore[reportUnknownMemberType]
            sheets = [m.name for m in book.sheets_metadata if m.typ == SheetTypeEnum.WorkSheet]
            if options.sheet and options.sheet not in sheets:
                raise QueryError(
                    f"{path.name}: it has no sheet {options.sheet!r}; its sheets:"
                    f" {', '.join(sheets)}"
                )
            for index, sheet in enumerate([options.sheet] if options.sheet else sheets):
                grid = _grid(path, book.get_sheet_by_name(sheet), options)
                if grid.rows:
                    name = f"{path.name}#{sheet}" if index else path.name
                    yield Worksheet(name, *_table(grid, options))
    except PasswordError:
        raise QueryError(f"{path.name}: it is protected by a password; save it without") from None
    except CalamineError:
        raise QueryError(f"{path.name}: {_UNREADABLE}") from None


def _check_size(path: Path) -> None:
    """Raise `QueryError` for a workbook whose content is far larger than the file."""
    with suppress(BadZipFile), ZipFile(path) as parts:  # .xls is not a ZIP file
        size = sum(part.file_size for part in parts.infolist())
        if size > unpacked_limit(path.stat().st_size):
            raise QueryError(f"{path.name}: {TOO_PACKED}; if that is right, save it as CSV")


def cell_of(
    path: Path, table: str, column: str, value: str, options: FileOptions = _DEFAULT
) -> str | None:
    """The name of the first cell of a column with this text, such as `C17`; None if unknown."""
    with (
        suppress(CalamineError),  # the file has just changed
        CalamineWorkbook.from_path(path) as book,  # pyright: ignore[reportUnknownMemberType]
    ):
        name = options.sheet or table.removeprefix(path.name).partition("#")[2]
        sheet = book.get_sheet_by_name(name) if name else book.get_sheet_by_index(_first(book))
        grid = _grid(path, sheet, options)
        index = grid.columns.get(column)
        for number, record in enumerate(grid.rows[1:], grid.top + 2):
            if index is not None and _text(record[index]) == value:
                return f"{letters_of(grid.left + index)}{number}"
    return None


def _first(book: CalamineWorkbook) -> int:
    kinds = [sheet.typ for sheet in book.sheets_metadata]
    return kinds.index(SheetTypeEnum.WorkSheet)


def _grid(path: Path, sheet: Any, options: FileOptions) -> _Grid:
    """The cells of a sheet from its header on; without one, one with the columns' letters."""
    top, left = sheet.start or (0, 0)
    grid = _Grid(top, left, sheet.to_python())
    if is_zipfile(path):  # .xls is none
        try:
            with ZipFile(path) as parts:
                grid = _with_unread(grid, WorkbookXml(parts), sheet.name)
        except _DAMAGED:
            raise QueryError(f"{path.name}: {_UNREADABLE}") from None
    top, left, rows, unread = grid
    if options.header == 0:
        letters = [letters_of(left + index) for index in range(len(rows[0]))] if rows else []
        return _Grid(top - 1, left, [letters, *rows] if rows else [], unread)
    top = max(top, options.header - 1)
    below = {place: cell for place, cell in unread.items() if place[0] >= top}
    return _Grid(top, left, rows[top - grid.top :], below)


def _with_unread(grid: _Grid, xml: WorkbookXml, sheet: str) -> _Grid:
    """The cells with those whose values are not known, which may be outside of the others."""
    unread: dict[Place, UnreadCell] = {}
    if any(isinstance(cell, time) for row in grid.rows for cell in row):
        for row, column in xml.negative_numbers(sheet):
            if isinstance(grid.rows[row - grid.top][column - grid.left], time):
                unread[row, column] = _NO_DATE
    unread |= dict.fromkeys(xml.formulas_without_result(sheet), _NO_RESULT)
    if not unread:
        return grid
    places = [*unread]
    if grid.rows:
        last = grid.top + len(grid.rows) - 1, grid.left + len(grid.rows[0]) - 1
        places += [(grid.top, grid.left), last]
    rows, columns = zip(*places, strict=True)
    top, left = min(rows), min(columns)
    cells: list[list[Cell]] = [[""] * (max(columns) - left + 1) for _ in range(max(rows) - top + 1)]
    for line, known in zip(cells[grid.top - top :], grid.rows, strict=False):
        line[grid.left - left : grid.left - left + len(known)] = known
    for (row, column), cell in unread.items():
        cells[row - top][column - left] = cell
    return _Grid(top, left, cells, unread)


def _table(grid: _Grid, options: FileOptions) -> tuple[Any, dict[str, str]]:
    """The rows as a `pyarrow.Table`, and why columns cannot be read."""
    records = [["" if cell in options.null else cell for cell in row] for row in grid.rows[1:]]
    filled = [record for record in records if any(cell != "" for cell in record)]
    columns = [*zip(*filled, strict=True)] if filled else [()] * len(grid.rows[0])
    named = grid.columns
    reasons = {name: grid.why_unread(index) for name, index in named.items()}
    arrays = {
        name: arrow.nulls(len(filled), arrow.string()) if reasons[name] else _array(columns[index])
        for name, index in named.items()
    }
    return arrow.table(arrays), {name: reason for name, reason in reasons.items() if reason}


def _array(cells: Sequence[Cell]) -> Any:
    """A column in the narrowest type that holds all of its cells exactly."""
    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return _numbers(values)
    if kinds == {bool}:
        return arrow.array(values, arrow.bool_())
    if kinds == {date}:
        return arrow.array(values, arrow.date32())
    if kinds and kinds <= {date, datetime}:
        return arrow.array([_moment(value) for value in values], arrow.timestamp("us"))
    return arrow.array(
        [None if value is None else _text(value) for value in values], arrow.string()
    )


def _numbers(values: Sequence[Any]) -> Any:
    exact = [None if value is None else Decimal(repr(value)).normalize() for value in values]
    places = [number.as_tuple() for number in exact if number is not None]
    scale = max(max(-int(place.exponent), 0) for place in places)
    whole = max(len(place.digits) + int(place.exponent) for place in places)
    if scale + max(whole, 0) > MAX_DIGITS:
        return arrow.array(values, arrow.float64())
    if scale == 0 and whole <= _INT64_DIGITS:
        return arrow.array(
            [None if number is None else int(number) for number in exact], arrow.int64()
        )
    return arrow.array(exact, arrow.decimal128(MAX_DIGITS, scale))


def _moment(value: Any) -> datetime | None:
    """A date among times is midnight: Excel shows it without its time."""
    if value is None or isinstance(value, datetime):
        return value
    return datetime.combine(value, time.min)


def _text(value: Cell) -> str:
    if isinstance(value, UnreadCell):  # of a header
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format(Decimal(repr(value)).normalize(), "f")
    if isinstance(value, timedelta):
        hours, rest = divmod(abs(value), timedelta(hours=1))
        return f"{'-' if value < timedelta() else ''}{hours}:{str(rest).partition(':')[2]}"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)

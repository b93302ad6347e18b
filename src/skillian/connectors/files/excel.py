"""Excel workbooks as Arrow tables: the first row of a sheet names its columns.

A number in a workbook is a binary float; its shortest text is what was typed, and is read as an
exact decimal. A cell that holds an error is NULL, like an empty one.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum

from skillian.connectors.arrow import arrow
from skillian.connectors.base import MAX_DIGITS
from skillian.connectors.files.lines import column_names
from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.prepared import TOO_PACKED, unpacked_limit
from skillian.errors import QueryError

Cell = int | float | str | bool | time | date | datetime | timedelta


_DEFAULT = FileOptions()
_INT64_DIGITS = 18


def read_workbook(path: Path, options: FileOptions = _DEFAULT) -> Iterator[tuple[str, Any]]:
    """Yield each worksheet that has rows: the name of its table and a `pyarrow.Table`.

    The first table, or that of `options.sheet`, has the name of the file, the others `file#sheet`.
    Raises `QueryError` for a
    file that is not a workbook, or one that is protected by a password.
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
                rows = _rows(book.get_sheet_by_name(sheet), options)
                if rows:
                    yield f"{path.name}#{sheet}" if index else path.name, _table(rows, options)
    except PasswordError:
        raise QueryError(f"{path.name}: it is protected by a password; save it without") from None
    except CalamineError:
        raise QueryError(f"{path.name}: it is not a workbook that can be read") from None


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
        header, *records = _rows(sheet, options)
        top, left = sheet.start or (0, 0)
        top = max(top, options.header - 1) if options.header else top - 1
        place = column_names(_text(cell) for cell in header).index(column)
        for number, record in enumerate(records, top + 2):
            if _text(record[place]) == value:
                return f"{_letters(left + place)}{number}"
    return None


def _first(book: CalamineWorkbook) -> int:
    kinds = [sheet.typ for sheet in book.sheets_metadata]
    return kinds.index(SheetTypeEnum.WorkSheet)


def _letters(column: int) -> str:
    """The letters of a column by its index: 0 is A, 26 is AA."""
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _rows(sheet: Any, options: FileOptions) -> list[Sequence[Cell]]:
    """The rows of a sheet from its header on; without one, one with the columns' letters."""
    rows: list[Sequence[Cell]] = sheet.to_python()
    top, left = sheet.start or (0, 0)
    if options.header == 0:
        return [[_letters(left + place) for place in range(len(rows[0]))], *rows] if rows else []
    return rows[max(options.header - 1 - top, 0) :]


def _table(rows: Sequence[Sequence[Cell]], options: FileOptions) -> Any:
    header, *records = rows
    records = [["" if cell in options.null else cell for cell in record] for record in records]
    names = column_names(_text(cell) for cell in header)
    filled = [record for record in records if any(cell != "" for cell in record)]
    columns = zip(*filled, strict=True) if filled else [()] * len(names)
    return arrow.table(dict(zip(names, map(_array, columns), strict=True)))


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
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format(Decimal(repr(value)).normalize(), "f")
    if isinstance(value, timedelta):
        hours, rest = divmod(abs(value), timedelta(hours=1))
        return f"{'-' if value < timedelta() else ''}{hours}:{str(rest).partition(':')[2]}"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)

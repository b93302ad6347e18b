"""Checks a workbook before it is read: how much it unpacks to, and how many cells it spans.

Whoever wrote the file chose these numbers, and reading it would reserve memory for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile
from zlib import error as zlib_error

from skillian.uploads.limits import MAX_CELLS, MAX_UNPACKED, UploadError

PACKED = frozenset({".xlsx", ".xlsm", ".xlsb"})
"""The suffixes of workbooks that are ZIP archives."""

_CHUNK = 1 << 20
_MAX_MEMBERS = 10_000
_MAX_ROW, _MAX_COLUMN = 1_048_576, 16_384
_LONGEST_TAG = 256
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
# The place of a row or a cell, such as r="7" or r="B7", and the range of a sheet, ref="A1:D9".
_PLACE = re.compile(rb"""\sr(?:ef)?=["'](?:[A-Z]+[0-9]+:)?([A-Z]*)([0-9]+)["']""")
_A = ord("A")


def check_workbook(path: Path) -> None:
    """Check that a workbook can be read.

    Raises:
        UploadError: It unpacks to too much, spans too many cells, or is damaged.
    """
    try:
        with ZipFile(path) as book:
            _check_members(book)
    except (BadZipFile, zlib_error, RuntimeError, EOFError):
        raise UploadError(
            "it is not a workbook that can be read; open it in Excel, and save it again, without a"
            " password"
        ) from None


def _check_members(book: ZipFile) -> None:
    members = book.infolist()
    if len(members) > _MAX_MEMBERS or sum(each.file_size for each in members) > MAX_UNPACKED:
        raise _too_large()
    unpacked = 0
    for member in members:
        with book.open(member) as file:
            is_sheet = bool(_SHEET.fullmatch(member.filename))
            row = column = 0
            for part in _parts(file):
                unpacked += min(len(part), _CHUNK)
                if unpacked > MAX_UNPACKED:
                    raise _too_large()
                if is_sheet:
                    row, column = _furthest(part, row, column)
        _check_span(row, column)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content in parts that overlap, so that no tag is cut in all of them."""
    tail = b""
    while chunk := file.read(_CHUNK):
        yield tail + chunk
        tail = chunk[-_LONGEST_TAG:]


def _furthest(part: bytes, row: int, column: int) -> tuple[int, int]:
    places = _PLACE.findall(part)
    for letters in {letters for letters, _ in places}:
        column = max(column, _index(letters))
    return max(row, max((int(digits[:20]) for _, digits in places), default=0)), column


def _index(letters: bytes) -> int:
    """The number of a column by its letters: A is 1, AA is 27."""
    number = 0
    for letter in letters[:8]:
        number = number * 26 + letter - _A + 1
    return number


def _check_span(row: int, column: int) -> None:
    if row > _MAX_ROW or column > _MAX_COLUMN:
        raise UploadError(
            f"a worksheet claims to have {row:,} rows and {column:,} columns, but Excel has at most"
            f" {_MAX_ROW:,} rows and {_MAX_COLUMN:,} columns; save the file again"
        )
    if row * column > MAX_CELLS:
        raise UploadError(
            f"a worksheet spans {row:,} rows and {column:,} columns, which is more than"
            f" {MAX_CELLS:,} cells; delete cells far away from the table, or save it as CSV"
        )


def _too_large() -> UploadError:
    return UploadError(
        f"it unpacks to more than {MAX_UNPACKED >> 30} GB; split it, or save the table as CSV"
    )

"""Files to upload: a pair that differs, and files that nobody should read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import xlsxwriter

LEDGER = "id,name,amount\n001,Anna,1.50\n002,Ben,2.25\n003,Cleo,3.00\n"
PLAN = "id,name,amount\n001,Anna,1.50\n002,Ben,2.75\n004,Dora,4.00\n"

_SHEET = "xl/worksheets/sheet1.xml"


def workbook(rows: list[list[object]], *more: str) -> bytes:
    """A workbook with these rows on its first sheet, and more sheets."""
    target = io.BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True})
    sheet = book.add_worksheet("First")
    for number, row in enumerate(rows):
        sheet.write_row(number, 0, row)
    for name in more:
        book.add_worksheet(name).write_row(0, 0, ["other"])
    book.close()
    return target.getvalue()


def with_sheet(book: bytes, old: bytes, new: bytes) -> bytes:
    """A workbook with another text in the XML of its first sheet."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book)) as old_book,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new_book,
    ):
        for name in old_book.namelist():
            content = old_book.read(name)
            if name == _SHEET:
                assert old in content
                content = content.replace(old, new)
            new_book.writestr(name, content)
    return target.getvalue()


def bomb(book: bytes, size: int) -> bytes:
    """A small workbook with a member that unpacks to `size` bytes."""
    target = io.BytesIO()
    target.write(book)
    part = b" " * (1 << 20)
    with (
        zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as grown,
        grown.open("xl/worksheets/sheet9.xml", "w", force_zip64=size >> 31 > 0) as member,
    ):
        for _ in range(size >> 20):
            member.write(part)
    return target.getvalue()


def pair(folder: Path) -> tuple[Path, Path]:
    """Two files of CSV, of which one row differs and one is only in each."""
    a, b = folder / "ledger.csv", folder / "plan.csv"
    a.write_text(LEDGER, encoding="utf-8")
    b.write_text(PLAN, encoding="utf-8")
    return a, b

"""Workbooks of Excel, as XlsxWriter writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

_FORMATS = {
    datetime: "yyyy-mm-dd hh:mm:ss",
    date: "yyyy-mm-dd",
    time: "hh:mm:ss",
    timedelta: "[h]:mm:ss",
}


def write_workbook(path: Path, sheets: Mapping[str, Iterable[Sequence[object]]]) -> Path:
    """Write the rows of each sheet, by its name, from its first cell on, and nothing for None."""
    xlsxwriter: Any = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(path) as book:
        formats = {kind: book.add_format({"num_format": form}) for kind, form in _FORMATS.items()}
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, value in enumerate(row):
                    if value is not None:
                        sheet.write(number, column, value, formats.get(type(value)))
    return path

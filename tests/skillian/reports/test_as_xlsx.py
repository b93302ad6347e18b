from __future__ import annotations

import io
import re
import zipfile
from collections.abc import AsyncIterator, Sequence

from python_calamine import CalamineWorkbook
from skillian.reports.spreadsheets import write_xlsx
from tests.skillian.reports.comparisons import HOSTILE

from skillian.data.comparison.rows import GroupRow
from skillian.reports.outcome import Compared, Outcome


async def written(outcome: Outcome, sheet_rows: int = 1_000_000) -> io.BytesIO:
    assert isinstance(outcome, Compared)
    assert outcome.rows is not None
    rows = outcome.rows.rows

    async def batches() -> AsyncIterator[Sequence[GroupRow]]:
        yield rows[:2]
        yield rows[2:]

    file = io.BytesIO()
    await write_xlsx(file, outcome.result, batches(), sheet_rows)
    file.seek(0)
    return file


async def test_groups_are_rows_of_numbers_and_texts(close: Outcome) -> None:
    book = CalamineWorkbook.from_filelike(await written(close))
    assert book.sheet_names == ["Summary", "Groups"]
    head, first, *others = book.get_sheet_by_name("Groups").to_python()
    assert head[:3] == ["company", "period", "class"]
    assert first == [
        "1001",
        "2024004",
        "major",
        40,
        80,
        192258.87,
        384517.74,
        192258.87,
        100,
        "major",
    ]
    assert len(others) == 5
    summary = {row[0]: row[1] for row in book.get_sheet_by_name("Summary").to_python()}
    assert (summary["a"], summary["match"], summary["groups"]) == ("fi_reporting", 30, 36)


async def test_more_groups_than_a_sheet_holds_go_on_in_the_next(close: Outcome) -> None:
    book = CalamineWorkbook.from_filelike(await written(close, sheet_rows=3))
    assert book.sheet_names == ["Summary", "Groups", "Groups 2"]
    sheets = [book.get_sheet_by_name(name).to_python() for name in book.sheet_names[1:]]
    assert [len(rows) for rows in sheets] == [4, 4]
    assert all(rows[0] == sheets[0][0] for rows in sheets)


async def test_nothing_is_a_formula_or_a_link_and_no_digit_is_lost(hostile: Outcome) -> None:
    file = await written(hostile)
    with zipfile.ZipFile(file) as parts:
        sheets = [parts.read(name).decode() for name in parts.namelist() if "sheets/" in name]
    assert not any(re.search(r"<f\b|<hyperlink", sheet) for sheet in sheets)
    file.seek(0)
    rows = CalamineWorkbook.from_filelike(file).get_sheet_by_name("Groups").to_python()
    cells = {cell for row in rows for cell in row}
    assert "123456789012345678.12" in cells
    assert (
        len([key for key in HOSTILE if key in cells]) >= len(HOSTILE) - 1
    )  # of one a character is none in XML

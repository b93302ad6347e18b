"""Files of rows: CSV, workbooks, JSON lines and Parquet; complete, or not there."""

import asyncio
import csv
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
from python_calamine import CalamineWorkbook
from tests.skillian.reports.comparisons import HOSTILE

from skillian.data.comparison.group_files import Columns, group_batches, headings
from skillian.data.comparison.rows import GroupRow
from skillian.data.results.result import ComparisonResult
from skillian.data.subjects import STATUS
from skillian.reports.every_row import write_all, write_rows
from skillian.reports.outcome import Compared, Format, Outcome
from skillian.reports.spreadsheets import RowSheets, summary_of

_arrow: Any = pa


def groups_of(outcome: Outcome) -> tuple[ComparisonResult, list[GroupRow]]:
    assert isinstance(outcome, Compared)
    assert isinstance(outcome.result, ComparisonResult)
    assert outcome.rows is not None
    return outcome.result, [*outcome.rows.rows]


def cells_of(row: GroupRow) -> Iterator[object]:
    yield from (*row.key.values(), STATUS[row.status], row.rows_a, row.rows_b)
    for each in row.measures:
        yield from (each.a, each.b, each.gap, each.percentage_diff, STATUS[each.status])


async def file_of(form: Format, result: ComparisonResult, rows: Sequence[GroupRow]) -> io.BytesIO:
    async def batches() -> AsyncIterator[Columns]:
        for part in (rows[:2], rows[2:]):
            yield [*zip(*map(cells_of, part), strict=True)] or [()] * len(headings(result))

    number, text = _arrow.decimal128(38, 2), _arrow.string()
    types = [text] * (len(result.key_columns) + 1) + [_arrow.int64()] * 2
    types += [number, number, number, _arrow.decimal128(38, 4), text] * len(result.measures)
    file = io.BytesIO()
    await write_all(file, form, group_batches(result, batches(), types), [*summary_of(result)])
    return io.BytesIO(file.getvalue())


async def test_no_csv_text_is_a_formula_and_numbers_stay_numbers(hostile: Outcome) -> None:
    result, [group, *_] = groups_of(hostile)
    formulas = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1")
    rows = [
        GroupRow({"k|<i>": key}, group.status, 1, 1, group.measures) for key in (*formulas, "a=b")
    ]
    data = (await file_of(Format.CSV, result, rows)).read().decode()
    lines = list(csv.reader(io.StringIO(data.removeprefix("\ufeff"), newline="")))
    assert [line[0] for line in lines[1:]] == [*(f"'{key}" for key in formulas), "a=b"]
    gaps = [measure.gap for measure in group.measures]
    assert str(gaps[0]) in lines[1]
    assert Decimal(lines[1][6]) == gaps[0]


async def workbook_of(outcome: Outcome) -> io.BytesIO:
    return await file_of(Format.XLSX, *groups_of(outcome))


async def test_a_workbook_has_a_row_for_each_group(close: Outcome) -> None:
    book = CalamineWorkbook.from_filelike(await workbook_of(close))
    assert book.sheet_names == ["Rows", "Summary"]
    head, first, *others = book.get_sheet_by_name("Rows").to_python()
    assert head == [
        "company", "period", "class", "rows a", "rows b", "amount a (EUR)", "amount b (EUR)",
        "amount b - a (EUR)", "amount %", "amount class",
    ]  # fmt: skip
    assert first[:5] == ["1001", "2024004", "major", 40, 80]
    assert first[5:] == [192258.87, 384517.74, 192258.87, 100, "major"]
    assert len(others) == 5
    summary = {row[0]: row[1] for row in book.get_sheet_by_name("Summary").to_python()}
    assert (summary["a"], summary["match"], summary["minor diff"]) == ("fi_reporting", 30, 1)


def book_of(*cells: object, sheet_rows: int = 100) -> CalamineWorkbook:
    file = io.BytesIO()
    sheets = RowSheets(file, ["n"], sheet_rows=sheet_rows)
    sheets.write([cell] for cell in cells)
    sheets.close()
    return CalamineWorkbook.from_filelike(io.BytesIO(file.getvalue()))


def test_more_rows_than_a_sheet_holds_continue_on_the_next() -> None:
    book = book_of(*range(6), sheet_rows=3)
    assert book.sheet_names == ["Rows", "Rows 2"]
    found = [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]
    assert found == [[["n"], [0.0], [1.0], [2.0]], [["n"], [3.0], [4.0], [5.0]]]


def test_a_text_that_a_cell_cannot_hold_is_marked() -> None:
    book = book_of("x" * 32_767, "x" * 40_000)
    _, (whole,), (cut,) = book.get_sheet_by_name("Rows").to_python()
    assert whole == "x" * 32_767
    assert len(str(cut)) == 32_767
    assert str(cut).endswith("x… (cut: 40,000 characters)")


async def test_no_workbook_text_is_a_formula_or_a_link_and_no_digit_is_lost(
    hostile: Outcome,
) -> None:
    file = await workbook_of(hostile)
    with zipfile.ZipFile(file) as parts:
        sheets = [parts.read(name).decode() for name in parts.namelist() if "sheets/" in name]
    assert not any(re.search(r"<f\b|<hyperlink", sheet) for sheet in sheets)
    file.seek(0)
    rows = CalamineWorkbook.from_filelike(file).get_sheet_by_name("Rows").to_python()
    cells = {cell for row in rows for cell in row}
    assert "123456789012345678.12" in cells
    # One of them has a character that XML cannot hold.
    assert len([key for key in HOSTILE if key in cells]) >= len(HOSTILE) - 1


def test_json_lines_hold_json(tmp_path: Path) -> None:
    async def batches() -> AsyncIterator[Any]:
        yield _arrow.RecordBatch.from_pydict({"v": [float("nan"), float("-inf"), 0.5, None]})

    path = tmp_path / "diff.jsonl"
    asyncio.run(write_rows(path, Format.JSONL, batches()))

    def refused(name: str) -> None:
        raise AssertionError(name)

    rows = [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]
    assert [row["v"] for row in rows] == ["nan", "-inf", 0.5, None]

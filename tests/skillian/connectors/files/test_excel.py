import tempfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from skillian.connectors.files.excel import cell_of, read_workbook


def written(path: Path, columns: dict[str, list[Any]]) -> Any:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        formats = {
            datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
            date: book.add_format({"num_format": "yyyy-mm-dd"}),
            time: book.add_format({"num_format": "hh:mm:ss"}),
            timedelta: book.add_format({"num_format": "[h]:mm:ss"}),
        }
        for column, (name, values) in enumerate(columns.items()):
            sheet.write(0, column, name)
            for row, value in enumerate(values, start=1):
                sheet.write(row, column, value, formats.get(type(value)))
    ((_, table),) = read_workbook(path)
    return table


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([1001, -5, None], "int64", [1001, -5, None]),
        ([0.1, 1234567.89, 7], "decimal128(38, 2)", ["0.10", "1234567.89", "7.00"]),
        ([0.12345678901234], "decimal128(38, 14)", ["0.12345678901234"]),
        ([1e20], "decimal128(38, 0)", ["100000000000000000000"]),
        ([1e30, 1e-30], "double", [1e30, 1e-30]),
        ([True, False, None], "bool", [True, False, None]),
        (["001", 4000, 1.5, True], "string", ["001", "4000", "1.5", "true"]),
        ([date(2024, 2, 29), None], "date32[day]", [date(2024, 2, 29), None]),
        (
            [date(2024, 2, 29), datetime.fromisoformat("2024-02-29 10:30")],
            "timestamp[us]",
            [datetime.fromisoformat("2024-02-29"), datetime.fromisoformat("2024-02-29 10:30")],
        ),
        ([time(10, 30)], "string", ["10:30:00"]),
        # As Excel shows it, in hours.
        ([timedelta(1.5), timedelta(100, 1)], "string", ["36:00:00", "2400:00:01"]),
        (["x", date(2024, 2, 29)], "string", ["x", "2024-02-29"]),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_its_cells(
    tmp_path: Path, cells: list[Any], kind: str, values: list[Any]
) -> None:
    table = written(tmp_path / "a.xlsx", {"row": ["x"] * len(cells), "a": cells})
    assert str(table.schema.field("a").type) == kind
    rows = table.column("a").to_pylist()
    assert [str(value) if isinstance(value, Decimal) else value for value in rows] == values


@settings(max_examples=50, deadline=None)
@given(st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=1, max_size=30))
def test_amounts_come_back_as_they_were_typed(amounts: list[Decimal]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = written(Path(folder) / "a.xlsx", {"a": [float(amount) for amount in amounts]})
    assert [Decimal(value) for value in table.column("a").to_pylist()] == amounts


def test_sheets_are_tables_and_empty_rows_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        first = book.add_worksheet("One")
        first.write_row(0, 0, ("a", "A", "", 2024))
        first.write_row(3, 0, (1, 2, 3, 4))
        book.add_worksheet("Nothing")
        hidden = book.add_worksheet("Two")
        hidden.write(4, 3, "far away")
        hidden.hide()
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": "=One!$A$4:$A$4"})
        book.add_chartsheet("Chart").set_chart(chart)
    tables = dict(read_workbook(path))
    assert list(tables) == ["book.xlsx", "book.xlsx#Two"]
    assert tables["book.xlsx"].to_pylist() == [{"a_2": 1, "A_1": 2, "column_3": 3, "2024": 4}]
    assert tables["book.xlsx#Two"].to_pylist() == []


def test_an_error_in_a_cell_is_null(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_column(0, 0, ("a", 1))
        sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")
        sheet.write_column(1, 1, ("x", "y"))
    ((_, table),) = read_workbook(path)
    assert table.column("a").to_pylist() == [1, None]


@pytest.mark.parametrize(
    ("row", "column", "cell"), [(0, 0, "A3"), (4, 2, "C7"), (1, 25, "Z4"), (0, 26, "AA3")]
)
def test_a_value_is_found_by_its_cell(tmp_path: Path, row: int, column: int, cell: str) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("first", "second"):
            sheet = book.add_worksheet(name)
            for number, text in enumerate(("v", "", "n/a", "n/a")):
                sheet.write(row + number, column, text)
    for table in ("a.xlsx", "a.xlsx#second"):
        assert cell_of(path, table, "v", "n/a") == cell
        assert cell_of(path, table, "v", "gone") is None

import tempfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.uploads import with_sheet
from tests.support.workbooks import write_workbook

from skillian.connectors.files.excel import cell_of, read_workbook
from skillian.connectors.files.options import FileOptions


def written(path: Path, columns: dict[str, list[Any]]) -> Any:
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    ((_, table, unread),) = read_workbook(write_workbook(path, {"One": rows}))
    assert not unread
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
    tables = {sheet.name: sheet.rows for sheet in read_workbook(path)}
    assert list(tables) == ["book.xlsx", "book.xlsx#Two"]
    assert tables["book.xlsx"].to_pylist() == [{"a_2": 1, "A_1": 2, "column_3": 3, "2024": 4}]
    assert tables["book.xlsx#Two"].to_pylist() == []


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def changed(path: Path, *changes: tuple[str, str]) -> Path:
    """The workbook with other texts in the XML of its first sheet, as another program writes it."""
    for old, new in changes:
        path.write_bytes(with_sheet(path.read_bytes(), old.encode(), new.encode()))
    return path


def with_formula(path: Path, stored: Any) -> Path:
    """A workbook whose B3, below a name and a number, has a formula with this result."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("One")
        sheet.write_row(0, 0, ("id", "v"))
        sheet.write_row(1, 0, (1, 7))
        sheet.write_formula(2, 1, "=B2", None, stored)
    return path


@pytest.mark.parametrize(
    ("stored", "changes"),
    [
        (8, [("<v>8</v>", "<v />")]),
        (8, [("<v>8</v>", "")]),
        (
            8,
            [
                ("<c ", "<x:c "),
                ("<f>", "<x:f>"),
                ("</f>", "</x:f>"),
                ("</c>", "</x:c>"),
                ("<v>8</v>", ""),
                ("<worksheet ", f'<worksheet xmlns:x="{_MAIN}" '),
            ],
        ),
        (8, [("<v>8</v>", ""), (' r="3"', "")]),
        (0, []),  # nothing was computed: the workbook says so
    ],
)
def test_a_formula_without_a_result_is_not_an_empty_cell(
    tmp_path: Path, stored: int, changes: list[tuple[str, str]]
) -> None:
    path = changed(with_formula(tmp_path / "a.xlsx", stored), *changes)
    ((_, table, unread),) = read_workbook(path)
    assert table.column("id").to_pylist() == [1, None]
    assert [*unread] == ["v"]
    assert unread["v"].startswith("cell B3 has a formula")


@pytest.mark.parametrize("text", ["", "x"])
def test_the_result_of_a_formula_is_its_value(tmp_path: Path, text: str) -> None:
    path = with_formula(tmp_path / "a.xlsx", "stored")
    path = changed(path, ("<v>stored</v>", f"<v>{text}</v>"))
    ((_, table, unread),) = read_workbook(path)
    assert not unread
    assert table.column("v").to_pylist() == (["7", text] if text else [7])
    ((_, table, unread),) = read_workbook(with_formula(tmp_path / "b.xlsx", "#DIV/0!"))
    assert (table.column("v").to_pylist(), not unread) == ([7], True)


def test_a_date_before_all_dates_is_not_a_time_of_day(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for column, (name, shown) in enumerate((("v", "yyyy-mm-dd"), ("w", "[h]:mm"), ("x", "0"))):
            sheet.write(0, column, name)
            sheet.write(1, column, -7.25, book.add_format({"num_format": shown}))
            sheet.write(2, column, 0.5, book.add_format({"num_format": shown}))
    ((_, table, unread),) = read_workbook(path)
    assert [*unread] == ["v"]
    assert unread["v"].startswith("cell A2 ")
    assert table.column("w").to_pylist() == ["-174:00:00", "12:00:00"]


def test_a_column_without_a_name_and_a_value_is_none(tmp_path: Path) -> None:
    rows = [("A title",), (), (), (None, "id", None, "v"), (None, 1, None, 10, 5)]
    path = write_workbook(tmp_path / "a.xlsx", {"One": rows})
    ((_, table, _),) = read_workbook(path, FileOptions(header=4))
    assert table.to_pylist() == [{"id": 1, "v": 10, "column_5": 5}]
    assert cell_of(path, "a.xlsx", "v", "10", FileOptions(header=4)) == "D5"


@pytest.mark.parametrize(
    ("row", "column", "cell"), [(0, 0, "A3"), (4, 2, "C7"), (1, 25, "Z4"), (0, 26, "AA3")]
)
def test_a_value_is_found_by_its_cell(tmp_path: Path, row: int, column: int, cell: str) -> None:
    rows = [()] * row + [(*[None] * column, text) for text in ("v", "", "n/a", "n/a")]
    path = write_workbook(tmp_path / "a.xlsx", dict.fromkeys(("first", "second"), rows))
    for table in ("a.xlsx", "a.xlsx#second"):
        assert cell_of(path, table, "v", "n/a") == cell
        assert cell_of(path, table, "v", "gone") is None

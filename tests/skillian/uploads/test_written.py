"""How numbers and dates are written is found where the values leave no doubt, and is said."""

from pathlib import Path

import pytest

from skillian.uploads.worker import read
from skillian.uploads.written import in_words

RECOGNISED = {
    "decimal comma": (
        ["betrag", '"12,50"', '"-3,1"', '"1,50-"', "7"],
        "decimal=%2C",
        {"betrag": "DECIMAL(38,2)"},
    ),
    "decimal comma and thousands": (
        ["betrag", '"1.234,50"', '"99,00"'],
        "decimal=%2C&thousands=.",
        {"betrag": "DECIMAL(38,2)"},
    ),
    "thousands in another column": (
        ["betrag;menge", "12,50;1.234", "3,10;2.000"],
        "decimal=%2C&thousands=.",
        {"betrag": "DECIMAL(38,2)", "menge": "BIGINT"},
    ),
    "commas between thousands": (
        ["amount", '"1,234.50"', '"12"', '"1,000,000"'],
        "decimal=.&thousands=%2C",
        {"amount": "DECIMAL(38,2)"},
    ),
    "dates with dots": (
        ["tag", "01.02.2024", "31.12.2024"],
        "dates=%25d.%25m.%25Y",
        {"tag": "DATE"},
    ),
    "dates with dots and short days": (
        ["tag", "1.2.2024", "31.12.2024"],
        "dates=%25-d.%25-m.%25Y",
        {"tag": "DATE"},
    ),
    "days first": (
        ["day", "03/04/2024", "13/04/2024"],
        "dates=%25d%2F%25m%2F%25Y",
        {"day": "DATE"},
    ),
    "months first": (
        ["day", "03/04/2024", "04/13/2024"],
        "dates=%25m%2F%25d%2F%25Y",
        {"day": "DATE"},
    ),
    "both": (
        ["nr;betrag;datum", "R-1;1.234,50;31.12.2024", "R-2;;"],
        "decimal=%2C&thousands=.&dates=%25d.%25m.%25Y",
        {"nr": "VARCHAR", "betrag": "DECIMAL(38,2)", "datum": "DATE"},
    ),
}
IN_DOUBT = {
    "a comma before three digits": ["n", '"1,234"', '"5,678"'],
    "days and months up to 12": ["day", "03/04/2024", "05/06/2024"],
    "a value that is not a number": ["betrag", '"12,50"', "k. A."],
    "a date that does not exist": ["tag", "31.02.2024", "01.02.2024"],
    "columns that are not written alike": ["a;b", "12,50;1.5", "3,25;2.75"],
    "two ways to write dates": ["a;b", "31.12.2024;13/04/2024", "01.02.2024;14/04/2024"],
    "numbers and dates as they are": ["a;b", "12.5;2024-01-31", "3.25;2024-02-01"],
    "no value": ["betrag;tag", ";", ";"],
    "no row": ["betrag"],
    "lists of numbers": ["list", '"1,2,3"', '"4,5"'],
    "addresses and versions": ["a;b", "1.2.3.4;1.20.3", "1.2.3.5;1.20.4"],
}


def _read(folder: Path, lines: list[str], options: str = "") -> dict[str, object]:
    file = folder / "file.csv"
    file.write_text("\n".join(lines) + "\n")
    return read(file, folder / "table.parquet", options)


@pytest.mark.parametrize("case", RECOGNISED)
def test_values_that_leave_no_doubt_are_read(tmp_path: Path, case: str) -> None:
    lines, written, types = RECOGNISED[case]
    about = _read(tmp_path, lines)
    assert about["written"] == written
    assert dict(about["columns"]) == types  # type: ignore[call-overload]


@pytest.mark.parametrize("case", IN_DOUBT)
def test_values_in_doubt_stay_as_they_are_written(tmp_path: Path, case: str) -> None:
    about = _read(tmp_path, IN_DOUBT[case])
    assert about["written"] == ""
    assert about["columns"] == _read(tmp_path, IN_DOUBT[case], "decimal=.")["columns"]


def test_who_says_how_a_file_is_written_is_believed(tmp_path: Path) -> None:
    about = _read(tmp_path, ["betrag", '"12,50"'], "decimal=.")
    assert (about["written"], about["columns"]) == ("decimal=.", [("betrag", "VARCHAR")])
    about = _read(tmp_path, ["betrag", '"12,50"'], "null=x")
    assert about["written"] == "null=x&decimal=%2C"


def test_the_note_says_how_a_file_is_read() -> None:
    assert in_words({}) == in_words({"decimal": "."}) == ""
    assert in_words({"decimal": ",", "dates": "%-d.%m.%Y"}) == (
        "Read with numbers with a decimal comma and dates such as 31.12.2024."
    )

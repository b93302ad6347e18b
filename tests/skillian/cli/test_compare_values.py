"""Files without rows, and files with a value that does not fit its column."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import xlsxwriter

Run = Callable[..., CompletedProcess[str]]

COMPARE = ("compare", "a.csv", "b.csv", "--measure", "v", "--by", "k")


def write(folder: Path, a: str, b: str) -> None:
    for name, text in (("a", a), ("b", b)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")


def test_two_files_with_only_a_header_are_equal(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v\n", "k,v\n")
    done = skillian(*COMPARE)
    assert done.returncode == 0, done.stderr
    assert "Neither a.csv nor b.csv has a row for this question" in done.stdout
    assert skillian(*COMPARE, "--where", "k=1").returncode == 2


@pytest.mark.parametrize("key", ["1", "x", "2024-01-31", "2024-01-31 10:00", "0.5", "true"])
def test_a_file_with_only_a_header_lacks_all_groups(
    skillian: Run, tmp_path: Path, key: str
) -> None:
    write(tmp_path, "k,v\n", f"k,v\n{key},1.5\n")
    for first, second in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        done = skillian("compare", first, second, *COMPARE[3:])
        assert done.returncode == 1, done.stderr
        assert "a.csv has no row for this question." in done.stdout
        assert "1 missing in a.csv" in done.stdout


def test_a_column_without_values_is_null_in_each_row(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v\nx,\n", "k,v\nx,1.5\n")
    done = skillian(*COMPARE)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_an_invalid_date_is_reported_with_its_line(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v\n2024-02-28,1.5\n2024-02-30,2\n", "k,v\n2024-02-28,1.5\n")
    done = skillian(*COMPARE)
    assert done.returncode == 2
    assert "'k' is DATE in b.csv, but in a.csv it also holds '2024-02-30' (line 3)" in done.stderr
    advice = "dimensions: {k: {column: k, type: text}}"
    assert "the same `type` for the dimension 'k' of both, such as `type: text`" in done.stderr
    sources = "".join(
        f"  {name}: {{connection: files, table: {name}.csv, {advice},"
        " measures: {v: {column: v, aggregation: sum}}}\n"
        for name in "ab"
    )
    text = f"connections: {{files: 'files:///.'}}\nsources:\n{sources}"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    assert skillian(*COMPARE).returncode == 1


def test_a_text_among_numbers_in_a_workbook_is_reported_with_its_cell(
    skillian: Run, tmp_path: Path
) -> None:
    write(tmp_path, "", "k,v\n1,1.5\n")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        for number, row in enumerate((("k", "v"), (1, 1.5), (2, "n/a"))):
            sheet.write_row(number, 0, row)
    done = skillian("compare", "a.xlsx", *COMPARE[2:])
    assert done.returncode == 2
    assert "it holds 'n/a' (cell B3)" in done.stderr
    assert "`expression: CAST(NULLIF(TRIM(v), 'n/a') AS DECIMAL(38,10))`" in done.stderr


def test_numbers_as_programs_print_them_are_read(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v\n1,1e-05\n2, 2.5\n3,-3E+2\n", "k,v\n1,0.00001\n2,2.5\n3,-300\n")
    done = skillian(*COMPARE)
    assert done.returncode == 0, done.stderr
    assert "Total v: -297.49999 in a.csv" in done.stdout


def test_numbers_that_may_be_codes_are_named(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v\n1,12E4\n2, 5\n", "k,v\n1,1.5\n")
    done = skillian(*COMPARE)
    assert done.returncode == 2
    assert "it holds '12E4' (line 2), ' 5' as text. Correct these values" in done.stderr
    assert "`expression: CAST(TRIM(v) AS DECIMAL(38,10))`" in done.stderr
    (tmp_path / "a.jsonl").write_text('{"k": 1, "v": "1.50"}\n')
    done = skillian("compare", "a.jsonl", *COMPARE[2:])
    assert "it holds '1.50' (line 1) as text. Correct these values" in done.stderr

"""Two files without a sources.yaml."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OLD = "company,period,amount\n0001,2024-01,100.00\n0001,2024-02,250.50\n0002,2024-01,75.25\n"
NEW = "company;period;amount\r\n0001;2024-01;100.00\r\n0001;2024-02;250.40\r\n0003;2024-01;1\r\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.csv").write_text(NEW, encoding="utf-8")


def test_two_files_are_compared_by_their_columns(skillian: Run) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare)
    assert done.returncode == 1, done.stderr
    assert "0 of 3 groups match (0.0 %)" in done.stdout
    assert "0002" in done.stdout
    only = ("--where", "company=0001", "--limit", "match:0.1,0.1%")
    assert skillian(*compare, *only).returncode == 0


def test_a_report_shows_the_rows_behind_each_group(skillian: Run, tmp_path: Path) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare, "--output", "report.html")
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('class="drill"') == 3


def test_a_single_limit_decides(skillian: Run) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare, "--where", "company=0001", "--limit", "match:0.1")
    assert done.returncode == 0, done.stderr
    assert "a match is up to 0.1 apart whatever the percentage" in done.stdout


def test_a_duplicated_row_worth_nothing_is_a_finding(skillian: Run, tmp_path: Path) -> None:
    rows = "id,amount\n1,5.00\n2,0.00\n3,7.00\n"
    (tmp_path / "one.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "two.csv").write_text(f"{rows}2,0.00\n", encoding="utf-8")
    compare = ("compare", "one.csv", "two.csv", "--measure", "amount", "--by", "id")
    done = skillian(*compare)
    assert done.returncode == 1, done.stderr
    assert "No differences" not in done.stdout
    assert "(id 2: 1 in one.csv, 2 in two.csv)" in done.stdout
    assert skillian(*compare, "--fail-on", "major").returncode == 1
    assert 'failures="1"' in skillian(*compare, "--format", "junit").stdout


def test_other_numbers_of_rows_are_in_every_output(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text("company,amount\n1,3.00\n2,1.00\n", encoding="utf-8")
    postings = "company,amount\n1,1.00\n1,2.00\n1,0.00\n2,0.50\n2,0.50\n"
    (tmp_path / "postings.csv").write_text(postings, encoding="utf-8")
    compare = ("compare", "totals.csv", "postings.csv", "--measure", "amount", "--by", "company")
    rows = "2 of them with different numbers of rows"
    for form in ("table", "json", "junit", "html", "markdown"):
        done = skillian(*compare, "--format", form)
        assert (done.returncode, rows in done.stdout) == (0, True), form
    done = skillian(*compare)
    assert "No differences" not in done.stdout
    assert "No measure differs beyond the limits, but 2 groups have different" in done.stdout
    assert rows in skillian(*compare, "--output", "report.html").stderr


def test_files_in_other_folders_are_compared_too(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "old.csv").write_text(OLD, encoding="utf-8")
    compare = ("compare", "old.csv", "later/old.csv", "--measure", "amount", "--by", "company")
    assert skillian(*compare).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new.csv", "--measure", "amount"), "company, period"),
        (("new.csv", "--measure", "amnt", "--by", "company"), "amount"),
        (("newer.csv", "--measure", "amount", "--by", "company"), "newer.csv"),
        (("new.csv", "--measure", "amount", "--by", "town"), "company"),
    ],
)
def test_a_wrong_command_line_is_reported(
    arguments: tuple[str, ...], message: str, skillian: Run
) -> None:
    done = skillian("compare", "old.csv", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_a_measure_whole_rows_are_compared(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--key", "company", "--key", "period")
    assert done.returncode == 1, done.stderr
    first = "1 row differs, 1 row is only in old.csv, 1 row is only in new.csv; 1 row matches."
    assert first in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.csv", "missing.csv"), "there is no file 'missing.csv' in "),
        (("missing.xlsx#Sheet1", "new.csv"), "there is no file 'missing.xlsx#Sheet1' in "),
        (("old.csv", "new.xml"), "'new.xml' is not a file that can be compared"),
        (
            ("old.csv", "new.csv.bz2"),
            ".csv, .json, .jsonl, .ndjson, .parquet, .tsv, .xls, .xlsb, .xlsm, .xlsx",
        ),
        (("books.sqlite", "new.csv"), "there is no file 'books.sqlite' in "),
        (("old.csv", "damaged.duckdb#t"), "'damaged.duckdb' is not a database of SQLite or DuckDB"),
        (
            ("old.csv", "ledger"),
            "'ledger' is not a file or the URL of a table",
        ),
        (("ledger", "plan"), "there is no sources.yaml that declares it as a source"),
        (("old.csv", "folder"), "'folder' is not a file that can be compared"),
        (("close.yaml",), "there is no file 'close.yaml' in "),
        (("old.csv",), "name what to compare 'old.csv' with"),
    ],
)
def test_names_that_cannot_be_compared_are_explained(
    arguments: tuple[str, ...], message: str, skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "damaged.duckdb").write_text("not a database")
    done = skillian("compare", *arguments, *(["--measure", "amount"] if arguments[1:] else []))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in " ".join(done.stderr.split())


def test_a_name_with_a_number_sign_can_be_a_file(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a#1.csv").write_text(OLD, encoding="utf-8")
    compare = ("compare", "old.csv", "a#1.csv", "--measure", "amount", "--by", "company")
    assert skillian(*compare).returncode == 0


def test_the_sum_of_codes_comes_with_a_warning(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("company,items,amount\n1001,2,1.5\n1002,3,1.5\n")
    compare = ("compare", "codes.csv", "codes.csv", "--by", "amount", "--measure")
    done = skillian(*compare, "company", "--measure", "amount", "--by", "items")
    assert "warning: 'company' looks like a code rather than an amount" in done.stderr
    done = skillian("compare", "codes.csv", "codes.csv", "--measure", "amount", "--by", "company")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sum_of_texts_is_refused(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--measure", "company", "--by", "period")
    assert done.returncode == 2
    assert "company" in done.stderr


def test_a_report_with_an_unknown_suffix_is_refused(skillian: Run, tmp_path: Path) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare, "--output", "x.pdf")
    assert done.returncode == 2
    assert "x.pdf has no suffix of a report format; supported suffixes: .txt," in done.stderr
    assert not (tmp_path / "x.pdf").exists()
    assert skillian(*compare, "--output", "x.pdf", "--format", "json").returncode == 1
    assert (tmp_path / "x.pdf").read_text(encoding="utf-8").startswith("{")
    assert skillian(*compare, "--output", "x.txt").returncode == 1
    assert "0 of 3 groups match" in (tmp_path / "x.txt").read_text(encoding="utf-8")

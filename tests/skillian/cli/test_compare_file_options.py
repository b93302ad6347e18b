"""`skillian compare` on files whose form is stated, on JSON, packed files and database files."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OLD = "Id;Day;Amount\n1;2024-01-31;1.234,50\n2;2024-02-01;NA\n3;2024-02-02;7,00\n"
PLAIN = "Id,Day,Amount\n1,2024-01-31,1234.50\n2,2024-02-01,\n3,2024-02-02,7.00\n"
FORM = ("--csv", "decimal=,", "--csv", "thousands=.", "--csv", "null=NA")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(OLD, encoding="latin-1")
    (tmp_path / "new.csv").write_text(OLD.replace("7,00", "8,25"), encoding="utf-8")
    (tmp_path / "plain.csv").write_text(PLAIN, encoding="utf-8")


def test_whole_rows_of_files_in_a_stated_form(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", *FORM)
    assert done.returncode == 1, done.stderr
    assert "1 row differs" in done.stdout
    assert "7.00 → 8.25" in done.stdout or "7 → 8.25" in done.stdout


def test_measures_of_files_in_a_stated_form(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", *FORM, "--measure", "amount", "--by", "id,DAY")
    assert done.returncode == 1, done.stderr
    assert "1.25" in done.stdout


def test_each_file_can_have_its_own_form(skillian: Run) -> None:
    stated = "old.csv?decimal=,&thousands=.&null=NA"
    assert skillian("compare", stated, "plain.csv").returncode == 0
    done = skillian("compare", stated, "plain.csv", "--measure", "Amount", "--by", "Id")
    assert done.returncode == 0, done.stderr


def test_an_option_can_be_of_one_side(skillian: Run, tmp_path: Path) -> None:
    own = [part for name in FORM[1::2] for part in ("--csv", f"a.{name}")]
    done = skillian("compare", "old.csv", "plain.csv", *own)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "erp.csv").write_text(
        "Id;Day;Amount\n1;31.01.2024;1234,50\n2;01.02.2024;\n3;02.02.2024;7,50\n", encoding="utf-8"
    )
    form = ("--csv", "b.decimal=,", "--csv", "dates=%d.%m.%Y")
    done = skillian("compare", "plain.csv", "erp.csv", *form, "--key", "Id")
    assert done.returncode == 1, done.stderr
    assert "7 → 7.5" in done.stdout or "7.00 → 7.50" in done.stdout
    assert "1 row differs; 2 rows match" in done.stdout
    done = skillian("compare", "plain.csv", "erp.csv", "--csv", "a.sheet=One")
    assert "--csv a.sheet=One does not go with files of these kinds" in done.stderr
    done = skillian("compare", "plain.csv", "erp.csv", "--csv", "c.decimal=,")
    assert "unknown option of files 'c.decimal'" in done.stderr


def test_files_are_called_by_their_names_without_options(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "plain.csv", "--csv", "decimal=,", "--key", "Id")
    assert done.returncode == 1, done.stderr
    assert "old.csv" in done.stdout
    assert "?" not in done.stdout.replace("'?", "")
    done = skillian("compare", "old.csv", "old.csv", "--csv", "a.decimal=,", "--key", "Id")
    assert "old.csv?decimal=%2C and old.csv" in done.stdout
    done = skillian("compare", "old.csv", "new.csv", "--csv", "header=99")
    assert "connection 'old.csv': old.csv: header=99" in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("decimal", "'decimal' is not of the form KEY=VALUE"),
        ("nul=NA", "unknown option of files 'nul'"),
        ("encoding=klingon", "encoding='klingon' is not known"),
    ],
)
def test_an_option_that_is_not_known_is_explained(skillian: Run, option: str, message: str) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--csv", option)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_value_that_is_not_a_number_is_named_with_its_line(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--measure", "Amount", "--by", "Id")
    assert done.returncode == 2
    text = " ".join(done.stderr.split())
    assert "'1.234,50' (line 2)" in text
    assert "add '?decimal=,&thousands=." in text


def test_json_packed_and_plain_files_are_compared(skillian: Run, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("id,v\n1,0.10\n2,\n")
    (tmp_path / "x.jsonl").write_text('{"id": 1, "v": 0.10}\n{"id": 2, "v": null}\n')
    for a, b in (("x.csv.gz", "x.jsonl"), ("x.jsonl", "x.csv.gz")):
        done = skillian("compare", a, b)
        assert done.returncode == 0, done.stdout + done.stderr
        done = skillian("compare", a, b, "--measure", "v", "--by", "id")
        assert done.returncode == 0, done.stderr


def test_texts_and_numbers_in_one_column_of_json_are_named(skillian: Run, tmp_path: Path) -> None:
    for name, rows in {"a": '{"v": "1"}\n{"v": "x"}', "b": '{"v": 1}\n{"v": "x"}'}.items():
        (tmp_path / f"{name}.jsonl").write_text(rows)
    done = skillian("compare", "a.jsonl", "b.jsonl", "--key", "v")
    assert done.returncode == 0
    assert "b.jsonl has texts and other values in v: all are texts." in done.stdout
    assert "a.jsonl has texts" not in done.stdout
    done = skillian("compare", "a.jsonl", "b.jsonl", "--key", "v", "--csv", "null=1")
    assert "has texts" not in done.stdout


def test_database_files_are_named_like_files(skillian: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (id BIGINT, day DATE, amount DECIMAL(10, 2))")
        connection.execute("INSERT INTO t VALUES (1, '2024-01-31', 1.5)")
    with duckdb.connect(tmp_path / "b.db") as other:
        other.execute("CREATE TABLE t AS SELECT 1::BIGINT id, DATE '2024-01-31' AS day,"
                      " 1.5::DECIMAL(10, 2) AS amount")  # fmt: skip
        other.execute("CREATE TABLE u AS SELECT 1 AS x")
    assert skillian("compare", "a.sqlite", "b.db#t").returncode == 0
    done = skillian("compare", "a.sqlite", "b.db")
    assert done.returncode == 2
    assert "its tables: main.t, main.u" in done.stderr


def test_a_sheet_is_chosen(skillian: Run, tmp_path: Path) -> None:
    xlsxwriter: Any = pytest.importorskip("xlsxwriter")
    for name, value in (("a.xlsx", 1), ("b.xlsx", 2)):
        with xlsxwriter.Workbook(tmp_path / name) as book:
            for sheet, number in (("One", 1), ("Two", value)):
                page = book.add_worksheet(sheet)
                page.write_column(0, 0, ["id", 7])
                page.write_column(0, 1, ["v", number])
    assert skillian("compare", "a.xlsx", "b.xlsx").returncode == 0
    assert skillian("compare", "a.xlsx", "b.xlsx", "--csv", "sheet=One").returncode == 0
    assert skillian("compare", "a.xlsx", "b.xlsx", "--csv", "sheet=Two").returncode == 1
    done = skillian("compare", "a.xlsx", "b.xlsx", "--csv", "sheet=Six")
    assert done.returncode == 2
    assert "it has no sheet 'Six'; its sheets: One, Two" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("where", "code"),
    [
        (("id>=3",), 1),
        (("id<3",), 0),
        (("id!=3",), 0),
        (("Id=1", "Id=2"), 0),
        (("id>1", "id<=3"), 1),
        (("Day>=2024-02-02",), 1),
    ],
)
def test_rows_are_chosen_by_values_and_ranges(
    skillian: Run, where: tuple[str, ...], code: int
) -> None:
    options = [part for test in where for part in ("--where", test)]
    columns = ("--measure", "Amount", "--by", "Id,Day")
    done = skillian("compare", "old.csv", "new.csv", *FORM, *columns, *options)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    "where",
    [
        ("Id",),
        ("is null",),
        ("Id is nil",),
        ("Id is null", "Id>1"),
        ("Id=1", "Id>1"),
        ("Id>1", "Id>2"),
        (">3",),
    ],
)
def test_a_filter_that_says_nothing_is_refused(skillian: Run, where: tuple[str, ...]) -> None:
    options = [part for test in where for part in ("--where", test)]
    done = skillian("compare", "old.csv", "new.csv", "--measure", "Amount", *options)
    assert done.returncode == 2
    assert "--where" in done.stderr

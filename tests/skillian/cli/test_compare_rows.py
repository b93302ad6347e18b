"""`skillian compare` without a measure: whole rows."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OLD = "id,name,born,town\n1,Ann,2001-02-03,Ulm\n2,Bob,2002-02-03,\n3,Cy,2003-02-03,Bonn\n"
NEW = "id,name,born,city\n1,Ann,2001-02-03,Ulm\n2,Bobby,2002-02-04,\n4,Di,2004-02-03,Bonn\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.csv").write_text(NEW, encoding="utf-8")


def test_two_files_without_numbers_need_no_options(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv")
    assert done.returncode == 1, done.stderr
    for text in (
        "1 row differs, 1 row is only in old.csv, 1 row is only in new.csv; 1 row matches in 3 of",
        "in 3 of 5 columns; town and city were not compared.",
        "No key was given; id is used",
        "Column 'town' (VARCHAR) is only in old.csv.",
        "Bob → Bobby (1)",
    ):
        assert text in done.stdout


def test_equal_files_exit_with_0(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "old.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "No row differs: all 3 rows of old.csv (a) and old.csv (b) match." in done.stdout


def test_a_missing_column_is_a_finding_and_a_map_pairs_it(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(OLD.replace("town", "city"), encoding="utf-8")
    assert skillian("compare", "old.csv", "new.csv").returncode == 1
    assert skillian("compare", "old.csv", "new.csv", "--map", "town=city").returncode == 0
    assert skillian("compare", "old.csv", "new.csv", "--ignore", "town,city").returncode == 0
    assert skillian("compare", "old.csv", "new.csv", "--columns", "name,born").returncode == 0


def test_any_row_is_a_minor_finding(skillian: Run) -> None:
    for fail_on in ("minor", "major"):
        compare = ("compare", "old.csv", "new.csv", "--key", "id", "--fail-on", fail_on)
        assert skillian(*compare).returncode == 1
        assert skillian(*compare, "--save", fail_on).returncode == 1
        assert skillian("compare", f"{fail_on}.yaml", "--fail-on", fail_on).returncode == 1


def test_columns_to_compare_are_not_those_of_the_key(skillian: Run, tmp_path: Path) -> None:
    swapped = {"Ann": "Bob", "Bob": "Ann"}
    names = "|".join(swapped)
    text = re.sub(names, lambda match: swapped[match[0]], OLD)
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    for columns in ("name", "town,name"):
        done = skillian("compare", "old.csv", "new.csv", "--columns", columns)
        assert done.returncode == 1
        assert "No key was given; id is used" in done.stdout
        assert "name differs in 2 rows" in done.stdout
    assert skillian("compare", "old.csv", "new.csv", "--columns", "born").returncode == 0
    (tmp_path / "new.csv").write_text(text.replace("id", "nr"), encoding="utf-8")
    done = skillian("compare", "old.csv", "new.csv", "--columns", "name")
    assert done.returncode == 2
    assert "add --map id=nr --key id" in done.stderr


def test_a_file_and_a_table_of_a_database(skillian: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE people (ID BIGINT, name TEXT, born DATE, town TEXT)")
        rows = [(1, "Ann", "2001-02-03", "Ulm"), (2, "Bob", "2002-02-03", None)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    done = skillian("compare", "old.csv", "sqlite:///shop.sqlite#people")
    assert done.returncode == 1, done.stderr
    assert "1 row is only in old.csv; 2 rows match." in done.stdout
    done = skillian("compare", "old.csv", "sqlite:///shop.sqlite#persons")
    assert done.returncode == 2
    assert "there is no table 'persons' in its database; nearest: people" in done.stderr


def test_a_filter_applies_to_keys_of_two_types(skillian: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1::DECIMAL(9, 2) AS id, 'Ann' AS name")
        connection.execute("INSERT INTO t VALUES (2, 'Rob')")
    compare = ("compare", "old.csv", "duckdb:///people.duckdb#t", "--key", "id")
    assert skillian(*compare, "--columns", "name", "--where", "id=1").returncode == 0
    done = skillian(*compare, "--columns", "name", "--where", "id=2")
    assert (done.returncode, "1 row differs; 0 rows match in 2 of 4" in done.stdout) == (1, True)
    assert skillian(*compare, "--columns", "name", "--where", "id=9").returncode == 2


def test_json_has_the_documented_keys(skillian: Run) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--key", "id", "--format", "json")
    [result] = json.loads(done.stdout)["comparisons"]
    assert result["kind"] == "rows"
    assert result["key"] == {"columns": ["id"], "origin": "given", "reason": ""}
    assert result["rows"] == {
        "a": 3,
        "b": 3,
        "matched": 1,
        "differing": 1,
        "only_in_a": 1,
        "only_in_b": 1,
        **dict.fromkeys(("duplicate_keys_a", "duplicate_rows_a"), 0),
        **dict.fromkeys(("duplicate_keys_b", "duplicate_rows_b"), 0),
    }
    assert result["columns"][0]["pairs"] == [{"a": "Bob", "b": "Bobby", "count": 1}]
    assert result["samples"]["differing"][0]["key"] == {"id": "2"}


@pytest.mark.parametrize("form", ["markdown", "html", "junit", "table"])
def test_every_report_names_the_value_that_differs(skillian: Run, form: str) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--key", "id", "--format", form)
    assert done.returncode == 1, done.stderr
    assert "Bobby" in done.stdout


def test_rows_without_a_key_are_compared_with_their_counts(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n1\n2\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("x\n1\n2\n2\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "b.csv")
    assert done.returncode == 2
    assert "no column or combination of up to three identifies a row" in done.stderr
    assert "(`multiset`)" in done.stderr
    done = skillian("compare", "a.csv", "b.csv", "--multiset")
    assert done.returncode == 1, done.stderr
    assert "1 row is only in a.csv, 1 row is only in b.csv; 2 rows match." in done.stdout


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--rule", "0.1"), 1),
        (("--rule", "0.1,trim", "--rule", "ignore-case"), 0),
        (("--rule", "v:0.1", "--rule", "t:trim,ignore-case"), 0),
        (("--rule", "v:1%", "--rule", "t:trim,ignore-case"), 0),
        (("--rule", "v:0.01", "--rule", "t:trim,ignore-case"), 1),
    ],
)
def test_rules_apply_to_all_columns_or_one(
    skillian: Run, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    (tmp_path / "a.csv").write_text('id,v,t\n1,10.00,"x "\n', encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,v,t\n1,10.05,X\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", *options)
    assert done.returncode == code, (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.csv", "new.csv", "--key", "idd"), "there is no column 'idd'"),
        (("old.csv", "new.csv", "--key", "town"), "column 'town' is not in b"),
        (("old.csv", "new.csv", "--ignore", "x"), "there is no column 'x'"),
        (("old.csv", "new.csv", "--map", "town"), "is not of the form a_name=b_name"),
        (("old.csv", "new.csv", "--rule", "name:near"), "is not understood"),
        (("old.csv", "new.csv", "--rule", "nam:trim"), "there is no column 'nam'"),
        (("old.csv", "new.csv", "--by", "id"), "needs --measure"),
        (("old.csv", "new.csv", "--measure", "id", "--key", "id"), "without --measure"),
        (("old.csv", "gone.csv"), "there is no file 'gone.csv'"),
        (("old.csv", "sqlite:///gone.sqlite#t"), "there is no 'gone.sqlite' in"),
        (("old.csv", "new.csv", "--multiset", "--key", "id"), "takes no key"),
        (("old.csv", "new.csv", "--multiset", "--rule", "1"), "needs a key"),
    ],
)
def test_a_wrong_command_line_is_reported(
    skillian: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = skillian("compare", *arguments)
    assert done.returncode == 2, done.stdout
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_saved_comparison_of_rows(skillian: Run, tmp_path: Path) -> None:
    source = (
        "{{connection: c, table: {0}.csv, dimensions: {{id: {{column: id}}}},"
        " measures: {{n: {{column: id, aggregation: count}}}}}}"
    )
    sources = "\n".join(f"  {name}: {source.format(name)}" for name in ("old", "new"))
    text = f"connections: {{c: 'files:///.'}}\nsources:\n{sources}\n"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    saved = """
sources: sources.yaml
compare:
  - name: people
    a: old
    b: new
    key: [id]
    columns: {town: city}
    rules: {columns: {name: {ignore_case: true}}}
"""
    (tmp_path / "people.yaml").write_text(saved, encoding="utf-8")
    done = skillian("compare", "people.yaml", "--format", "json")
    assert done.returncode == 1, done.stderr
    [result] = json.loads(done.stdout)["comparisons"]
    assert [column["a"] for column in result["columns"]] == ["name", "born", "town"]
    assert result["columns"][0]["rule"] == "case ignored"
    assert result["proof"]["place"] == "database"
    (tmp_path / "people.yaml").write_text(saved + "    align_on: [id]\n", encoding="utf-8")
    done = skillian("compare", "people.yaml")
    assert done.returncode == 2
    assert "`align_on` needs `measures`" in done.stderr


WIDE = "id,amount,paid,note\n1,1.50,2024-01-01,x\n2,2.50,2024-01-02,y\n"
PARTLY = (
    "No row differs: all 2 rows of a.csv and b.csv match in 2 of 4 columns; amount and paid were"
    " not compared."
)


@pytest.fixture
def _partly(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(WIDE, encoding="utf-8")
    other = WIDE.replace("1.50", "n/a").replace("2024-01-01", "soon")
    (tmp_path / "b.csv").write_text(other, encoding="utf-8")


@pytest.mark.usefixtures("_partly")
@pytest.mark.parametrize("form", ["table", "markdown", "html", "junit", "json"])
def test_the_first_sentence_says_what_was_compared(
    skillian: Run, tmp_path: Path, form: str
) -> None:
    done = skillian("compare", "a.csv", "b.csv", "--format", form, "--output", "report.txt")
    assert done.returncode == 1, done.stderr
    sentence = f"- {PARTLY}" if form == "markdown" else PARTLY
    text = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert sentence in text
    if form == "json":
        assert json.loads(text)["comparisons"][0]["sentences"][0] == PARTLY
    else:
        assert text.index(PARTLY) < text.index("No key was given")
    assert PARTLY in done.stderr


@pytest.mark.usefixtures("_partly")
def test_columns_that_are_left_out_on_purpose_are_part_of_the_verdict_too(skillian: Run) -> None:
    done = skillian("compare", "a.csv", "b.csv", "--ignore", "amount,paid")
    assert done.returncode == 0, done.stdout
    assert PARTLY in done.stdout
    done = skillian("compare", "a.csv", "b.csv", "--columns", "id,note", "--format", "json")
    [compared] = json.loads(done.stdout)["comparisons"]
    assert compared["coverage"] == {
        "compared": 2, "columns": 4, "not_compared": ["amount", "paid"]
    }  # fmt: skip


@pytest.mark.usefixtures("_partly")
def test_columns_of_one_side_are_not_compared_either(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(WIDE.replace("note", "remark").replace("x", "z"))
    done = skillian("compare", "a.csv", "b.csv")
    assert done.returncode == 1
    part = "match in 3 of 5 columns; note and remark were not compared."
    assert part in done.stdout

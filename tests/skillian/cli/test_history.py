"""`skillian history`: a fault that appears, is noted as known, and is fixed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import duckdb
import pytest

from skillian.history.store import open_history

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SOURCES = """
connections:
  books: duckdb:///books.duckdb
sources:
  ledger: &ledger
    connection: books
    table: ledger
    dimensions: {id: {column: id}}
    measures: {amount: {column: amount, aggregation: sum}}
  plan:
    connection: books
    table: plan
    dimensions: {id: {column: id}}
    measures: {amount: {column: amount, aggregation: sum}}
"""
DAILY = """
sources: sources.yaml
compare:
  - {name: daily, a: ledger, b: plan, measures: [amount], align_on: [id]}
"""


@pytest.fixture
def books(tmp_path: Path) -> Path:
    (tmp_path / "sources.yaml").write_text(SOURCES.replace("&ledger", ""))
    (tmp_path / "daily.yaml").write_text(DAILY)
    path = tmp_path / "books.duckdb"
    change(path, "CREATE TABLE ledger AS SELECT i AS id, i * 10 AS amount FROM range(5) t(i)")
    change(path, "CREATE TABLE plan AS FROM ledger")
    return path


def change(path: Path, statement: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)


@pytest.fixture(params=["a file", "PostgreSQL"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "a file":
        return {}
    url: str = request.getfixturevalue("postgres_database").url
    return {"DATABASE_URL": url}


def test_a_fault_appears_is_known_and_is_fixed(
    skillian: Run, books: Path, environment: dict[str, str]
) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return skillian(*arguments, **environment)

    change(books, "UPDATE plan SET amount = 31 WHERE id = 3")
    first = run("compare", "daily.yaml", "--fail-on", "new")
    assert first.returncode == 1
    assert "Compared with earlier runs: 1 new, 0 open, 0 known, 0 fixed." in first.stdout
    assert "amount differs for id=3" in first.stdout

    shown = json.loads(run("history", "show", "daily", "--json").stdout)
    finding = shown["findings"][0]["id"]
    noted = run("history", "note", "daily", finding[:6], "ticket 42", "--due", "2999-12-31")
    assert noted.stdout.strip() == f"{finding}: amount differs for id=3: known until 2999-12-31"

    second = run("compare", "daily.yaml", "--fail-on", "new")
    assert second.returncode == 0
    assert "Compared with earlier runs: 0 new, 0 open, 1 known, 0 fixed." in second.stdout
    assert run("compare", "daily.yaml").returncode == 1  # known, but still a finding

    change(books, "UPDATE plan SET amount = 30 WHERE id = 3")
    third = run("compare", "daily.yaml", "--fail-on", "new")
    assert third.returncode == 0
    assert "Compared with earlier runs: 0 new, 0 open, 0 known, 1 fixed." in third.stdout

    listed = run("history").stdout
    assert "daily" in listed
    assert "equal" in listed
    states = json.loads(run("history", "show", "daily", "--json").stdout)
    assert [run["findings"] for run in states["runs"]] == [0, 1, 1, 1]
    assert [each["state"] for each in states["findings"]] == ["fixed"]


def test_a_note_that_is_overdue_counts_as_new_again(skillian: Run, books: Path) -> None:
    change(books, "DELETE FROM plan WHERE id = 3")
    skillian("compare", "daily.yaml")
    shown = json.loads(skillian("history", "show", "daily", "--json").stdout)
    finding = shown["findings"][0]["id"]
    over = ("--due", "2020-01-01")
    for refused in (("note", "daily", finding, "x"), ("accept", "daily", "--note", "x")):
        assert "2020-01-01 is over" in skillian("history", *refused, *over).stderr
    with open_history("sqlite:///skillian.db") as history:
        history.note("daily", finding, "x", date(2020, 1, 1))
    assert skillian("compare", "daily.yaml", "--fail-on", "new").returncode == 1
    skillian("history", "note", "daily", finding, "x")
    assert skillian("compare", "daily.yaml", "--fail-on", "new").returncode == 0
    skillian("history", "note", "daily", finding, "--remove")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert done.returncode == 1
    assert f"  open {finding}: missing in plan for id=3" in done.stdout


def test_an_identical_run_has_nothing_new_and_still_fails(skillian: Run, books: Path) -> None:
    change(books, "UPDATE plan SET amount = amount + 1")
    assert "5 new, 0 open, 0 known" in skillian("compare", "daily.yaml").stdout
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert done.returncode == 1
    assert "0 new, 5 open, 0 known, 0 fixed." in done.stdout
    accepted = skillian("history", "accept", "daily", "--note", "ticket 42", "--due", "2999-12-31")
    assert accepted.stdout == "5 findings marked as known until 2999-12-31.\n"
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert done.returncode == 0
    assert "0 new, 0 open, 5 known, 0 fixed." in done.stdout


def test_a_known_gap_that_grows_is_new(skillian: Run, books: Path) -> None:
    change(books, "UPDATE plan SET amount = amount + 3 WHERE id = 3")
    skillian("compare", "daily.yaml")
    skillian("history", "accept", "daily", "--note", "rounding")
    change(books, "UPDATE plan SET amount = amount + 2 WHERE id = 3")
    assert skillian("compare", "daily.yaml", "--fail-on", "new").returncode == 0
    change(books, "UPDATE plan SET amount = amount + 770 WHERE id = 3")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert done.returncode == 1
    assert "amount differs for id=3; amount grew from 3 to 775" in done.stdout


def test_more_groups_with_other_numbers_of_rows_are_new(skillian: Run, books: Path) -> None:
    change(books, "INSERT INTO ledger SELECT i, i FROM range(100, 200) t(i)")
    change(books, "INSERT INTO plan SELECT i, i FROM range(100, 200) t(i)")
    change(books, "INSERT INTO plan VALUES (1, 0)")
    done = skillian("compare", "daily.yaml")
    assert "different numbers of rows" in done.stdout
    skillian("history", "accept", "daily", "--note", "known")
    change(books, "INSERT INTO plan VALUES (2, 0)")
    assert skillian("compare", "daily.yaml", "--fail-on", "new").returncode == 0
    change(books, "INSERT INTO plan VALUES (3, 0)")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert "different numbers of rows; grew from 1 to 3" in done.stdout


def test_a_known_row_that_occurs_more_often_is_new(
    skillian: Run, books: Path, tmp_path: Path
) -> None:
    (tmp_path / "daily.yaml").write_text(ROWS.replace("key: [id]", "multiset: true"))
    change(books, "INSERT INTO plan SELECT 4, 40 FROM range(2)")
    skillian("compare", "daily.yaml")
    skillian("history", "accept", "daily", "--note", "known")
    change(books, "INSERT INTO plan SELECT 4, 40 FROM range(10)")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert "for id=4, amount=40; grew from 2 to 12" in done.stdout


def test_a_known_key_with_more_rows_is_new(skillian: Run, books: Path, tmp_path: Path) -> None:
    (tmp_path / "daily.yaml").write_text(ROWS)
    change(books, "INSERT INTO plan SELECT 4, 40 FROM range(2)")
    skillian("compare", "daily.yaml")
    skillian("history", "accept", "daily", "--note", "known")
    change(books, "INSERT INTO plan SELECT 4, 40 FROM range(10)")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert "duplicate key for id=4; grew from 3 to 13" in done.stdout


def test_a_second_fault_is_new_next_to_a_known_one(skillian: Run, books: Path) -> None:
    change(books, "DELETE FROM plan WHERE id = 3")
    report = json.loads(skillian("compare", "daily.yaml", "--format", "json").stdout)
    history = report["comparisons"][0]["history"]
    skillian("history", "note", "daily", history["new"][0]["id"], "known")
    change(books, "UPDATE plan SET amount = 0 WHERE id = 4")
    report = json.loads(skillian("compare", "daily.yaml", "--format", "json").stdout)
    history = report["comparisons"][0]["history"]
    assert [each["text"] for each in history["new"]] == ["amount differs for id=4"]
    assert [each["text"] for each in history["known"]] == ["missing in plan for id=3"]


def test_known_findings_are_skipped_tests(skillian: Run, books: Path, tmp_path: Path) -> None:
    change(books, "DELETE FROM plan WHERE id = 3")
    skillian("compare", "daily.yaml", "--output", "daily.xml")
    assert suite(tmp_path)["failures"] == "1"
    finding = json.loads(skillian("history", "show", "daily", "--json").stdout)["findings"][0]
    skillian("history", "note", "daily", finding["id"], "known")
    done = skillian("compare", "daily.yaml", "--output", "daily.xml", "--fail-on", "new")
    assert done.returncode == 0
    assert (suite(tmp_path)["failures"], suite(tmp_path)["skipped"]) == ("0", "1")


def suite(folder: Path) -> dict[str, str]:
    root = ET.parse(folder / "daily.xml").getroot()  # noqa: S314 - our own
    return root[0].attrib


def test_without_a_history_the_result_stands(skillian: Run, books: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no/such/folder/history.db"
    done = skillian("compare", "daily.yaml", DATABASE_URL=url)
    assert done.returncode == 0
    assert "warning: this run is not in the history" in done.stderr
    done = skillian("compare", "daily.yaml", "--fail-on", "new", DATABASE_URL=url)
    assert done.returncode == 2
    assert "cannot be opened for writing" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", "show", "daily"),
        ("history",),
        ("history", "note", "daily", "1f", "text"),
        ("history", "accept", "daily", "--note", "text"),
        ("compare", "a.csv", "b.csv", "--fail-on", "new"),
    ],
)
def test_what_has_no_history_is_refused(skillian: Run, arguments: tuple[str, ...]) -> None:
    done = skillian(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not Path("skillian.db").exists()


@pytest.mark.parametrize(
    "arguments", [("x",), ("x", "--remove", "--due", "soon"), (), ("x", "text", "--remove")]
)
def test_wrong_notes_are_refused(skillian: Run, books: Path, arguments: tuple[str, ...]) -> None:
    skillian("compare", "daily.yaml")
    done = skillian("history", "note", "daily", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("day", ["soon", "31.12.2999", "2999-02-30"])
def test_a_wrong_day_is_explained(skillian: Run, day: str) -> None:
    done = skillian("history", "note", "daily", "x", "text", "--due", day)
    assert done.returncode == 2
    assert f"'{day}' is not a day of the calendar" in done.stderr


ROWS = """
sources: sources.yaml
compare:
  - {name: daily, a: ledger, b: plan, key: [id]}
"""


def test_rows_that_differ_are_findings_one_by_one(
    skillian: Run, books: Path, tmp_path: Path
) -> None:
    (tmp_path / "daily.yaml").write_text(ROWS)
    change(books, "UPDATE plan SET amount = 31 WHERE id = 3")
    change(books, "DELETE FROM plan WHERE id = 0")
    change(books, "INSERT INTO plan VALUES (4, 40)")
    report = json.loads(skillian("compare", "daily.yaml", "--format", "json").stdout)
    history = report["comparisons"][0]["history"]
    texts = ["amount differs for id=3", "only in ledger for id=0", "duplicate key for id=4"]
    assert [each["text"] for each in history["new"]] == texts
    for each in history["new"]:
        skillian("history", "note", "daily", each["id"], "known")
    assert skillian("compare", "daily.yaml", "--fail-on", "new").returncode == 0
    change(books, "UPDATE plan SET amount = 0 WHERE id = 1")
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert done.returncode == 1
    assert "Compared with earlier runs: 1 new, 0 open, 3 known, 0 fixed." in done.stdout
    assert "amount differs for id=1" in done.stdout
    skillian("compare", "daily.yaml", "--fail-on", "new", "--output", "daily.xml")
    assert suite(tmp_path)["failures"] != "0"


def test_rows_beyond_those_that_are_tracked_count_as_new(
    skillian: Run, books: Path, tmp_path: Path
) -> None:
    (tmp_path / "daily.yaml").write_text(ROWS)
    change(books, "INSERT INTO plan SELECT i, i FROM range(100, 1600) t(i)")
    done = skillian("compare", "daily.yaml")
    assert "Compared with earlier runs: 1,500 new, 0 open, 0 known, 0 fixed." in done.stdout
    accepted = skillian("history", "accept", "daily", "--note", "known")
    assert "500 more are not tracked one by one" in accepted.stdout
    done = skillian("compare", "daily.yaml", "--fail-on", "new")
    assert "Compared with earlier runs: 0 new, 500 open, 1,000 known, 0 fixed." in done.stdout
    assert done.returncode == 1

"""Rules of a row comparison that cannot apply are refused, and apply to no other column."""

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("name:1", "the rule for column 'name' (within 1) does not apply to its type, which is"),
        ("born:trim", "does not apply to its type, which is date"),
        ("amount:5s", "(within 5 s) does not apply to its type, which is number"),
    ],
)
def test_a_rule_for_another_type_is_refused(
    skillian: Run, tmp_path: Path, rule: str, words: str
) -> None:
    text = "id,name,born,amount\n1,Ann,2001-02-03,1.5\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    done = skillian("compare", "a.csv", "a.csv", "--key", "id", "--rule", rule)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_rule_for_a_column_without_values_in_files_has_nothing_to_apply_to(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,v\n1,\n2,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,v\n1,\n2,0.5\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("id,v\n1,\n2,x\n", encoding="utf-8")
    rule = ("--key", "id", "--rule", "v:0.1")
    assert skillian("compare", "a.csv", "a.csv", *rule).returncode == 0
    assert skillian("compare", "a.csv", "b.csv", *rule).returncode == 1
    assert skillian("compare", "a.csv", "c.csv", *rule).returncode == 1
    done = skillian("compare", "c.csv", "c.csv", *rule)
    assert done.returncode == 2
    assert "does not apply to its type, which is text" in done.stderr


def test_an_unknown_zone_is_refused_even_if_no_column_needs_it(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,v\n1,1\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "a.csv", "--rule", "zone=Mars/X")
    assert done.returncode == 2
    assert "there is no time zone 'Mars/X'" in done.stderr
    assert skillian("compare", "a.csv", "a.csv", "--rule", "zone=Europe/Berlin").returncode == 0


def test_a_rule_is_for_the_column_of_a_with_this_name(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v,w\n1,10,20\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,v,w\n1,20.5,10.5\n", encoding="utf-8")
    swapped = ("--map", "v=w", "--map", "w=v", "--rule", "w:1", "--format", "json")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", *swapped)
    [result] = json.loads(done.stdout)["comparisons"]
    assert {each["a"]: each["mismatches"] for each in result["columns"]} == {"v": 1, "w": 0}


def test_equal_rows_of_sqlite_and_duckdb_are_equal(skillian: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as one:
        one.executescript("CREATE TABLE t (id INT, v TEXT); INSERT INTO t VALUES (1, 'x')")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as other:
        other.execute("CREATE TABLE t (id INTEGER, v VARCHAR); INSERT INTO t VALUES (1, 'x')")
    done = skillian("compare", "sqlite:///a.sqlite#t", "duckdb:///b.duckdb#t")
    assert done.returncode == 0, done.stdout
    assert "loses values outside its range" in done.stdout


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        ("factor=100", "1", "100"),
        ("round=0", "1.4", "1.3"),
        ("length=2", "abc", "abd"),
        ("shift=1d", "2024-01-01", "2024-01-02"),
        ("precision=day", "2024-01-01 10:00:00", "2024-01-01 11:00:00"),
    ],
)
def test_a_rule_for_all_columns_that_computes_is_not_for_the_key(
    skillian: Run, tmp_path: Path, rule: str, a: str, b: str
) -> None:
    for name, value in (("a", a), ("b", b)):
        (tmp_path / f"{name}.csv").write_text(f"id,v\n{value},x\n", encoding="utf-8")
    for columns in (("id",), ("id", "v")):
        compare = ("compare", "a.csv", "b.csv", "--key", ",".join(columns), "--rule")
        assert "only in a.csv" in skillian(*compare, rule).stdout
        assert skillian(*compare, f"id:{rule}").returncode == 0

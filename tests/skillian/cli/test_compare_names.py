"""`skillian compare` and `skillian schema` with names and options that are easy to get wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    import subprocess

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_paths_of_any_length_are_compared(skillian: Run, tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120) / ("e" * 120)
    folder.mkdir(parents=True)
    for name, value in (("a.csv", 1), ("b.csv", 2)):
        (folder / name).write_text(f"id,v\n1,{value}\n")
    a, b = str(folder / "a.csv"), str(folder / "b.csv")
    assert "1 row differs" in skillian("compare", a, b).stdout
    done = skillian("compare", a, b, "--measure", "v", "--by", "id")
    assert done.returncode == 1, done.stderr


def test_a_key_is_named_whatever_its_name(skillian: Run, tmp_path: Path) -> None:
    names = ("x" * 300, "a\nb", "a,b", 'c"d')
    columns = ", ".join('"{}" INT'.format(name.replace('"', '""')) for name in names)
    for file, value in (("a.duckdb", 1), ("b.duckdb", 2)):
        with duckdb.connect(tmp_path / file) as connection:
            connection.execute(f"CREATE TABLE t ({columns}, v INT)")
            connection.execute("INSERT INTO t VALUES (1, 1, 1, 1, ?)", [value])
    written = ("x" * 300, "a\nb", '"a,b"', '"c""d"')
    options = [part for name in written for part in ("--key", name)]
    done = skillian("compare", "a.duckdb", "b.duckdb", *options)
    assert "1 row differs" in done.stdout, done.stderr
    done = skillian("compare", "a.duckdb", "b.duckdb", *options, "--ignore", "v")
    assert done.returncode == 0, done.stdout + done.stderr


def test_columns_and_ignore_apply_together(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v,w\n1,1,1\n")
    (tmp_path / "b.csv").write_text("id,v,w\n1,2,1\n")
    stated = ("compare", "a.csv", "b.csv", "--key", "id", "--columns", "v,w")
    assert skillian(*stated).returncode == 1
    assert skillian(*stated, "--ignore", "v").returncode == 0
    done = skillian(*stated, "--ignore", "vv")
    assert done.returncode == 2
    assert "there is no column 'vv'" in done.stderr


def test_columns_that_a_schema_ignores_exist(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v,w\n1,1,1\n")
    (tmp_path / "b.csv").write_text("id\n1\n")
    assert skillian("schema", "a.csv", "b.csv", "--ignore", "v, W").returncode == 0
    done = skillian("schema", "a.csv", "b.csv", "--ignore", "vv")
    assert done.returncode == 2
    assert "there is no column 'vv'; columns, nearest first: v" in done.stderr


def test_a_pipe_is_refused_without_waiting_for_its_writer(skillian: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("id\n1\n")
    done = skillian("compare", "a.csv", "b.csv")
    assert done.returncode == 2
    assert "a.csv: it is not a file" in done.stderr


def test_a_name_that_reads_like_an_emoji_stays_a_text(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,:x:\n1,a\n")
    (tmp_path / "b.csv").write_text("id,:x:\n1,:warning:\n")
    printed = skillian("compare", "a.csv", "b.csv").stdout
    assert ":x: differs in 1 row" in printed
    assert "a → :warning: (1)" in printed
    skillian("compare", "a.csv", "b.csv", "--format", "table", "--output", "out.txt")
    assert ":x: differs in 1 row" in (tmp_path / "out.txt").read_text()


def test_a_variable_in_a_path_is_filled_in(skillian: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id")
    relative, absolute = "duckdb:///${BOOKS}#t", "duckdb:///${PLACE}/a.duckdb#t"
    done = skillian("compare", relative, absolute, BOOKS="a.duckdb", PLACE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    done = skillian("compare", relative, absolute)
    assert (done.returncode, "BOOKS is not set" in done.stderr) == (2, True)

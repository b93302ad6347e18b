"""Rows of files that are damaged, odd or extreme: an exact result or a clear message."""

from __future__ import annotations

import math
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest
from pyarrow.parquet import write_table  # pyright: ignore[reportMissingTypeStubs]

Run = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = "id,v\n1,a\n2,b\n"
LONG = "x" * 300
# The file compared with, its text, the exit code, and a part of the output.
CASES = {
    "ragged": ("id,v\n1,a\n2\n", GOOD, 2, "line 3: it has 1 value"),
    "unclosed quote": ('id,v\n1,"a\n2,b\n', GOOD, 2, "line 2: a quote is opened and not closed"),
    "no names": ("1,2\n3,4\n", GOOD, 2, "it has no column names"),
    "empty": ("", GOOD, 2, "it has no column names"),
    "a name further down": ("# export\nid,v\n1,a\n", GOOD, 2, "the first line names 1 column;"),
    "names twice": (
        "id,v\n1,2.5\nid,v\n",
        "id,v\n1,2.5\n",
        2,
        "id: VARCHAR and BIGINT have no common form; bad.csv holds 'id' (line 3)",
    ),
    "signs": (
        "id,v\n1,+5.5\n2,3\n",
        "id,v\n1,5.5\n2,3\n",
        1,
        "bad.csv holds '+5.5' (line 2) as text.",
    ),
    "dates among times": (
        "id,v\n1,2024-01-01 10:00\n2,2024-01-02\n",
        "id,v\n1,2024-01-01 10:00\n2,2024-01-02 00:00\n",
        1,
        "bad.csv holds '2024-01-01 10:00' (line 2), '2024-01-02' as text.",
    ),
    "more digits than a decimal": (
        f"id,v\n1,{'1' * 39}\n2,3\n",
        "id,v\n1,1\n2,3\n",
        1,
        f"bad.csv holds '{'1' * 39}' (line 2).",
    ),
    "title line": ("Report,\nid,v\n1,a\n", GOOD, 2, "have no column in common"),
    "byte order mark": (f"\ufeff{GOOD}", GOOD, 0, "all 2 rows"),
    "only a header": ("id,v\n", GOOD, 1, "2 rows are only in good.csv"),
    "two headers": ("id,v\n", "id,v\n", 0, "Neither bad.csv nor good.csv has rows."),
    "decimal comma": (
        "id;v\n1;1,5\n",
        "id;v\n1;1.5\n",
        1,
        "bad.csv holds '1,5' (line 2); add '?decimal=,'",
    ),
    "invalid date": (
        "id,v\n1,2024-02-30\n",
        "id,v\n1,2024-02-29\n",
        1,
        "VARCHAR and DATE have no common form; bad.csv holds '2024-02-30' (line 2).",
    ),
    "past 64 bits": (
        "id,v\n9223372036854775808,1\n18446744073709551616,2\n",
        "id,v\n9223372036854775808,1\n18446744073709551617,2\n",
        1,
        "1 row is only in bad.csv, 1 row is only in good.csv; 1 row matches.",
    ),
    "names": (
        f'id,a.b,"q""x","n\nl",{LONG}\n1,1,2,3,4\n',
        f'id,a.b,"q""x","n\nl",{LONG}\n1,1,2,3,5\n',
        1,
        "1 row differs; 0 rows match.",
    ),
    "same name twice": ("id,id,v\n1,2,a\n", "id,id,v\n1,2,a\n", 0, "No row differs"),
    "other case": ("ID,V\n1,a\n2,b\n", GOOD, 0, "No row differs"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file(skillian: Run, tmp_path: Path, name: str) -> None:
    bad, good, code, text = CASES[name]
    (tmp_path / "bad.csv").write_text(bad, encoding="utf-8", newline="")
    (tmp_path / "good.csv").write_text(good, encoding="utf-8", newline="")
    done = skillian("compare", "bad.csv", "good.csv")
    assert done.returncode == code, (done.stdout, done.stderr)
    assert text in (done.stderr if code == 2 else done.stdout)
    assert "Traceback" not in done.stderr


def test_half_of_a_character_is_named_by_its_line(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "v": "a"}\n{"id": 2, "v": "\\ud83d"}\n')
    done = skillian("compare", "bad.jsonl", "good.csv")
    assert done.returncode == 2
    assert "bad.jsonl, line 2: \\ud83d is only half of a character" in done.stderr
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "v": "\\ud83d\\ude00"}\n')
    done = skillian("compare", "bad.jsonl", "good.csv")
    assert done.returncode == 1, done.stderr


def test_values_of_several_types_in_a_column_of_sqlite(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("id,v\n1,1\n2,2\n", encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "mixed.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER, v INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, 1), (2, "x")])
    done = skillian("compare", "good.csv", "sqlite:///mixed.sqlite#t")
    assert done.returncode == 1
    reason = "holds 'x', which is not exactly of its declared type (BIGINT)"
    assert f"Column v was not compared: mixed#t {reason}" in done.stdout
    done = skillian("compare", "good.csv", "sqlite:///mixed.sqlite#t", "--key", "v")
    assert done.returncode == 2
    assert f"column 'v' {reason}; it is part of the key: " in done.stderr


def test_a_key_that_is_text_on_one_side_and_a_number_on_the_other(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,v\n001,1\n002,2\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,v\n1,1\n2,3\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id")
    assert done.returncode == 2
    assert "a.csv holds '001' (line 2), '002', whose zeros a number does not keep" in done.stderr
    assert (
        "convert it in the `query` of a declared source, such as by CAST(id AS BIGINT)"
        in done.stderr
    )
    (tmp_path / "sources.yaml").write_text(
        "connections: {here: 'files:///.'}\n"
        "sources:\n"
        "  a: {connection: here, query: 'SELECT CAST(id AS BIGINT) AS id, v FROM \"a.csv\"',"
        " dimensions: {id: {column: id}}, measures: {v: {column: v, aggregation: sum}}}\n",
        encoding="utf-8",
    )
    done = skillian("compare", "a", "b.csv", "--key", "id")
    assert done.returncode == 1, done.stderr
    assert "1 row differs; 1 row matches." in done.stdout


def test_nan_zero_and_infinity(skillian: Run, tmp_path: Path) -> None:
    for name, zero in (("a", 0.0), ("b", -0.0)):
        table = pa.table({"id": [1, 2, 3], "v": [math.nan, zero, math.inf]})
        write_table(table, str(tmp_path / f"{name}.parquet"))
    assert skillian("compare", "a.parquet", "b.parquet").returncode == 0
    table = pa.table({"id": [1, 2, 3], "v": [math.nan, 0.0, -math.inf]})
    write_table(table, str(tmp_path / "c.parquet"))
    done = skillian("compare", "a.parquet", "c.parquet", "--rule", "200%")
    assert done.returncode == 1
    assert "1 row differs; 2 rows match." in done.stdout

"""Two small tables, the options, and the counts that somebody worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from typer.testing import CliRunner

from skillian.cli import app

KEY = ("--key", "id")


@dataclass(frozen=True)
class Case:
    """Two tables and what a comparison of them counts.

    Attributes:
        name: What the case is about.
        a: The text of a file, or the columns and rows of a table.
        b: The same for the other side.
        rows: Rows matched, differing, only in a, only in b, and duplicate on each side.
        options: Of the command line.
        mismatches: How many cells of a column differ.
    """

    name: str
    a: str
    b: str
    rows: tuple[int, int, int, int, int, int]
    options: tuple[str, ...] = KEY
    mismatches: Mapping[str, int] | None = None


def equal(name: str, a: str, b: str, *options: str, rows: int = 2) -> Case:
    return Case(name, a, b, (rows, 0, 0, 0, 0, 0), (*KEY, *options))


def one(name: str, a: str, b: str, *options: str) -> Case:
    """One of two rows differs, in column v."""
    return Case(name, a, b, (1, 1, 0, 0, 0, 0), (*KEY, *options), {"v": 1})


FILES = (
    one("absolute: at the limit", "id,v\n1,0.3\n2,0.3\n", "id,v\n1,0.4\n2,0.41\n", "--rule=0.1"),
    equal("absolute: a is 0", "id,v\n1,0\n2,-1\n", "id,v\n1,-1\n2,-2\n", "--rule=1"),
    one("relative: at the limit", "id,v\n1,100\n2,9\n", "id,v\n1,101\n2,10\n", "--rule=1%"),
    one("relative: of a, not b", "id,v\n1,100\n2,90\n", "id,v\n1,90\n2,100\n", "--rule=10%"),
    one("relative: a is 0", "id,v\n1,0\n2,0\n", "id,v\n1,0\n2,0.001\n", "--rule=50%"),
    equal("relative: negative", "id,v\n1,-100\n2,1\n", "id,v\n1,-101\n2,1\n", "--rule=1%"),
    one("both", "id,v\n1,1000\n2,10\n", "id,v\n1,1001\n2,11\n", "--rule=1", "--rule=1%"),
    one("a column's percentage", "id,v\n1,200\n2,200\n", "id,v\n1,202\n2,203\n", "--rule=v:1%"),
    one(
        "seconds: at the limit",
        "id,v\n1,2024-01-01 00:00:00\n2,2024-01-01 00:00:00\n",
        "id,v\n1,2024-01-01 00:00:05\n2,2024-01-01 00:00:05.1\n",
        "--rule=5s",
    ),
    equal("leap day", "id,v\n1,2024-02-28\n2,\n", "id,v\n1,2024-02-29\n2,\n", "--rule=86400s"),
    one(
        "precision cuts",
        "id,v\n1,2024-01-01 10:00:00\n2,2024-01-01 23:59:59\n",
        "id,v\n1,2024-01-01 11:00:00\n2,2024-01-02 00:00:00\n",
        "--rule=precision=day",
    ),
    equal(
        "offsets are instants",
        "id,v\n1,2024-01-01T10:00:00+02:00\n2,2024-01-01T00:00:00Z\n",
        "id,v\n1,2024-01-01 08:00:00\n2,2024-01-01 00:00:00\n",
    ),
    one("past 2^64", f"id,v\n1,{2**64}\n2,1\n", f"id,v\n1,{2**64 + 1}\n2,1\n"),
    one("42 digits", f"id,v\n1,{10**41}\n2,1\n", f"id,v\n1,{10**41 + 1}\n2,1\n"),
    one("20 places", f"id,v\n1,1.{1:020}\n2,1\n", f"id,v\n1,1.{2:020}\n2,1\n"),
    equal("scales", "id,v\n1,1.50\n2,1.0\n", "id,v\n1,1.5\n2,1\n"),
    equal("NaN is NaN", "id,v\n1,nan\n2,1.5\n", "id,v\n1,nan\n2,1.5\n"),
    one("an empty text is not NULL", 'id,v\n1,""\n2,b\n', "id,v\n1,\n2,b\n"),
    one("a word is not NULL", "id,v\n1,NULL\n2,b\n", "id,v\n1,\n2,b\n"),
    one("a column without values", "id,v\n1,\n2,\n", "id,v\n1,5\n2,\n"),
    one("a line break in a text", 'id,v\n1,"x\ny"\n2,b\n', 'id,v\n1,"x\nz"\n2,b\n'),
    equal("ends of lines", "id,v\r\n1,a\r\n2,b\r\n", "id,v\n1,a\n2,b\n"),
    equal("a byte order mark", "\ufeffid,v\n1,ä\n2,b\n", "id,v\n1,ä\n2,b\n"),
    equal("truth as numbers", "id,v\n1,true\n2,false\n", "id,v\n1,1\n2,0\n"),
    equal("names in other case", "ID,Val\n1,a\n2,b\n", "id,vAL\n1,a\n2,b\n"),
    equal(
        "columns swapped",
        "id,v,w\n1,1,2\n2,3,4\n",
        "id,v,w\n1,2,1\n2,4,3\n",
        "--map=v=w",
        "--map=w=v",
    ),
    Case("no rows", "id,v\n", "id,v\n1,x\n", (0, 0, 0, 1, 0, 0)),
    Case("NULL is a key", "id,v\n,1\n1,1\n", "id,v\n,2\n1,1\n", (1, 1, 0, 0, 0, 0), KEY, {"v": 1}),
    Case("keys of both", "id,v\n1,1\n1,1\n2,1\n", "id,v\n1,1\n2,1\n2,1\n", (0, 0, 0, 0, 3, 3)),
    Case(
        "trimmed keys",
        'id,v\n"a",1\n"a ",2\n',
        'id,v\n"a",1\n',
        (0, 0, 0, 0, 2, 1),
        (*KEY, "--rule=trim"),
    ),
    Case("rows with counts", "v\n1\n1\n2\n", "v\n1\n2\n2\n", (2, 0, 1, 1, 0, 0), ("--multiset",)),
    Case(
        "a key of two columns",
        "x,y,v\n1,1,5\n1,2,5\n2,1,5\n",
        "x,y,v\n1,1,5\n1,2,6\n2,1,5\n",
        (2, 1, 0, 0, 0, 0),
        (),
    ),
)
LINES = (
    equal(
        "other order of keys",
        '{"id": 1, "v": {"x": [{"p": 1, "q": 2}], "y": 3}}\n{"id": 2}\n',
        '{"v": {"y": 3, "x": [{"q": 2, "p": 1}]}, "id": 1}\n{"id": 2, "v": null}\n',
    ),
    one(
        "other value",
        '{"id": 1, "v": {"x": 1}}\n{"id": 2}\n',
        '{"id": 1, "v": {"x": 2}}\n{"id": 2}\n',
    ),
    one(
        "22 digits",
        '{"id": 1, "v": 1234567890123456789012}\n{"id": 2}\n',
        '{"id": 1, "v": 1234567890123456789013}\n{"id": 2}\n',
    ),
)
# The columns and the rows of a table in ClickHouse, next to those in DuckDB.
CLICKHOUSE = (
    one(
        "UInt64",
        f"id UInt64, v UInt64 | ({2**64 - 1}, {2**64 - 1}), (2, 2)",
        f"id UBIGINT, v UBIGINT | ({2**64 - 1}, {2**64 - 2}), (2, 2)",
    ),
    one(
        "Int128",
        f"id Int32, v Int128 | (1, {2**100}), (2, 2)",
        f"id INT, v HUGEINT | (1, {2**100 + 1}), (2, 2)",
    ),
    one(
        "nothing but NaN is NaN",
        "id Int32, v Float64 | (1, nan), (2, nan)",
        "id INT, v DOUBLE | (1, 'nan'), (2, 1)",
    ),
    equal(
        "a zone",
        "id Int32, v DateTime('Europe/Berlin') | (1, '2024-07-01 12:00:00')",
        "id INT, v TIMESTAMPTZ | (1, '2024-07-01 10:00:00+00')",
        rows=1,
    ),
)
TWO_CLICKHOUSE = (
    one(
        "Int256",
        f"id Int32, v Int256 | (1, {2**255 - 1}), (2, 2)",
        f"id Int32, v Int256 | (1, {2**255 - 2}), (2, 2)",
    ),
    one(
        "arrays",
        "id Int32, v Array(Int32) | (1, [1, 2]), (2, [])",
        "id Int32, v Array(Int32) | (1, [1]), (2, [])",
    ),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(case: Case, a: str, b: str) -> None:
    """Compare two tables at the command line, and hold the counts against the case."""
    done = CliRunner().invoke(
        app, ["compare", a, b, *case.options, "--format", "json"], standalone_mode=False
    )
    assert done.exception is None, done.stderr
    [result] = json.loads(done.stdout)["comparisons"]
    rows = result["rows"]
    names = (
        "matched",
        "differing",
        "only_in_a",
        "only_in_b",
        "duplicate_rows_a",
        "duplicate_rows_b",
    )
    assert tuple(rows[name] for name in names) == case.rows
    one_sided = rows["only_in_a"] + rows["duplicate_rows_a"]
    assert rows["a"] == rows["matched"] + rows["differing"] + one_sided
    mismatches = {each["a"]: each["mismatches"] for each in result["columns"]}
    assert {**mismatches, **(case.mismatches or {})} == mismatches
    assert not result["not_compared"]
    if sum(case.rows[1:]):
        assert done.return_value == 1
    else:
        assert done.return_value == int(result["schema"]["findings"] > 0)


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_files(case: Case, folder: Path) -> None:
    for name, text in (("a.csv", case.a), ("b.csv", case.b)):
        (folder / name).write_text(text, encoding="utf-8", newline="")
    check(case, "a.csv", "b.csv")


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.name)
def test_json_lines(case: Case, folder: Path) -> None:
    for name, text in (("a.jsonl", case.a), ("b.jsonl", case.b)):
        (folder / name).write_text(text, encoding="utf-8")
    check(case, "a.jsonl", "b.jsonl")


def stored(table: str) -> str:
    columns, _, rows = table.partition(" | ")
    create = f"CREATE TABLE t ({columns}) ENGINE = MergeTree ORDER BY tuple()"
    return in_clickhouse(create, f"INSERT INTO t VALUES {rows}") + "#t"  # noqa: S608


@needs_clickhouse
@pytest.mark.parametrize("case", CLICKHOUSE, ids=lambda case: case.name)
def test_clickhouse_and_duckdb(case: Case, folder: Path) -> None:
    columns, _, rows = case.b.partition(" | ")
    with duckdb.connect("b.duckdb") as database:
        database.execute(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES {rows}")  # noqa: S608
    check(case, stored(case.a), "duckdb:///b.duckdb#t")


@needs_clickhouse
@pytest.mark.parametrize("case", TWO_CLICKHOUSE, ids=lambda case: case.name)
def test_two_databases_of_clickhouse(case: Case) -> None:
    check(case, stored(case.a), stored(case.b))

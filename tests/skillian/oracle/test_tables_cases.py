"""Two small tables, the options, and the counts that somebody worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
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


MANY = 10**41
# What random rows have not: limits on the command line, forms of files, nested values.
FILES = (
    one("absolute: at the limit", "id,v\n1,0.3\n2,0.3\n", "id,v\n1,0.4\n2,0.41\n", "--rule=0.1"),
    one("relative: a is 0", "id,v\n1,0\n2,0\n", "id,v\n1,0\n2,0.001\n", "--rule=50%"),
    one("a column's percentage", "id,v\n1,200\n2,200\n", "id,v\n1,202\n2,203\n", "--rule=v:1%"),
    one("42 digits", f"id,v\n1,{MANY}\n2,1\n", f"id,v\n1,{MANY + 1}\n2,1\n"),
    one("a column without values", "id,v\n1,\n2,\n", "id,v\n1,5\n2,\n"),
    equal("ends of lines", "id,v\r\n1,a\r\n2,b\r\n", "id,v\n1,a\n2,b\n"),
    Case("NULL is a key", "id,v\n,1\n1,1\n", "id,v\n,2\n1,1\n", (1, 1, 0, 0, 0, 0), KEY, {"v": 1}),
)
LINES = (
    equal(
        "other order of keys",
        '{"id": 1, "v": {"x": [{"p": 1, "q": 2}], "y": 3}}\n{"id": 2}\n',
        '{"v": {"y": 3, "x": [{"q": 2, "p": 1}]}, "id": 1}\n{"id": 2, "v": null}\n',
    ),
    *(
        one(
            f"another {a}",
            f'{{"id": 1, "v": {a}}}\n{{"id": 2}}\n',
            f'{{"id": 1, "v": {b}}}\n{{"id": 2}}\n',
        )
        for a, b in (('{"x": 1}', '{"x": 2}'), ("1234567890123456789012", "1234567890123456789013"))
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
    names = "matched differing only_in_a only_in_b duplicate_rows_a duplicate_rows_b"
    assert tuple(rows[name] for name in names.split()) == case.rows
    one_sided = rows["only_in_a"] + rows["duplicate_rows_a"]
    assert rows["a"] == rows["matched"] + rows["differing"] + one_sided
    mismatches = {each["a"]: each["mismatches"] for each in result["columns"]}
    assert {**mismatches, **(case.mismatches or {})} == mismatches
    assert not result["not_compared"]
    if sum(case.rows[1:]):
        assert done.return_value == 1
    else:
        assert done.return_value == int(result["schema"]["findings"] > 0)


@pytest.mark.parametrize(
    ("form", "case"),
    [("csv", case) for case in FILES] + [("jsonl", case) for case in LINES],
    ids=lambda given: given if isinstance(given, str) else given.name,
)
def test_files(form: str, case: Case, folder: Path) -> None:
    for name, text in (("a", case.a), ("b", case.b)):
        (folder / f"{name}.{form}").write_text(text, encoding="utf-8", newline="")
    check(case, f"a.{form}", f"b.{form}")

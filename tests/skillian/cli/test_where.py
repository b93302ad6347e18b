"""`--where`: rows without a value, and columns of one side."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]
import pytest

from skillian.cli.compare_input import read_filters
from skillian.cli.shell import column_map, listed
from skillian.data.results.rows import map_options, option_name
from skillian.data.tables.why.results import Cause, in_rows

Run = Callable[..., "subprocess.CompletedProcess[str]"]

A = "id,name,deleted_at\n1,Ann,\n2,Bob,2024-01-31\n3,Cas,\n4,null,2024-02-01\n"
B = "id,name,gone\n1,Ann,\n2,Rob,\n3,Cas,x\n4,null,\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(A, encoding="utf-8")
    (tmp_path / "b.csv").write_text(B, encoding="utf-8")


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (("a.deleted_at is null",), (2, 4)),
        (("a.deleted_at IS NOT NULL",), (2, 4)),
        (("a.deleted_at=2024-01-31", "a.deleted_at is null"), (3, 4)),
        (("a.deleted_at!=2024-01-31", "a.deleted_at  is  not null"), (1, 4)),
        (("a.deleted_at>2024-01-31", "b.gone is null"), (1, 3)),
        (("b.gone=x",), (4, 1)),
        (("id<3", "a.id>1"), (1, 2)),
        (("name is null",), (0, 0)),
        (("name=null",), (1, 1)),
        (("name=it is null",), (0, 0)),
        (("id<>3",), (3, 3)),
        (("id != 3", "name <> Ann"), (2, 2)),
        (("id==3", "name == Cas"), (1, 1)),
        (("name= Cas",), (0, 0)),
        (("name=!=Cas",), (0, 0)),
        (('"name"=Cas', ' "b.gone" is not null'), (1, 1)),
    ],
)
def test_rows_are_chosen_by_null_and_by_columns_of_one_side(
    skillian: Run, where: tuple[str, ...], rows: tuple[int, int]
) -> None:
    options = [part for test in where for part in ("--where", test)]
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", *options, "--format", "json")
    [comparison] = json.loads(done.stdout)["comparisons"]
    counts = comparison["rows"]
    assert (counts["a"], counts["b"]) == rows


def test_a_parquet_column_of_no_type_has_no_value(skillian: Run, tmp_path: Path) -> None:
    table: Any = pa
    parquet: Any = pq
    for name, gone in (("a", ["x", None]), ("b", [None, None])):
        rows = table.table({"id": [1, 2], "gone": table.array(gone)})
        parquet.write_table(rows, tmp_path / f"{name}.parquet")
    where = ("--key", "id", "--where", "gone is null", "--format", "json")
    done = skillian("compare", "a.parquet", "b.parquet", *where)
    [comparison] = json.loads(done.stdout)["comparisons"]
    assert (comparison["rows"]["a"], comparison["rows"]["b"]) == (1, 2)


def test_a_report_names_the_side_of_a_filter(skillian: Run) -> None:
    where = ("--where", "a.deleted_at is null", "--where", "b.gone is null", "--where", "id<9")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", *where, "--format", "json")
    [comparison] = json.loads(done.stdout)["comparisons"]
    assert comparison["filters"] == [
        {"dimension": "id", "operator": "lt", "values": [9]},
        {"dimension": "a.deleted_at", "operator": "in", "values": [None]},
        {"dimension": "b.gone", "operator": "in", "values": [None]},
    ]


def test_a_column_that_a_side_does_not_have_is_named(skillian: Run) -> None:
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", "--where", "a.gone is null")
    assert done.returncode == 2
    assert "'gone'" in done.stderr
    assert "a.csv" in done.stderr


def test_a_column_with_a_point_in_its_name_has_precedence(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a.x,x\n1,1,2\n2,2,1\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "a.csv", "--key", "id", "--where", "a.x=1")
    assert "the only row of" in done.stdout
    assert done.returncode == 0, done.stderr


def test_names_with_the_signs_of_a_test_are_in_quotes(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text('id,a,a=b,"x""<y"\n1,b=1,2,<z>\n2,c,1,=w\n', encoding="utf-8")
    for where, key in (
        ("a=b=1", 1),
        ('"a=b"=1', 2),
        ('"a=b">1', 1),
        ('"x""<y"==<z>', 1),
        ('"x""<y"===w', 2),
    ):
        done = skillian("compare", "c.csv", "c.csv", "--key", "id", "--where", where)
        other = skillian("compare", "c.csv", "c.csv", "--key", "id", "--where", f"id={key}")
        assert done.returncode == 0, done.stderr
        assert done.stdout == other.stdout
    done = skillian("compare", "c.csv", "c.csv", "--key", "id", "--where", '"a.a=b" <> 1')
    assert "1 row is only in c.csv" in " ".join(done.stdout.split()), done.stderr
    for wrong in ('"a=b=1', "=1", '""=1', '"a=b"'):
        done = skillian("compare", "c.csv", "c.csv", "--where", wrong)
        assert "is not of the form" in done.stderr


@pytest.mark.parametrize("name", ["v", "a=b", 'x"y', " v", "<a>", "a,b", "a!", "two words", "ä:b"])
def test_what_a_report_advises_is_read_as_it_is_meant(name: str) -> None:
    stated = option_name(name)
    assert listed([stated]) == (name,)
    assert column_map(shlex.split(map_options([(name, "w"), ("w", name)]))[1::2]) == {
        name: "w",
        "w": name,
    }
    assert read_filters([f"{stated} is null"]) == {name: [None]}
    assert read_filters([f"{stated}!=x"]) == {name: {"ne": ["x"]}}
    for value in ("x", "=x", "<none>", "!x", ">", "", " x"):
        option = in_rows(Cause(("w",), "", "", 1), name, [value]).option
        assert read_filters(shlex.split(option)[1::2]) == {name: [value]}


@pytest.mark.parametrize(
    ("values", "where", "code"),
    [
        ("10,9|10,9,n/a", "n>=9", 2),
        ("10,9|10,9,n/a", "n=9", 0),
        ("10,9|", "n>=9", 1),
        ("10|10.5", "n>9", 0),
        ("2024-01-01 10:00|2024-01-01 10:00,x", "n<2025-01-01", 2),
        ("2024-01-01|2024-01-01,9999-99-99", "n<2025-01-01", 0),
    ],
)
def test_a_filter_orders_both_sides_alike(
    skillian: Run, tmp_path: Path, values: str, where: str, code: int
) -> None:
    for name, cells in zip("ab", values.split("|"), strict=True):
        rows = [f"{cell},k,1\n" for cell in cells.split(",") if cell]
        (tmp_path / f"{name}.csv").write_text("".join(["n,k,v\n", *rows]), encoding="utf-8")
    compare = ("compare", "a.csv", "b.csv", "--where", where)
    for kind in (("--multiset", "--ignore", "n"), ("--measure", "v", "--by", "k")):
        done = skillian(*compare, *kind)
        assert done.returncode == code, done.stdout + done.stderr
        if code == 2:
            assert "which has another order; b.csv holds" in done.stderr
    if code == 2:
        sides = ("--where", f"a.{where}", "--where", f"b.{where}")
        done = skillian(*compare[:3], *sides, "--multiset", "--ignore", "n")
        assert done.returncode != 2, done.stderr

"""`--where`: rows without a value, and columns of one side."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]
import pytest

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

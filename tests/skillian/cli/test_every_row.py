"""`skillian compare --output`: all rows that differ, in each format."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]
from python_calamine import CalamineWorkbook

_parquet_files: Any = parquet  # pyarrow carries no types
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Row = dict[str, Any]
FORMATS = ("csv", "xlsx", "parquet", "jsonl")
SAME, CHANGED = 500, 1_200
ALL = [argument for form in FORMATS for argument in ("--output", f"diff.{form}")]


def read(path: Path) -> list[Row]:
    """The rows of a file, numbers as floats, nothing as None, without the quote of a formula."""
    return [
        {name: _plain(value) for name, value in row.items()} for row in _READERS[path.suffix](path)
    ]


def _plain(value: Any) -> Any:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value).removeprefix("'")


def _csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def _xlsx(path: Path) -> Iterator[Row]:
    names, *rows = (
        CalamineWorkbook.from_filelike(io.BytesIO(path.read_bytes()))
        .get_sheet_by_index(0)
        .to_python()
    )
    return (dict(zip(map(str, names), row, strict=True)) for row in rows)


def _parquet(path: Path) -> Iterator[Row]:
    table: Any = _parquet_files.read_table(path)
    return iter(table.to_pylist())


def _jsonl(path: Path) -> Iterator[Row]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


_READERS = {".csv": _csv, ".xlsx": _xlsx, ".parquet": _parquet, ".jsonl": _jsonl}


def write(path: Path, rows: list[tuple[Any, ...]], names: str = "id,name,amount,day") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names.split(","), *rows])


@pytest.fixture
def truth(tmp_path: Path) -> list[Row]:
    """Two files, and all rows that differ between them."""
    a = [(n, f"name {n}", f"{n}.50", "2024-01-31") for n in range(SAME + CHANGED)]
    a += [(9001, "=1+1", "1.00", ""), (9003, "twice", "1.00", ""), (9003, "twice", "2.00", "")]
    b = [(n, name, f"{n}.75" if n >= SAME else amount, day) for n, name, amount, day in a[:-3]]
    b[-1] = (*b[-1][:3], "2024-02-01")
    b += [(9002, "Zoë", "-1.00", ""), (9003, "twice", "1.00", "")]
    write(tmp_path / "a.csv", a)
    write(tmp_path / "b.csv", b)
    day = "2024-01-31"
    rows = [
        _row(
            "differs",
            "amount",
            (1, 1, n),
            (f"name {n}", n + 0.5, day),
            (f"name {n}", n + 0.75, day),
        )
        for n in range(SAME, SAME + CHANGED)
    ]
    rows[-1] |= {"differing": "amount, day", "day b": "2024-02-01"}
    rows.append(_row("only in a", None, (1, 0, 9001), ("=1+1", 1, None)))
    rows.append(_row("only in b", None, (0, 1, 9002), b=("Zoë", -1, None)))
    rows.append(_row("duplicate key", None, (2, 1, 9003)))
    return rows


def _row(
    kind: str,
    differing: str | None,
    counts: tuple[int, int, int],
    a: tuple[Any, ...] = (None,) * 3,
    b: tuple[Any, ...] = (None,) * 3,
) -> Row:
    names = ["class", "differing", "rows a", "rows b", "id"]
    cells: list[Any] = [kind, differing, *counts]
    for name, one, other in zip(("name", "amount", "day"), a, b, strict=True):
        names += [f"{name} a", f"{name} b"]
        cells += [one, other]
    return dict(zip(names, cells, strict=True))


def test_every_format_holds_every_row(skillian: Run, tmp_path: Path, truth: list[Row]) -> None:
    done = skillian("compare", "a.csv", "b.csv", "--key", "id", *ALL, "--output", "diff.html")
    assert done.returncode == 1, done.stderr
    assert f"{CHANGED:,} rows differ" in done.stderr
    for form in FORMATS:
        assert f"All rows that differ are in diff.{form}" in done.stderr
        assert read(tmp_path / f"diff.{form}") == truth, form
    table: Any = _parquet_files.read_table(tmp_path / "diff.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["id"] == "int64"
    assert kinds["amount a"].startswith("decimal128")
    assert kinds["day a"] == "date32[day]"
    assert sorted(path.name for path in tmp_path.glob("*diff*")) == [
        *("diff.csv", "diff.html", "diff.jsonl", "diff.parquet", "diff.xlsx"),
    ]


def test_files_of_equal_tables_have_columns_and_no_rows(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [(1, "x", "1.00", "")])
    done = skillian("compare", "a.csv", "a.csv", "--key", "id", *ALL)
    assert done.returncode == 0, done.stderr
    assert "No row differs" in done.stdout  # files of rows do not replace what is printed
    for form in FORMATS:
        assert read(tmp_path / f"diff.{form}") == []
    table: Any = _parquet_files.read_table(tmp_path / "diff.parquet")
    assert table.schema.names[:5] == ["class", "differing", "rows a", "rows b", "id"]


def test_the_suffix_of_a_file_of_rows_decides_whatever_the_format(
    skillian: Run, tmp_path: Path
) -> None:
    write(tmp_path / "a.csv", [(1, "x", "1.00", "")])
    write(tmp_path / "b.csv", [(1, "y", "1.00", "")])
    report = ["--output", "report.txt"]
    for outputs in (ALL, [*ALL, *report]):
        done = skillian("compare", "a.csv", "b.csv", "--key", "id", "--format", "json", *outputs)
        assert done.returncode == 1, done.stderr
        for form in FORMATS:
            [row] = read(tmp_path / f"diff.{form}")
            assert row["class"] == "differs"
        is_file = outputs is not ALL
        text = (tmp_path / "report.txt").read_text("utf-8") if is_file else done.stdout
        assert json.loads(text)["verdict"] == "findings"


@pytest.mark.parametrize("options", [["--key", "id"], ["--multiset"], ["--measure", "n"]])
def test_a_column_has_one_type_with_and_without_rows(
    skillian: Run, tmp_path: Path, options: list[str]
) -> None:
    names = "id,name,n,day,placed_at,active,ratio"
    one = (1, "x", "1.50", "2024-01-31", "2024-01-31 10:00:00", "true", "1e-7")
    by = ["--by", "id,name,day,placed_at,active"] if "--measure" in options else []
    write(tmp_path / "a.csv", [one], names)
    write(tmp_path / "b.csv", [(*one[:2], "2.25", *one[3:])], names)
    kinds: list[dict[str, str]] = []
    for other in ("a.csv", "b.csv"):
        done = skillian("compare", "a.csv", other, *options, *by, "--output", "diff.parquet")
        assert done.returncode == int(other == "b.csv"), done.stderr
        table: Any = _parquet_files.read_table(tmp_path / "diff.parquet")
        kinds.append({field.name: str(field.type) for field in table.schema})
    assert kinds[0] == kinds[1]
    found = {"int64", "string", "date32[day]", "timestamp[us]", "bool"}
    assert found <= {*kinds[0].values()}, kinds[0]
    assert any(kind.startswith("decimal128") for kind in kinds[0].values())


def test_rows_without_a_key_have_their_counts(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [("x", 1), ("x", 1), ("y", 2)], "class,n")
    write(tmp_path / "b.csv", [("x", 1), ("y", 2), ("z", 3)], "class,n")
    done = skillian("compare", "a.csv", "b.csv", "--multiset", "--output", "diff.jsonl")
    assert done.returncode == 1, done.stderr
    assert read(tmp_path / "diff.jsonl") == [
        {"class": "only in a", "rows a": 2, "rows b": 1, "class 2": "x", "n": 1},
        {"class": "only in b", "rows a": 0, "rows b": 1, "class 2": "z", "n": 3},
    ]


def test_the_rows_are_those_of_the_key_that_was_chosen(skillian: Run, tmp_path: Path) -> None:
    a = [(n, f"x{n}", n % 3) for n in range(40)]
    b = [(n if n < 10 else n + 100, f"x{n}" if n < 5 else f"y{n}", n % 3) for n in range(40)]
    write(tmp_path / "a.csv", a, "id,code,amount")
    write(tmp_path / "b.csv", b, "id,code,amount")
    done = skillian("compare", "a.csv", "b.csv", "--output", "diff.jsonl")
    assert "id is used" in done.stdout, done.stdout
    assert done.stderr.count("All rows that differ") == 1
    rows = read(tmp_path / "diff.jsonl")
    assert list(rows[0])[4] == "id"
    only = [row for row in rows if row["class"].startswith("only")]
    assert len(only) == 60


def test_groups_that_differ(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [("x", 1), ("y", "2.50"), ("y", 1)], "town,n")
    write(tmp_path / "b.csv", [("x", 1), ("y", 3)], "town,n")
    done = skillian("compare", "a.csv", "b.csv", "--measure", "n", "--by", "town", *ALL)
    assert done.returncode == 1, done.stderr
    for form in FORMATS:
        [row] = read(tmp_path / f"diff.{form}")
        assert (row["town"], row["n a"], row["n b"], row["n b - a"]) == ("y", 3.5, 3, -0.5), form


def test_groups_with_other_numbers_of_rows_are_there_if_they_are_findings(
    skillian: Run, tmp_path: Path
) -> None:
    """`y` was split, `z` is the same; by `all`, a group has many rows, and nothing is a finding."""
    rows = [("x", "g", 1), ("y", "g", 3), ("z", "g", 2)]
    write(tmp_path / "a.csv", rows, "town,all,n")
    write(tmp_path / "b.csv", [*rows[1:], ("x", "g", "0.50"), ("x", "g", "0.50")], "town,all,n")
    for by, expected in (("town", [("x", "match", 1, 2)]), ("all", [])):
        done = skillian("compare", "a.csv", "b.csv", "--measure", "n", "--by", by, *ALL)
        assert done.returncode == len(expected), done.stderr
        for form in FORMATS:
            found = read(tmp_path / f"diff.{form}")
            groups = [(row["town"], row["class"], row["rows a"], row["rows b"]) for row in found]
            assert groups == expected, form


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--format", "csv"], "name a file for the rows"),
        (["--output", "there/is/none.csv"], "there/is/none.csv cannot be written"),
        (["--output", "diff.doc"], ".csv, .xlsx, .parquet, .jsonl"),
        (["--output", "saved.yaml", "--format", "json"], "saved.yaml is a file of another kind"),
    ],
)
def test_what_cannot_be_written_is_said_first(
    skillian: Run, truth: list[Row], tmp_path: Path, arguments: list[str], expected: str
) -> None:
    del truth
    (tmp_path / "saved.yaml").touch()
    done = skillian("compare", "a.csv", "b.csv", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in " ".join(done.stderr.split())


def test_rows_of_an_earlier_run_are_named(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,n\n1,2\n")
    (tmp_path / "b.csv").write_text("id,n\n1,3\n")
    compare = ("compare", "a.csv", "b.csv", "--key", "id", *ALL)
    assert "earlier" not in skillian(*compare, "--save", "saved").stderr
    (tmp_path / "b.csv").write_text("id,n\n1\n")
    done = skillian("compare", "saved.yaml", *ALL)
    assert done.returncode == 2
    assert "diff.csv has the rows of an earlier run" in done.stderr


def test_rows_are_those_of_one_comparison(skillian: Run, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "t.csv", [("x", 1)], "town,n")
    done = skillian("compare", "one", "other", "--all", "--output", "diff.csv")
    assert done.returncode == 2
    assert "--all writes reports" in " ".join(done.stderr.split())


def test_an_empty_text_is_not_written_as_no_value(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,""\n2,x\n')
    (tmp_path / "b.csv").write_text('id,name\n1,\n2,""\n')
    skillian("compare", "a.csv", "b.csv", "--key", "id", *ALL)
    lines = (tmp_path / "diff.csv").read_text("utf-8-sig").splitlines()
    assert lines[1:] == ['differs,name,1,1,1,"",', 'differs,name,1,1,2,x,""']
    again = skillian("compare", "diff.csv", "diff.parquet", "--key", "id")
    assert again.returncode == 0, again


@pytest.mark.parametrize(
    "words",
    [
        "compare a.csv b.csv --output b.csv",
        "compare a.csv?null=x b.csv --output diff.csv --output ./a.csv",
        "compare b.csv c.jsonl --output report.html --output c.jsonl",
        "compare one other --sources sources.yaml --measure id --by name --output a.csv",
        "compare rows.yaml --output b.csv",
        "compare . folder --all --output folder/a.json",
        "schema a.csv folder/a.json --output folder/a.json",
    ],
)
def test_what_is_compared_is_not_written_over(skillian: Run, tmp_path: Path, words: str) -> None:
    (tmp_path / "folder").mkdir()
    files = {
        "a.csv": "id,name\n1,x\n",
        "b.csv": "id,name\n1,y\n",
        "c.jsonl": '{"id": 1, "name": "z"}\n',
        "folder/a.json": '[{"id": 1, "name": "z"}]\n',
        "sources.yaml": "connections: {files: 'files:///.'}\nsources:\n"
        + "".join(
            f"  {name}:\n    connection: files\n    table: {file}\n"
            "    dimensions: {name: {column: name}}\n"
            "    measures: {id: {column: id, aggregation: sum}}\n"
            for name, file in (("one", "a.csv"), ("other", "b.csv"))
        ),
        "rows.yaml": "sources: sources.yaml\ncompare: [{name: x, a: one, b: other, key: [id]}]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = skillian(*words.split())
    assert (done.returncode, "is what is compared; name another" in done.stderr) == (2, True), done
    assert {name: (tmp_path / name).read_text() for name in files} == files

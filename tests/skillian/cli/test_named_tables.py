"""How tables are named on the command line: files, sheets, addresses, and declared sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import duckdb
import pytest
import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]

Run = Callable[..., CompletedProcess[str]]

OLD = "id;name;paid\n1;Ann;1,50\n2;Bob;2,00\n"
DECLARED = """
connections: {exports: 'files:///exports?decimal=,'}
sources:
  old: {connection: exports, table: old.csv, dimensions: {ident: {column: id}}}
  new: {connection: exports, table: new.csv, dimensions: {ident: {column: id}}}
"""


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Two files with a decimal comma, which a `sources.yaml` without measures declares."""
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "old.csv").write_text(OLD, encoding="utf-8")
    (folder / "new.csv").write_text(OLD.replace("2,00", "2,01"), encoding="utf-8")
    (tmp_path / "sources.yaml").write_text(DECLARED, encoding="utf-8")
    return folder


@pytest.fixture
def databases(tmp_path: Path) -> None:
    """A table in two DuckDB databases and a Parquet file; that of b has another amount."""
    for name, paid in (("a", "2.00"), ("b", "2.01")):
        with duckdb.connect(tmp_path / f"{name}.duckdb") as database:
            database.execute("CREATE TABLE t (id INTEGER, name TEXT, paid DECIMAL(9, 2))")
            database.execute("INSERT INTO t VALUES (1, 'Ann', 1.50), (2, 'Bob', ?)", [paid])
            database.execute(f"COPY t TO '{tmp_path / name}.parquet'")


@pytest.mark.usefixtures("exports")
def test_rows_of_files_are_read_as_a_sources_yaml_declares_them(skillian: Run) -> None:
    done = skillian("compare", "exports/old.csv", "exports/new.csv", "--key", "id")
    assert done.returncode == 1, done.stderr
    assert "exports/old.csv is read as sources.yaml declares it: source old" in done.stderr
    assert "paid differs in 1 row (50 % of those compared), by at most 0.01." in done.stdout
    done = skillian("compare", "old", "exports/old.csv", "--where", "ident=2")
    assert done.returncode == 0, done.stderr
    done = skillian("schema", "exports/old.csv", "exports/new.csv", "--format", "json")
    columns = json.loads(done.stdout)["columns"]
    assert [each["a"]["column"] for each in columns] == ["id", "name", "paid"]


@pytest.mark.usefixtures("exports")
def test_options_after_the_name_of_a_file_precede_its_declaration(skillian: Run) -> None:
    compare = ("compare", "exports/old.csv", "exports/new.csv", "--csv", "delimiter=;")
    done = skillian(*compare)
    assert (done.returncode, done.stderr) == (1, "")
    assert "2,00 → 2,01 (1)" in done.stdout


def test_a_source_without_measures_is_valid(skillian: Run, exports: Path) -> None:
    assert exports.is_dir()
    assert skillian("sources", "check").returncode == 0
    lines = ["old", "  dimensions: ident", "  2 rows", "new", "  dimensions: ident", "  2 rows"]
    assert skillian("sources", "list").stdout.splitlines() == lines


@pytest.mark.usefixtures("databases")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("duckdb:///a.duckdb#t", "b.parquet"),
        ("a.duckdb#t", "b.duckdb"),
        ("a.parquet", "b.duckdb#main.t"),
        ("ledger", "b.parquet"),
        ("duckdb:///a.duckdb#t", "ledger_b"),
    ],
)
def test_measures_of_every_kind_of_table_are_compared(
    skillian: Run, tmp_path: Path, a: str, b: str
) -> None:
    source = (
        "{connection: %s, table: t, dimensions: {id: {column: id}},"
        " measures: {paid: {column: paid, aggregation: sum}}}"
    )
    (tmp_path / "conf").mkdir()
    text = "connections: {one: 'duckdb:///../a.duckdb', other: 'duckdb:///../b.duckdb'}\n"
    text += f"sources:\n  ledger: {source % 'one'}\n  ledger_b: {source % 'other'}\n"
    (tmp_path / "conf" / "sources.yaml").write_text(text, encoding="utf-8")
    compare = ("compare", a, b, "--measure", "paid", "--by", "id", "--format", "json")
    done = skillian(*compare, SKILLIAN_SOURCES="conf/sources.yaml")
    assert done.returncode == 1, done.stderr
    [result] = json.loads(done.stdout)["comparisons"]
    total = result["summary"]["measures"]["paid"]
    assert (total["total_a"], total["total_b"]) == ("3.50", "3.51")


def test_sheets_are_named_by_their_names_also_the_first(skillian: Run, tmp_path: Path) -> None:
    for name, last in (("a", "Bob"), ("b", "Rob")):
        with xlsxwriter.Workbook(str(tmp_path / f"{name}.xlsx")) as book:
            for sheet in ("Plan & more", "Actual"):
                page: Any = book.add_worksheet(sheet)  # pyright: ignore[reportUnknownMemberType]
                for row, cells in enumerate((("id", "name"), (1, "Ann"), (2, last))):
                    page.write_row(row, 0, cells)
            book.add_worksheet("empty")  # pyright: ignore[reportUnknownMemberType]
    done = skillian("compare", "a.xlsx#Plan & more", "b.xlsx#Actual")
    assert done.returncode == 1, done.stderr
    assert "Bob → Rob (1)" in done.stdout
    assert skillian("compare", "a.xlsx#Plan & more", "a.xlsx").returncode == 0
    done = skillian("compare", "a.xlsx#Plam", "b.xlsx")
    assert done.returncode == 2
    assert "it has no sheet 'Plam'; its sheets: Plan & more, Actual" in done.stderr
    for nothing in ("a.xlsx#empty", "a.xlsx?header=9"):
        done = skillian("compare", nothing, "b.xlsx")
        assert done.returncode == 2
        assert f"{nothing}: the sheet has no names and rows" in done.stderr


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_path_that_does_not_exist_is_named(skillian: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "old.csv").write_text(OLD, encoding="utf-8")
    done = skillian("compare", "old.csv", f"{kind}:///tmp/gone#t")
    assert done.returncode == 2
    assert f"there is no 'tmp/gone' in {tmp_path}" in done.stderr
    assert f"for /tmp/gone write {kind}:////tmp/gone" in done.stderr


def test_a_schema_shows_proposals_of_renamed_columns(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,town\n1,Ulm\n2,Bonn\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,city\n1,Ulm\n2,Kiel\n", encoding="utf-8")
    done = skillian("schema", "a.csv", "b.csv")
    assert done.returncode == 1, done.stderr
    assert (
        "Column 'town' may have been renamed to 'city' (50 % of the values in a sample are in"
        " both)." in done.stdout
    )
    assert "To compare columns with different names, add --map town=city" in done.stdout
    assert skillian("schema", "a.csv", "b.csv", "--map", "town=city").returncode == 0
    report = json.loads(skillian("schema", "a.csv", "b.csv", "--format", "json").stdout)
    [proposal] = report["proposals"]
    assert (proposal["a"], proposal["b"]) == ("town", "city")
    junit = skillian("schema", "a.csv", "b.csv", "--format", "junit").stdout
    assert "may have been renamed" in junit

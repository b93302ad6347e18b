"""Differences of schemas that are findings of `skillian compare`, and those that are not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ROWS = "INSERT INTO {} VALUES (1, 'Ann', 1.50), (2, 'Bob', 2.50)"
TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, name {}, price {});" + ROWS


def test_a_type_that_holds_every_value_of_another_engine_counts_as_equal(
    skillian: Run, postgres_database: Database, mysql_database: MySQLDatabase
) -> None:
    postgres_database.execute(TABLE.format("t", "TEXT", "NUMERIC(12, 4)", "t"))
    mysql_database.execute(TABLE.format("t", "VARCHAR(20)", "DECIMAL(9, 2)", "t"))
    compare = ("compare", f"{postgres_database.url}#t", f"{mysql_database.url}#t")
    done = skillian(*compare)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "which loses what is longer; every value fits." in done.stdout
    assert skillian(*compare, "--fail-on", "schema").returncode == 1
    assert skillian(*compare, "--rule", "0.01").returncode == 1  # they need not be the same


@pytest.mark.parametrize(("key", "code"), [(2, 0), (3, 1)])
def test_a_type_that_holds_every_key_of_another_engine_counts_as_equal(
    skillian: Run, tmp_path: Path, key: int, code: int
) -> None:
    table = "CREATE TABLE t (k {}, v INTEGER); INSERT INTO t VALUES (1, 5), ({}, 7)"
    for name, kind, other in (("a.duckdb", "BIGINT", 2), ("b.duckdb", "DECIMAL(12, 0)", key)):
        with duckdb.connect(tmp_path / name) as connection:
            connection.execute(table.format(kind, other))
            connection.execute(f"COPY t TO '{tmp_path / 'a.parquet'}'" if name[0] == "a" else "")
    sides = (str(tmp_path / "a.parquet"), f"duckdb:///{tmp_path}/b.duckdb#t")
    done = skillian("compare", *sides, "--measure", "v", "--by", "k", "--where", "k<3")
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [(("d",), 0), (("d", "--fail-on", "schema"), 1), (("d,g",), 1)],
)
def test_sums_count_only_types_of_columns_that_they_use(
    skillian: Run, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        for side, kind in (("a", "BIGINT"), ("b", "INTEGER")):
            connection.execute(f"CREATE TABLE {side} (n INTEGER, d DATE, g {kind})")
            connection.execute(f"INSERT INTO {side} VALUES (5, '2024-01-01', 7)")  # noqa: S608 - ours
    names = [f"duckdb:///{tmp_path}/shop.duckdb#{side}" for side in "ab"]
    done = skillian("compare", *names, "--measure", "n", "--by", *options)
    assert done.returncode == code, done.stdout + done.stderr


@pytest.fixture
def shop(tmp_path: Path) -> tuple[str, str]:
    """Two tables of one engine with the same rows, types that lose digits, and one column more."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(TABLE.format("old", "VARCHAR", "DECIMAL(12, 4)", "old"))
        connection.execute(TABLE.format("new", "VARCHAR", "DECIMAL(9, 2)", "new"))
        connection.execute("ALTER TABLE new ADD COLUMN town VARCHAR")
    return f"duckdb:///{tmp_path}/shop.duckdb#old", f"duckdb:///{tmp_path}/shop.duckdb#new"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--accept", "schema:price"), 1),
        (("--accept", "schema:price,schema:TOWN"), 0),
        (("--accept", "schema:price", "--accept", "schema:town"), 0),
        (("--accept", "schema:*"), 0),
        (("--accept", "schema:*", "--fail-on", "schema"), 0),
        (("--accept", "schema:prize"), 2),
        (("--accept", "price"), 2),
    ],
)
def test_differences_of_schemas_are_accepted_by_name(
    skillian: Run, shop: tuple[str, str], options: tuple[str, ...], code: int
) -> None:
    done = skillian("compare", *shop, *options)
    assert done.returncode == code, done.stdout + done.stderr
    if code < 2:
        assert "Column 'town' (VARCHAR) is only in shop#new." in done.stdout
        assert "match in 3 of 4 columns; town was not compared." in done.stdout
    else:
        assert "price" in done.stderr


def test_reports_tell_accepted_differences_from_findings(
    skillian: Run, shop: tuple[str, str]
) -> None:
    done = skillian("compare", *shop, "--accept", "schema:*", "--format", "junit")
    assert (done.returncode, "<failure" in done.stdout) == (0, False)
    done = skillian("compare", *shop, "--accept", "schema:*", "--format", "json")
    [result] = json.loads(done.stdout)["comparisons"]
    assert (result["equal"], result["schema"]["findings"]) == (True, 0)
    assert {each["accepted"] for each in result["schema"]["differences"]} == {True}


def test_differences_that_all_tables_may_have_are_accepted_in_all(
    skillian: Run, tmp_path: Path, shop: tuple[str, str]
) -> None:
    for name, town in (("a", ""), ("b", ",town")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "people.csv").write_text(f"id{town}\n1{',Ulm' if town else ''}\n")
        (folder / "orders.csv").write_text("id,n\n1,2\n")
    assert skillian("compare", "a", "b", "--all").returncode == 1
    assert skillian("compare", "a", "b", "--all", "--accept", "schema:town").returncode == 0


def test_the_columns_of_a_query_over_files_have_guessed_types_too(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,n\n1,5\n2,7\n", encoding="utf-8")
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1::INTEGER AS id, 5::SMALLINT AS n")
        connection.execute("INSERT INTO t VALUES (2, 7)")
    (tmp_path / "sources.yaml").write_text(
        """
connections: {files: "files:///.", shop: "duckdb:///shop.duckdb"}
sources:
  orders: {connection: files, query: 'SELECT id, n FROM "a.csv" WHERE n > 0',
    dimensions: {id: {column: id}}, measures: {n: {column: n, aggregation: sum}}}
  booked: {connection: shop, table: t,
    dimensions: {id: {column: id}}, measures: {n: {column: n, aggregation: sum}}}
""",
        encoding="utf-8",
    )
    done = skillian("compare", "orders", "booked", "--key", "id", "--sources", "sources.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loses" not in done.stdout

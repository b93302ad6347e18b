"""`skillian schema`: the columns of two tables."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree.ElementTree import fromstring

import duckdb
import pytest
from tests.skillian.cli.conftest import Run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("id,amount,gone\n1,1.50,x\n")
    (tmp_path / "b.csv").write_text("ID,amount,new\n1,1.5,2\n")
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA old; CREATE TABLE orders (id INTEGER, v DECIMAL(10, 2))")
        connection.execute("CREATE TABLE old.orders (id BIGINT PRIMARY KEY, v DECIMAL(10, 3))")
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, v DECIMAL(10,2))")
    return tmp_path


def test_a_column_on_one_side_only_is_a_finding(skillian: Run, files: Path) -> None:
    done = skillian("schema", "a.csv", "b.csv")
    assert done.returncode == 1
    assert "Column 'gone' (VARCHAR) is only in a.csv." in done.stdout
    assert "Column 'new' (BIGINT) is only in b.csv." in done.stdout


def test_equivalent_schemas_are_no_finding(skillian: Run, files: Path) -> None:
    done = skillian("schema", "a.csv", "b.csv", "--ignore", "gone", "--ignore", "new")
    assert (done.returncode, "The schemas are equivalent." in done.stdout) == (0, True)


def test_tables_of_two_databases(skillian: Run, files: Path) -> None:
    wider = ("schema", "duckdb:///shop.duckdb#orders", "sqlite:///shop.sqlite#orders")
    done = skillian(*wider)
    assert done.returncode == 0
    assert (
        "Column 'id' is INTEGER in shop#orders, INTEGER in shop_2#orders, which holds all of its"
        " values and more." in done.stdout
    )
    assert skillian(*wider, "--fail-on", "schema").returncode == 1
    assert skillian(*wider[:1], *wider[:0:-1]).returncode == 0  # SQLite declares no width


def test_the_report_for_programs(skillian: Run, files: Path) -> None:
    arguments = ("schema", "duckdb:///shop.duckdb#old.orders", "duckdb:///shop.duckdb#orders")
    report = json.loads(skillian(*arguments, "--format", "json").stdout)
    assert report["verdict"] == "findings"
    assert [(each["relation"], each["losses"]) for each in report["columns"]] == [
        ("loses", ["range"]),
        ("loses", ["precision"]),
    ]
    assert [each["aspect"] for each in report["differences"]] == [
        *("type", "nullability", "type", "primary key"),
    ]
    done = skillian(*arguments, "--output", "report.xml")
    suite = fromstring((files / "report.xml").read_text())[0]  # noqa: S314 - our own
    assert (done.returncode, suite.attrib["tests"], suite.attrib["failures"]) == (1, "3", "2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c.csv", "a.csv"), "there is no file 'c.csv' in"),
        (
            ("a.csv", "duckdb:///shop.duckdb"),
            "such as URL#table; its tables: main.orders, old.orders",
        ),
        (("a.csv", "duckdb:///shop.duckdb#none"), "there is no table 'none' in its database"),
        (("a.csv", "tape:///x#t"), "'tape:///x#t' is not a file or the URL of a table"),
        (("a.csv", "b.csv", "--map", "gone"), "'gone' is not of the form a_name=b_name"),
        (("a.csv", "b.csv", "--map", "x=new"), "there is no column 'x' in a"),
        (("a.csv", "b.csv", "--output", "x.html"), "x.html has no suffix of a report format"),
        (("a.csv", "b.csv", "--output", "no/x.json"), "there is no folder no"),
    ],
)
def test_what_is_wrong_is_reported(
    skillian: Run, files: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = skillian("schema", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_lost_column_is_a_finding_of_a_comparison_of_measures(skillian: Run, files: Path) -> None:
    (files / "b.csv").write_text("id,amount,new\n1,1.5,2\n")
    compared = ("compare", "a.csv", "b.csv", "--measure", "amount", "--by", "id")
    done = skillian(*compared)
    assert done.returncode == 1
    assert "No differences" not in done.stdout
    assert "Schema: column 'gone' (VARCHAR) is only in a.csv." in done.stdout
    report = json.loads(skillian(*compared, "--format", "json").stdout)["comparisons"][0]
    assert (report["verdict"], report["findings"], report["schema"]["findings"]) == (
        *("findings", 2, 2),
    )
    suite = fromstring(skillian(*compared, "--format", "junit").stdout)[0]  # noqa: S314 - our own
    assert suite.attrib["failures"] == "2"
    for form in ("markdown", "html"):
        assert "is only in b.csv" in skillian(*compared, "--format", form).stdout


def test_the_same_columns_in_another_order_count_only_if_asked_for(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,amount\n1,1.50\n")
    (tmp_path / "b.csv").write_text("amount,id\n1.50,1\n")
    compared = ("compare", "a.csv", "b.csv", "--measure", "amount", "--by", "id")
    assert skillian(*compared).returncode == 0
    done = skillian(*compared, "--fail-on", "schema")
    assert (done.returncode, "in another order" in done.stdout) == (1, True)


def test_tables_of_one_name_in_two_schemas_are_two_tables(skillian: Run, files: Path) -> None:
    with duckdb.connect(files / "shop.duckdb") as connection:
        connection.execute("INSERT INTO orders VALUES (1, 2.5)")
    done = skillian("compare", "duckdb:///shop.duckdb#orders", "duckdb:///shop.duckdb#old.orders")
    assert done.returncode == 1
    assert "1 row is only in shop#orders" in done.stdout

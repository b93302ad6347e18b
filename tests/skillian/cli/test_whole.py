"""`skillian compare --all`: all tables of two schemas, with faults planted in seven of 200."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import fromstring

import duckdb
import pytest
from playwright.sync_api import expect
from tests.skillian.cli.conftest import Run
from tests.support.browser import chromium
from tests.support.postgres import Database, Server
from tests.support.waits import until

from skillian.data.declare.saved import SavedComparison
from skillian.data.whole import plan_whole

COMMAND = Path(sys.executable).parent / "skillian"
TABLES = """
DO $$ BEGIN FOR n IN 0..{last} LOOP EXECUTE format('
    CREATE TABLE %1$I (id int PRIMARY KEY, name text, amount numeric(12, 2), at timestamptz);
    INSERT INTO %1$I
    SELECT i, ''n'' || i, i * 1.25, ''2024-01-01Z''::timestamptz + i * interval ''1h''
    FROM generate_series(1, 20) AS i;', 't' || lpad(n::text, 3, '0'));
END LOOP; END $$;
"""
FAULTS = {
    "t001": "UPDATE t001 SET amount = amount + 0.01 WHERE id = 7",
    "t002": "DELETE FROM t002 WHERE id = 20",
    "t003": "INSERT INTO t003 VALUES (21, 'x', 1, now())",
    "t004": "ALTER TABLE t004 DROP COLUMN name",
    "t005": "ALTER TABLE t005 ALTER amount TYPE numeric(6, 2)",
    "t006": "ALTER TABLE t006 DROP CONSTRAINT t006_pkey; INSERT INTO t006 TABLE t006 LIMIT 1",
    "t007": "DROP TABLE t007",
}
ENDLESS = """
CREATE VIEW endless_one AS SELECT i AS id FROM generate_series(1, 1000000000) AS i;
CREATE VIEW endless_two AS SELECT i AS id FROM generate_series(1, 1000000000) AS i;
"""
WORDS = {
    "t001": "amount differs in 1 row",
    "t002": "1 row is only in",
    "t003": "1 row is only in",
    "t004": "Column 'name' (text) is only in",
    "t005": "which loses values outside its range",
    "t006": "The key (id) is not unique",
    "t007": "Table t007 is only in",
}


@pytest.fixture
def databases(postgres_server: Server) -> Iterator[tuple[Database, Database]]:
    with postgres_server.database() as a, postgres_server.database() as b:
        yield a, b


@pytest.mark.parametrize("tables", [200, pytest.param(12)])
def test_exactly_the_planted_faults_are_found(
    tables: int, skillian: Run, databases: tuple[Database, Database], tmp_path: Path
) -> None:
    for database in databases:
        database.execute(TABLES.replace("{last}", str(tables - 1)))
    for fault in FAULTS.values():
        databases[1].execute(fault)
    outputs = ("report.json", "report.xml", "report.html")
    options = [word for name in outputs for word in ("--output", name)]
    done = skillian("compare", databases[0].url, databases[1].url, "--all", *options)
    assert done.returncode == 1, done.stderr
    assert f"{tables} tables: {tables - 7} equal, 7 with differences" in done.stderr

    comparisons = json.loads((tmp_path / "report.json").read_text())["comparisons"]
    assert len(comparisons) == tables
    faulty = {each["name"]: each for each in comparisons if each["verdict"] != "equal"}
    assert sorted(faulty) == sorted(FAULTS)
    for name, words in WORDS.items():
        assert words in " ".join(faulty[name].get("sentences", ())) + (faulty[name]["reason"] or "")
    equal = next(each for each in comparisons if each["name"] == "t008")
    assert (equal["key"]["columns"], equal["key"]["origin"]) == (["id"], "catalogue")

    suites = fromstring((tmp_path / "report.xml").read_text())  # noqa: S314 - our own
    failing = {suite.attrib["name"] for suite in suites if suite.attrib["failures"] != "0"}
    assert failing == set(FAULTS)
    assert {suite.attrib["errors"] for suite in suites} == {"0"}

    with chromium() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "report.html").as_uri())
        expect(page.locator("tbody tr")).to_have_count(tables)
        differing = page.locator("tbody tr:has(.findings) a").all_inner_texts()
        assert sorted(differing) == sorted(FAULTS)
        page.get_by_role("link", name="t001", exact=True).click()
        expect(page.locator("main")).to_contain_text("amount differs in 1 row")


def test_a_table_that_cannot_be_compared_is_a_row(skillian: Run, tmp_path: Path) -> None:
    for side, broken in (("old", ""), ("new", "\0\0")):
        folder = tmp_path / side
        folder.mkdir()
        (folder / "good.csv").write_text("id,v\n1,x\n")
        (folder / "bad.parquet").write_text(f"not parquet{broken}")
        (folder / "same.csv").write_text("v\n1\n1\n")
    done = skillian("compare", "old", "new", "--all")
    assert done.returncode == 2
    assert "bad: connection 'old': bad.parquet: it is damaged" in done.stdout
    assert "same: no key was given, and no column or combination" in done.stdout
    assert "3 tables: 1 equal, 2 that could not be compared" in done.stdout
    done = skillian("compare", "old", "new", "--all", "--multiset", "--exclude", "bad")
    assert (done.returncode, "2 tables: 2 equal" in done.stdout) == (0, True)


def test_a_schema_of_postgresql_and_one_of_duckdb(
    skillian: Run, databases: tuple[Database, Database], tmp_path: Path
) -> None:
    databases[0].execute(TABLES.replace("{last}", "2"))
    with duckdb.connect(tmp_path / "copy.duckdb") as connection:
        for name in ("T000", "t001", "t002"):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT i::INTEGER AS id, 'n' || i AS name,"  # noqa: S608
                " (i * 1.25)::DECIMAL(12, 2) AS amount,"
                " TIMESTAMPTZ '2024-01-01 00:00:00+00' + i * INTERVAL 1 HOUR AS at"
                " FROM range(1, 21) AS r(i)"
            )
        connection.execute('UPDATE t002 SET "at" = "at" + INTERVAL 1 SECOND WHERE id = 3')
    server, _, options = databases[0].url.partition("?")
    names = (f"{server}/public?{options}", "duckdb:///copy.duckdb#main", "--all")
    done = skillian("compare", *names)
    assert "3 tables: 2 equal, 1 with differences" in done.stdout, done.stderr
    assert (
        "t002: 1 row differs; 19 rows match. No key was given; id is the primary key" in done.stdout
    )
    assert "at differs in 1 row" in done.stdout
    assert done.returncode == 1


def test_tables_of_two_engines_by_schema_and_pattern(skillian: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.Orders (id INTEGER, v VARCHAR)")
        connection.execute("CREATE TABLE Orders (id INTEGER, v VARCHAR)")
        connection.execute("CREATE TABLE notes (v VARCHAR); CREATE TABLE old.tmp_x (v VARCHAR)")
        for table in ("Orders", "old.Orders"):
            connection.execute(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')")  # noqa: S608
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "orders.csv").write_text("id,v\n1,x\n2,y\n")
    (tmp_path / "files" / "notes.csv").write_text("v\n")
    url = "duckdb:///shop.duckdb"
    done = skillian("compare", url, "files", "--all", "--include", "ord*")
    assert (done.returncode, "1 table: 1 equal" in done.stdout) == (0, True)
    done = skillian("compare", url, f"{url}#OLD", "--all")
    assert done.returncode == 1
    assert "Table notes is only in shop." in done.stdout
    assert "Table tmp_x is only in shop#old." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old", "none", "--all"), "'none' is neither the URL of a database nor a folder"),
        (("old", "--all"), "--all compares two schemas; name the second one"),
        (("old", "old", "--all", "--key", "id"), "--key does not go with --all"),
        (("old", "old", "--all", "--include", "q*"), "no table fits --include 'q*'; nearest: a"),
        (("old", "old", "--all", "--exclude", "*"), "there is no table to compare in old and old"),
        (("old", "old", "--include", "a"), "--include goes with --all"),
        (("old", "duckdb:///x.duckdb", "--all"), "cannot be opened or read"),
        (("old", "files:///old#other", "--all"), "has no schema 'other' with tables"),
        (("old", "old", "--all", "--format", "html"), "name a file for the index of pages"),
    ],
)
def test_what_is_wrong_is_said(
    skillian: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.csv").write_text("id\n1\n")
    done = skillian("compare", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "pairs", "missing"),
    [
        ("o.csv.gz", "o.csv", 1, 0),
        ("O.JSONL.gz", "o.tsv", 1, 0),
        ("o.csv.csv", "o.csv", 0, 2),
        ("o.csv o.tsv", "o.csv", 1, 1),
        ("o.csv o.csv.gz p.csv", "o.csv.gz p.tsv", 2, 1),
    ],
)
def test_files_that_differ_in_their_suffix(
    tmp_path: Path, old: str, new: str, pairs: int, missing: int
) -> None:
    for folder, names in (("old", old), ("new", new)):
        (tmp_path / folder).mkdir()
        for name in names.split():
            (tmp_path / folder / name).touch()
    urls = f"files:///{tmp_path}/old", f"files:///{tmp_path}/new"
    whole = asyncio.run(plan_whole(urls, tmp_path, SavedComparison(name="all", a="a", b="b")))
    assert (len(whole.comparisons), len(whole.missing)) == (pairs, missing)


def test_what_is_not_compared_in_a_folder_is_named(skillian: Run, tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("id\n1\n")
    done = skillian("compare", "old", "new", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "old" / "more").mkdir()
    (tmp_path / "new" / "b.txt").touch()
    (tmp_path / "new" / ".hidden").touch()
    done = skillian("compare", "old", "new", "--all")
    assert done.returncode == 0
    assert "'more/' in old" in done.stderr
    assert "'b.txt' in new" in done.stderr


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_leaves_nothing_running(
    presses: int, databases: tuple[Database, Database], tmp_path: Path
) -> None:
    for database in databases:
        database.execute(TABLES.replace("{last}", "3"))
        database.execute(ENDLESS)
    process = subprocess.Popen(
        [COMMAND, "compare", databases[0].url, databases[1].url, "--all", "--multiset"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "SKILLIAN_SOURCES"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: all(database.active() for database in databases))
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)  # the time between two presses of a hurried user
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in output + errors
    until(lambda: not any(database.active() for database in databases))

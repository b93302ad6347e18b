from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import duckdb
import pytest
from tests.support.postgres import Database

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_sources_inferred_from_a_database_pass_the_check(skillian: Run, demo: Path) -> None:
    output = demo.parent / "inferred.yaml"
    done = skillian("sources", "infer", "duckdb:///ledger.duckdb", "--output", str(output))
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote 2 sources." in done.stderr
    checked = skillian("sources", "check", "--sources", str(output))
    assert checked.returncode == 0, checked.stdout
    assert "sum 6586678.06" in checked.stdout
    assert "0 faults" in checked.stdout
    again = skillian("sources", "infer", "duckdb:///ledger.duckdb", "--output", str(output))
    assert again.returncode == 2
    assert "already" in again.stderr


def test_what_cannot_be_written_or_has_no_table_is_refused(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = skillian("sources", "infer", "empty", "--output", "no/x.yaml")
    assert (done.returncode, "there is no folder no" in done.stderr) == (2, True)
    for output in ((), ("--output", "x.yaml")):
        done = skillian("sources", "infer", "empty", *output)
        assert (done.returncode, "there is no table in empty" in done.stderr) == (2, True)
    assert not (tmp_path / "x.yaml").exists()


def test_a_file_of_sources_that_is_not_there_is_named(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    compare = ("compare", "a.csv", "a.csv")
    assert skillian(*compare).stderr == ""
    done = skillian(*compare, SKILLIAN_SOURCES="typo.yaml")
    assert (done.returncode, "there is no typo.yaml" in done.stderr) == (0, True)
    done = skillian("sources", "list", SKILLIAN_SOURCES=".")
    assert (done.returncode, "create it" in done.stderr) == (2, False)


def test_without_an_output_the_text_is_printed_and_nothing_else(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("company,amount\n001,1.5\n")
    done = skillian("sources", "infer", ".")
    assert done.returncode == 0
    assert "connections:\n  data: files:///.\n" in done.stdout
    assert done.stdout.endswith("      rows: {expression: '1', aggregation: count}\n")
    (tmp_path / "sources.yaml").write_text(done.stdout)
    assert skillian("sources", "check").returncode == 0


def test_a_path_is_that_of_a_folder_or_of_a_database_and_keeps_its_options(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "a.csv").write_text("company,amount\n001,NA\n002,1.5\n")
    with duckdb.connect(tmp_path / "b.duckdb") as database:
        database.execute("CREATE TABLE b AS SELECT '1' AS company, 1.5 AS amount")
    done = skillian("sources", "infer", "exports?null=NA", "b.duckdb", "--output", "exports/s.yaml")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "exports" / "s.yaml").read_text()
    assert "files:///.?null=NA\n" in written
    assert "duckdb:///../b.duckdb\n" in written
    assert skillian("sources", "check", "--sources", "exports/s.yaml").returncode == 0
    for name, reason in (("exports/a.csv", "name their folder: exports"), ("gone", "no such")):
        refused = skillian("sources", "infer", name)
        assert refused.returncode == 2
        assert reason in " ".join(refused.stderr.split())


def test_a_fault_makes_the_check_fail(skillian: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as database:
        database.execute("CREATE TABLE t AS SELECT '1x' AS k, 1.5 AS m")
    (tmp_path / "sources.yaml").write_text(
        "connections: {c: 'duckdb:///a.duckdb'}\n"
        "sources: {s: {connection: c, table: t, dimensions: {k: {column: k, type: integer}},"
        " measures: {m: {column: m, aggregation: sum}}}}\n"
    )
    done = skillian("sources", "check")
    assert done.returncode == 1
    assert re.search(r"dimension k +FAULT +1 of 1 values cannot .* such as '1x'", done.stdout)
    assert "1 fault" in done.stdout
    assert skillian("sources", "check", "--sources", "gone.yaml").returncode == 2


@pytest.fixture
def hushed_url(postgres_database: Database) -> Generator[str]:
    """The URL for a role that may read one table; its password is `hush/hush`."""
    postgres_database.execute(
        "CREATE ROLE hushed LOGIN PASSWORD 'hush/hush'; CREATE TABLE t (company TEXT, amount"
        " NUMERIC(9,2), loose NUMERIC); INSERT INTO t VALUES ('1001', 1.5, 2.555);"
        " GRANT SELECT ON t TO hushed"
    )
    yield postgres_database.url_for("hushed", "hush/hush")
    postgres_database.execute("DROP OWNED BY hushed; DROP ROLE hushed")


def test_a_password_is_never_written(skillian: Run, hushed_url: str, tmp_path: Path) -> None:
    url = hushed_url
    done = skillian("sources", "infer", url, "--output", "sources.yaml")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "sources.yaml").read_text()
    assert "hush" not in text + done.stdout + done.stderr
    variable = next(line for line in text.splitlines() if "${" in line).split("${")[1].rstrip("}")
    assert f"Set {variable}" in done.stderr
    checked = skillian("sources", "check", **{variable: url})
    assert (checked.returncode, "sum 1.50" in checked.stdout) == (0, True), checked.stdout
    unset = skillian("sources", "check")
    assert (unset.returncode, variable in unset.stderr) == (2, True)

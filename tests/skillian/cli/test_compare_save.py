"""`skillian compare --save`: what was asked, as a saved comparison with the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.skillian.cli.conftest import Run
from tests.support.postgres import Database

OLD = "id,name,amount,town\n1,Ann,1.5,Ulm\n2,Bob,2.5,Bonn\n3,Cy,3.5,Kiel\n"
NEW = "id,name,amount,city\n1,Ann,1.6,Ulm\n2,bob ,2.5,Bonn\n4,Di,3.5,Kiel\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)


def lasting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a report without the values of one run."""
    own = {"name", "seconds", "history", "proof", "cache_key", "snapshot"}
    return {name: value for name, value in pairs if name not in own}


def report(skillian: Run, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the comparisons, without what differs between two runs of one question."""
    done = skillian("compare", *arguments, "--format", "json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout, object_pairs_hook=lasting)["comparisons"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--key", "id", "--map", "town=city", "--ignore", "amount"),
        ("--key", "id", "--rule", "amount:0.1", "--rule", "name:trim,ignore_case"),
        ("--columns", "id,name", "--where", "id>=2", "--where", "a.town is not null"),
        ("--multiset", "--columns", "amount", "--accept", "schema:*", "--fail-on", "schema"),
    ],
)
def test_what_is_saved_gives_the_same_result(skillian: Run, options: tuple[str, ...]) -> None:
    asked = report(skillian, "old.csv", "new.csv", *options, "--save", "specs")
    assert report(skillian, "specs.yaml") == asked


@pytest.mark.parametrize(
    "options", [("--limit", "minor:0.2", "--fail-on", "major"), ("--where", "name=Ann")]
)
def test_measures_that_are_saved_give_the_same_result(
    skillian: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "new.csv").write_text(NEW.replace("city", "town"))
    question = ("old.csv", "new.csv", "--measure", "amount", "--by", "id", *options)
    asked = report(skillian, *question, "--save", "specs")
    assert report(skillian, "specs.yaml") == asked


def test_schemas_of_measures_are_said_to_be_no_findings_once_declared(skillian: Run) -> None:
    question = ("old.csv", "new.csv", "--measure", "amount", "--by", "id")
    done = skillian("compare", *question, "--save", "specs")
    assert "differences of their schemas are no longer findings" in done.stderr


def test_names_of_the_file_and_of_the_comparison(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    done = skillian("compare", "old.csv", "new.csv", "--save", "specs/close")
    assert "Saved: skillian compare specs/close.yaml" in done.stderr
    content = yaml.safe_load((tmp_path / "specs" / "close.yaml").read_text())
    assert content == {
        "sources": "close.sources.yaml",
        "compare": [{"name": "close", "a": "old.csv", "b": "new.csv"}],
    }
    assert skillian("compare", "specs/close.yaml").returncode == 1


def test_files_below_the_folder_are_relative(skillian: Run, tmp_path: Path) -> None:
    skillian("compare", "old.csv?null=NA", "new.csv", "--save", "close")
    (tmp_path / "moved").mkdir()
    for name in ("close.yaml", "close.sources.yaml", "old.csv", "new.csv"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    assert skillian("compare", "moved/close.yaml").returncode == 1


SOURCES = """
connections: {data: 'files:///old.csv'}
sources:
  people:
    connection: data
    table: old.csv
    dimensions: {id: {column: id}, name: {column: name}}
    measures: {amount: {column: amount, aggregation: sum}}
"""


def test_declared_sources_stay_where_they_are(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(SOURCES)
    (tmp_path / "specs").mkdir()
    asked = report(skillian, "people", "old.csv", "--key", "id", "--save", "specs/close")
    content = yaml.safe_load((tmp_path / "specs" / "close.yaml").read_text())
    assert content["sources"] == "../sources.yaml"
    assert (content["compare"][0]["a"], content["compare"][0]["b"]) == ("people", "people")
    assert asked[0] == skillian("compare", "specs/close.yaml").returncode == 0


def test_a_declared_source_beside_another_table(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(SOURCES)
    asked = report(skillian, "people", "new.csv", "--key", "id", "--save", "close")
    assert report(skillian, "close.yaml") == asked
    assert (tmp_path / "close.sources.yaml").exists()
    assert (tmp_path / "sources.yaml").read_text() == SOURCES


@pytest.mark.parametrize("name", ["close.yaml", "close.sources.yaml"])
def test_no_file_is_overwritten(skillian: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    done = skillian("compare", "old.csv", "new.csv", "--save", "close")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert (tmp_path / name).read_text() == "mine"


def test_what_cannot_be_compared_is_not_saved(skillian: Run, tmp_path: Path) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--key", "nothing", "--save", "close")
    assert done.returncode == 2
    assert not (tmp_path / "close.yaml").exists()


@pytest.mark.parametrize("name", ["", ".", "no/such/folder"])
def test_names_that_cannot_be_written_are_refused(skillian: Run, name: str) -> None:
    done = skillian("compare", "old.csv", "new.csv", "--save", name)
    assert done.returncode == 2
    assert "--save" in done.stderr


def test_a_saved_comparison_is_not_saved_again(skillian: Run) -> None:
    skillian("compare", "old.csv", "new.csv", "--save", "close")
    assert skillian("compare", "close.yaml", "--save", "other").returncode == 2


def test_a_password_is_written_as_a_variable_or_not_at_all(
    skillian: Run, tmp_path: Path, postgres_database: Database
) -> None:
    name = postgres_database.name
    postgres_database.execute(
        f"CREATE TABLE people (id int, name text); CREATE ROLE {name} LOGIN PASSWORD 's3cret';"
        f" GRANT SELECT ON people TO {name}"
    )
    url = f"{postgres_database.url_for(name, 's3cret')}#people"
    arguments = ("compare", "old.csv", url, "--multiset", "--save", "close")
    done = skillian(*arguments)
    assert done.returncode == 2
    assert "write the secret part as a variable" in done.stderr
    assert "s3cret" not in done.stderr
    assert not [*tmp_path.glob("close*")]

    socket = url.partition("host=")[2].partition("#")[0]
    secrets = {"SHOP_PASSWORD": "s3cret", "SHOP_HOST": socket}
    safe = url.replace("s3cret", "${SHOP_PASSWORD}").replace(socket, "${SHOP_HOST}")
    done = skillian("compare", "old.csv", safe, "--multiset", "--save", "close", **secrets)
    assert done.returncode == 1, done.stderr
    written = (tmp_path / "close.sources.yaml").read_text()
    assert "${SHOP_PASSWORD}" in written
    assert "s3cret" not in written
    done = skillian("compare", "close.yaml", **secrets)
    assert done.returncode == 1, done.stderr


def test_all_tables_have_a_block_each(skillian: Run, tmp_path: Path) -> None:
    for folder, text in (("a", OLD), ("b", NEW)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "people.csv").write_text(text)
        (tmp_path / folder / "same.csv").write_text(OLD)
    (tmp_path / "a" / "gone.csv").write_text(OLD)
    done = skillian("compare", "a", "b", "--all", "--ignore", "amount,city", "--save", "whole")
    assert done.returncode == 1
    assert "gone is only on one side and is not saved" in done.stderr
    blocks = yaml.safe_load((tmp_path / "whole.yaml").read_text())["compare"]
    assert [(each["name"], each["key"], each["ignore"]) for each in blocks] == [
        ("people", ["id"], ["amount", "city"]),
        ("same", ["id"], ["amount"]),
    ]
    code, (people, same) = report(skillian, "whole.yaml")
    assert (code, people["verdict"], same["verdict"]) == (1, "findings", "equal")
    (tmp_path / "a" / "same.csv").write_text("id,name\n1\n")
    done = skillian("compare", "a", "b", "--all", "--save", "rest")
    assert done.returncode == 2
    assert "same could not be compared and is not saved" in done.stderr
    blocks = yaml.safe_load((tmp_path / "rest.yaml").read_text())["compare"]
    assert [each["name"] for each in blocks] == ["people"]
    assert skillian("compare", "rest.yaml").returncode == 1


def test_a_name_that_would_be_read_as_a_variable_is_not_saved(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "${HOME}.csv").write_text(NEW)
    assert skillian("compare", "old.csv", "${HOME}.csv", "--key", "id").returncode == 1
    done = skillian("compare", "old.csv", "${HOME}.csv", "--key", "id", "--save", "close")
    assert done.returncode == 2
    assert "${HOME} in its name" in done.stderr
    assert not (tmp_path / "close.yaml").exists()

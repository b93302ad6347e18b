"""The commands of README.md and docs/comparing.md, typed by a new user into an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]
import yaml
from tests.support.postgres import Database

from skillian.data.declare.infer import connection_name
from skillian.data.declare.saved import SavedFile

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)


def test_the_readme_has_the_first_example() -> None:
    assert re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.DOTALL) == EXAMPLES[:1]
    assert README.count("\n") <= 150


def commands() -> list[str]:
    """Each line of the page's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.timeout(180)
def test_the_commands_do_what_they_say(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    codes: dict[str, int] = {}
    for command in commands():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert "error:" not in done.stderr, done.stderr
        codes[command] = done.returncode
    compared = [code for command, code in codes.items() if command.startswith("skillian compare")]
    assert compared == [1, 1, 1]
    assert {
        code for command, code in codes.items() if not command.startswith("skillian compare")
    } == {0}
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "close.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.fixture
def people(tmp_path: Path, postgres_database: Database) -> dict[str, str]:
    """The tables of the examples; returns what stands for the database of the page."""
    rows = [("id", "name", "city"), (1, "Ann", "Ulm"), (2, "Bob", "Bonn"), (3, "Cy", "Kiel")]
    for command in (each for each in commands() if each.startswith("printf")):
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    for name, town in (("people", "Bonn"), ("copy", "Köln")):
        with xlsxwriter.Workbook(str(tmp_path / f"{name}.xlsx")) as book:
            sheet: Any = book.add_worksheet()  # pyright: ignore[reportUnknownMemberType]
            for index, row in enumerate(rows):
                sheet.write_row(index, 0, [town if cell == "Bonn" else cell for cell in row])
    postgres_database.execute(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
        "INSERT INTO people VALUES (1, 'Ann', 'Ulm'), (2, 'Bob', 'Bonn')"
    )
    url = postgres_database.url
    return {
        "postgresql://reader@db.example/shop": url,
        "shop#people": f"{connection_name(url)}#people",
    }


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
def test_an_example_prints_what_the_page_shows(
    tmp_path: Path, people: dict[str, str], command: str, output: str
) -> None:
    arguments = shlex.split(command)
    [(address, url), (name, real)] = people.items()
    done = subprocess.run(
        [Path(sys.executable).with_name(arguments[0])]
        + [each.replace(address, url) for each in arguments[1:]],
        cwd=tmp_path,
        env={"COLUMNS": "100", "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert plain(done.stdout.replace(real, name)) == plain(output)


def plain(text: str) -> list[str]:
    """The lines of a text without spaces at their ends and without empty lines."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_saved_file_on_the_page_is_one() -> None:
    page = (ROOT / "docs" / "skillian.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(sources: .*?)```", page, re.DOTALL)
    assert block is not None
    [comparison] = SavedFile.model_validate(yaml.safe_load(block[1])).compare
    assert (comparison.name, comparison.fail_on) == ("close", "major")

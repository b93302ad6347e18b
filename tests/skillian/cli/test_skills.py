"""`skillian skills`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillian.cli.app import app
from skillian.demo.ledger import write_demo


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_a_new_skill_is_checked_listed_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = str(write_demo(tmp_path))
    assert run("skills", "new", "contacts", "--in", "mine")[0] == 0
    code, output = run("skills", "check", "mine")
    assert code == 0
    assert "contacts: no faults; tools: 1, knowledge passages: 1" in output
    assert "ask contacts about" in output
    monkeypatch.setenv("SKILLIAN_SKILLS", "mine")
    code, output = run("skills", "list")
    assert code == 0
    assert "data-analyst" in output
    assert "contacts" in output
    code, output = run("ask", "Ask contacts about example", "--sources", sources)
    assert code == 0
    assert "This is an example." in output


def test_the_faults_of_a_skill_are_shown_with_their_lines(tmp_path: Path) -> None:
    run("skills", "new", "contacts", "--in", str(tmp_path))
    run("skills", "new", "other", "--in", str(tmp_path))
    file = tmp_path / "contacts" / "SKILL.md"
    file.write_text("---\nname: x y\nversion: 1\n---\n")
    code, output = run("skills", "check", str(tmp_path))
    assert code == 1
    assert f"{file}:3: the format has no 'version'" in output
    assert f"{file}:2: name: it has characters other" in output
    assert "other: no faults" in output
    assert run("skills", "check", str(tmp_path / "nothing"))[0] == 1


def test_a_tools_file_that_cannot_be_imported(tmp_path: Path) -> None:
    run("skills", "new", "contacts", "--in", str(tmp_path))
    file = tmp_path / "contacts" / "tools.py"
    file.write_text("import os\nfrom nowhere import it\n")
    code, output = run("skills", "check", str(tmp_path / "contacts"))
    assert code == 1
    assert "cannot be imported" in output
    file.write_text("import os\ndef tools(:\n")
    assert f"{file}:2: it cannot be imported" in run("skills", "check", str(file.parent))[1]


def test_errors_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("skills", "new", "No Name", "--in", str(tmp_path))[0] == 2
    monkeypatch.setenv("SKILLIAN_SKILLS", str(tmp_path / "nothing"))
    code, output = run("skills", "list")
    assert code == 2
    assert "there is no skill" in output

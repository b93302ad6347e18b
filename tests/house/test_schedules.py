"""The examples of schedules in docs/continuous.md: they parse, and their commands exist."""

import ast
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from skillian.cli import app

TEXT = (Path(__file__).parents[2] / "docs" / "continuous.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"skillian (?:compare|history)[^\n`|#>]*", TEXT)))


def block_after(heading: str) -> str:
    match = re.search(rf"### {heading}\n.*?```\w*\n(.*?)```", TEXT, re.DOTALL)
    assert match
    return match[1]


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_options_that_exist(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command fails only because its file or its history does not exist here."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.removesuffix(" 2").rstrip("',").removesuffix('"'))[1:]
    output = " ".join(CliRunner().invoke(app, words).output.split())
    assert "there is no file" in output or "has run yet" in output


def test_the_airflow_example_is_python() -> None:
    assert ast.parse(block_after("Airflow")).body


def test_the_workflow_is_yaml() -> None:
    steps = yaml.safe_load(block_after("GitHub Actions"))["jobs"]["compare"]["steps"]
    assert any("--fail-on new" in step.get("run", "") for step in steps)


def test_the_cron_line_has_five_fields() -> None:
    *_, line = block_after("cron").strip().splitlines()
    assert re.match(r"(\S+ ){5} ?cd ", line)

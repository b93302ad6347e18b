"""The commands of README.md, typed by a new user into an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from skillian.data.declare.saved import SavedFile

ROOT = Path(__file__).parents[3]
SECTION = re.compile(r"## A comparison in one command\n(.*?)\n## ", re.DOTALL)


def section() -> str:
    match = SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert match is not None
    return match[1]


def commands() -> list[str]:
    """Each line of the section's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", section(), re.DOTALL)
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
    [(command, output)] = re.findall(r"```console\n\$ (.*?)\n(.*?)```", section(), re.DOTALL)
    shown = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 1
    assert plain(shown.stdout) == plain(output)


def plain(text: str) -> list[str]:
    """The lines of a text without spaces at their ends and without empty lines."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_saved_file_on_the_page_is_one() -> None:
    page = (ROOT / "docs" / "skillian.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(sources: .*?)```", page, re.DOTALL)
    assert block is not None
    [comparison] = SavedFile.model_validate(yaml.safe_load(block[1])).compare
    assert (comparison.name, comparison.fail_on) == ("close", "major")

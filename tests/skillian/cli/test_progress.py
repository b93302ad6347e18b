"""What a terminal shows while a comparison runs: phases with their counts."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support.terminal import everything

from skillian.tasks import phase, reporting, within

COMMAND = Path(sys.executable).parent / "skillian"
ROWS = 400
CONTROL = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")


def test_phases_go_to_who_asked_for_them() -> None:
    heard: list[str] = []
    phase("nobody hears this")
    with reporting(heard.append):
        phase("joining")
        with within("explaining, rule 1"):
            phase("reading", 12_000)
        phase("joining", 0)
    phase("nobody hears this")
    with within("nobody hears this"):
        phase("nor this")
    expected = ["joining", "explaining, rule 1", "explaining, rule 1: reading: 12,000 rows"]
    assert heard == [*expected, "joining: 0 rows"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Amounts in euros and in cents, in files and in a database."""
    for name, factor in (("a", 1), ("b", 100)):
        lines = (f"{number},{(number * 7 % 50 + 1) * factor}" for number in range(ROWS))
        (tmp_path / f"{name}.csv").write_text("\n".join(("id,net", *lines)) + "\n")
        with duckdb.connect(tmp_path / f"{name}.duckdb") as connection:
            connection.execute(f"CREATE TABLE t AS FROM '{tmp_path / name}.csv'")
    return tmp_path


def shown(folder: Path, *arguments: str) -> str:
    """All that the command draws on a terminal for standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "compare", *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ):
        os.close(theirs)
        written = everything(ours)
    return CONTROL.sub("", written.decode())


def test_a_terminal_shows_phases_and_counts(folder: Path) -> None:
    text = shown(folder, "a.csv", "b.csv", "--why", "--output", "d.csv", "--output", "d.xlsx")
    for words in (
        "finding the key",
        "joining in the database",
        f"staging what differs: {ROWS} rows",
        f"writing d.csv: {ROWS} rows",
        f"writing d.xlsx: {ROWS} rows",
        "explaining, rule 1 of at most 8: joining in the database",
    ):
        assert words in text


def test_all_tables_are_counted(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / f"{name}.csv").rename(folder / name / "t.csv")
    text = shown(folder, "a", "b", "--all")
    assert "0/1" in text
    assert "t (finding the key)" in text


def test_a_pipe_shows_no_phases(folder: Path) -> None:
    done = subprocess.run(
        [COMMAND, "compare", "a.csv", "b.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")

"""A full disk: a sentence and exit code 2; no file is half, and the result is printed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

COMMAND = Path(sys.executable).parent / "skillian"
BYTES = 1000
ROWS = 300
FORMATS = ("html", "json", "xml", "txt", "csv", "xlsx", "parquet", "jsonl")
# A DuckDB with little memory writes temporary files, which may not be larger than a limit.
SPILL = """
import sys
from skillian.connectors.duckdb import engine
engine._CONFIG |= {"memory_limit": "30MB", "threads": "2"}
from skillian.cli import app
from tinyagent_commands import call
sys.exit(call(app, sys.argv[1:]))
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def limited(tmp_path: Path) -> Run:
    """Run the command in a process whose files have at most so many bytes."""
    for side, word in (("a", "x"), ("b", "y")):
        lines = "".join(f"{number},{word}{number}\n" for number in range(ROWS))
        (tmp_path / f"{side}.csv").write_text(f"id,v\n{lines}")

    def run(
        *arguments: str,
        size: int = BYTES,
        program: str = "",
        stdout: IO[str] | int = subprocess.PIPE,
    ) -> subprocess.CompletedProcess[str]:
        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        command = [sys.executable, "-c", program] if program else [str(COMMAND)]
        return subprocess.run(
            [*command, *arguments],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "SKILLIAN_DATABASE_URL": f"sqlite:///{tmp_path}/history.db",
                # Python would leave compiled modules half written, for all tests after this one.
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            preexec_fn=limit,
            check=False,
            timeout=50,
        )

    return run


def test_no_report_is_half(limited: Run, tmp_path: Path) -> None:
    paths = [tmp_path / f"report.{form}" for form in FORMATS if form != "txt"]
    for path in paths:
        path.write_text("before")
    outputs = [part for path in paths for part in ("--output", path.name)]
    before = sorted(tmp_path.iterdir())
    done = limited("compare", "a.csv", "b.csv", "--key", "id", "--output", "short.txt", *outputs)
    assert done.returncode == 2
    assert "300 rows differ" in done.stdout
    assert "Traceback" not in done.stderr
    for path in paths:
        assert f"error: {path.name}: {os.strerror(27)}" in done.stderr
        assert path.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "short.txt"]


def test_what_is_written_is_whole_and_what_is_printed_is_there(
    limited: Run, tmp_path: Path
) -> None:
    for folder, side in (("one", "a"), ("other", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / f"{side}.csv").rename(tmp_path / folder / "t.csv")
    done = limited("compare", "one", "other", "--all", "--output", "report.html")
    assert (done.returncode, "300" in done.stdout) == (2, True), done.stderr
    assert not [*tmp_path.rglob("*.html"), *tmp_path.rglob("*.part")]
    done = limited("compare", "one/t.csv", "other/t.csv", "--save", "people", size=20)
    assert (done.returncode, "300 rows differ" in done.stdout) == (2, True), done.stderr
    assert not [*tmp_path.glob("people*")]


def test_a_history_that_is_full_is_a_warning_or_an_error_with_the_result(
    limited: Run, tmp_path: Path
) -> None:
    limited("compare", "a.csv", "b.csv", "--key", "id", "--save", "people", size=10_000)
    done = limited("compare", "people.yaml")
    assert done.returncode == 1
    assert "300 rows differ" in done.stdout
    assert "warning: this run is not in the history" in done.stderr
    path = tmp_path / "people.yaml"
    path.write_text(path.read_text().replace("- ", "- fail_on: new\n  ", 1))
    done = limited("compare", "people.yaml")
    assert (done.returncode, "300 rows differ" in done.stdout) == (2, True), done.stderr
    assert "error: the history cannot be used" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("form", [[], ["--format", "json"]])
def test_a_full_standard_output(limited: Run, form: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = limited("compare", "a.csv", "b.csv", "--key", "id", *form, stdout=full)
    assert done.returncode == 2
    assert done.stderr == f"error: {os.strerror(28)}: the output is not complete\n"


def test_temporary_files_without_space(limited: Run, tmp_path: Path) -> None:
    import duckdb

    for side, factor in (("a", 1), ("b", 3)):
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT md5((i * {factor})::TEXT) AS name, repeat(md5(i::TEXT), 5) AS text"  # noqa: S608 - ours
                f" FROM range(200000) t(i)) TO '{tmp_path / side}.parquet'"
            )
    arguments = ("compare", "a.parquet", "b.parquet", "--key", "name")
    done = limited(*arguments, size=100_000, program=SPILL)
    assert done.returncode == 2, done.stdout
    assert "there is not enough space" in done.stderr
    assert "TMPDIR" in done.stderr
    assert "Traceback" not in done.stderr

"""Ctrl-C during a statement that runs for minutes."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import duckdb
import pytest
import typer

from skillian.cli.shell import run
from skillian.reports.replacing import replacing

COMMAND = Path(sys.executable).parent / "skillian"
SOURCES = """
connections: {main: duckdb:///long.duckdb}
sources:
  a: &QUERY
    connection: main
    query: SELECT a.n AS k, b.n AS v FROM numbers AS a CROSS JOIN numbers AS b
    dimensions: {k: {column: k}}
    measures: {v: {column: v, aggregation: count_distinct}}
"""


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """Two sources whose comparison would take hours."""
    with duckdb.connect(tmp_path / "long.duckdb") as connection:
        connection.execute("CREATE TABLE numbers AS SELECT range AS n FROM range(1000000)")
    source = SOURCES.split("a: &QUERY\n")[1]
    text = SOURCES.replace(" &QUERY", "") + f"  b:\n{source}"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_file_that_is_being_written_is_removed_if_the_process_is_stopped(tmp_path: Path) -> None:
    async def write() -> None:
        with replacing(tmp_path / "diff.csv"):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(60)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as stopped:
        run(write())
    assert stopped.value.exit_code == 130
    assert [*tmp_path.iterdir()] == []
    assert signal.getsignal(signal.SIGTERM) is before


async def test_ctrl_c_stops_the_statement(endless: Path) -> None:
    ours, theirs = pty.openpty()  # progress is shown only on a terminal, and shows when to stop
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "compare", "a", "b", "--measure", "v", "--by", "k"),
        cwd=endless,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        stdout=asyncio.subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    output = await asyncio.to_thread(_read_until, ours, b"comparing")
    async with asyncio.timeout(30):
        process.send_signal(signal.SIGINT)
        output += await asyncio.to_thread(_read_until, ours, None)
        code = await process.wait()
    os.close(ours)
    assert code == 130, output
    assert b"Interrupted. The statement was stopped." in output
    assert b"Traceback" not in output


def _read_until(terminal: int, text: bytes | None) -> bytes:
    """Read until this text appears, or until the other end closes."""
    read = b""
    while text is None or text not in read:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux, once the other end is closed
            break
        if not piece:
            break
        read += piece
    return read

"""Columns of a file whose names differ only in case."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_they_meet_by_their_spelling_and_not_by_their_order(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,Name,name\n1,Ann,x\n2,Bob,y\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,name,Name\n1,x,Ann\n2,z,Bob\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id")
    assert done.returncode == 1, done.stderr
    assert "name_2 differs in 1 row" in done.stdout
    assert "Name_1 differs" not in done.stdout


def test_a_query_of_a_source_keeps_that_types_were_guessed(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,n\n1,5\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,n\n1,5.0\n", encoding="utf-8")
    (tmp_path / "sources.yaml").write_text(
        """
connections: {files: "files:///."}
sources:
  a: {connection: files, query: 'SELECT id, n FROM "a.csv"', dimensions: {id: {column: id}}}
  b:
    connection: files
    query: 'WITH b AS (SELECT id, n FROM "b.csv") SELECT id, n FROM b'
    dimensions: {id: {column: id}}
""",
        encoding="utf-8",
    )
    done = skillian("compare", "a", "b", "--key", "id")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loses" not in done.stdout

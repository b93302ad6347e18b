from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_all_faults_of_a_sources_file_are_shown_with_their_lines(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "sources.yaml").write_text(
        "connections:\n"
        "  main: duckdb:///a.duckdb\n"
        "sources:\n"
        "  ledger:\n"
        "    connection: mian\n"
        "    table: t\n"
        "    dimensions:\n"
        "      company: {colum: c}\n"
        "    measures:\n"
        "      amount: {column: a, aggregation: summ}\n"
    )
    done = skillian("sources", "list")
    assert done.returncode == 2
    errors = done.stderr.replace("\n", " ")
    for line, word in ((5, "mian"), (8, "colum"), (10, "summ")):
        assert re.search(rf"sources\.yaml:{line}:(?:(?!sources\.yaml).)*{word}", errors), errors
    assert "Traceback" not in errors

"""The steps of docs/skills.md, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "skills.md"
STEP = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n+)?```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
BOOKED = """SELECT sum("HSL") FROM fi_ledger WHERE "BUKRS" = '1001'"""
ANSWERS = (
    "This is an example.",
    "Kofi Larsen answers for company 1002.",
    "goes to the head of finance",
    "1 passed",
    "amount: {booked}",
)


@pytest.mark.timeout(180)
def test_the_steps_of_the_page_make_a_working_skill(tmp_path: Path) -> None:
    """Run the blocks in order: write each file, run each command."""
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "HOME": str(tmp_path),
        "SKILLIAN_SKILLS": "contacts",
    }
    answers = list(ANSWERS)
    for step in STEP.finditer(PAGE.read_text(encoding="utf-8")):
        if step["file"]:
            (tmp_path / step["file"]).write_text(step["text"], encoding="utf-8")
            continue
        assert step["kind"] == "sh", step[0]
        ran = subprocess.run(
            ["/bin/sh", "-ec", step["text"]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        with duckdb.connect(tmp_path / "ledger.duckdb", read_only=True) as connection:
            booked = connection.sql(BOOKED).fetchall()[0][0]
        assert answers.pop(0).format(booked=booked) in " ".join(ran.stdout.split()), ran.stdout
    assert not answers

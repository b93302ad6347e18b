"""A small crash campaign; `make bench-durable` runs it in full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "durable_campaign.py"
RUNS = os.environ.get("CAMPAIGN_RUNS", "16")
KILLS = os.environ.get("CAMPAIGN_KILLS", "8")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_workers_are_killed_and_every_run_ends_right(database: str) -> None:
    options = ["--runs", RUNS, "--kills", KILLS, "--limit", "240"]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), database, *options],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert f"| runs | {RUNS} |" in done.stdout
    assert f"| kills | {KILLS} |" in done.stdout
    assert "| faults | 0 |" in done.stdout

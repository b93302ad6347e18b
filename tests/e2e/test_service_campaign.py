"""A small crash campaign of the service; `make bench-durable` runs it in full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "service_campaign.py"
KILLS = os.environ.get("CAMPAIGN_KILLS", "2")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_what_a_killed_server_has_acknowledged_is_there(database: str) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), database, "--kills", KILLS],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert f"| kills | {KILLS} |" in done.stdout
    assert "| faults | 0 |" in done.stdout

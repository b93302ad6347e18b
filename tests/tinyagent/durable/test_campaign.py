"""A small crash campaign; `make bench-durable` runs it in full."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from durable_checks import Evidence, expected, judge
from durable_effects import Call
from durable_model import Asked

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "durable_campaign.py"
RUNS = os.environ.get("CAMPAIGN_RUNS", "16")
KILLS = os.environ.get("CAMPAIGN_KILLS", "8")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_workers_are_killed_and_every_run_ends_correctly(database: str) -> None:
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


GOOD = Evidence(
    answers={"r": expected("r")},
    asked=[Asked("r", 0, "a", 1.0, 1.1), Asked("r", 1, "b", 9.0, 9.1)],
    calls=[Call("deposit", "r", 1, "a", 2.0, None), Call("deposit", "r", 1, "b", 8.0, 8.1)],
    recorded={("model", "r", 0): 1.2, ("model", "r", 1): 9.2, ("deposit", "r", 1): 8.2},
    reported=[("r", 1, 5.0)],
    decided=["retry"],
    killed={"a": 3.0},
)


def test_a_campaign_in_which_all_was_right_has_no_faults() -> None:
    assert judge(GOOD).faults == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"answers": {"r": "1"}}, "r answered '1'"),
        ({"answers": {"r": None}}, "r answered None"),
        ({"recorded": {**GOOD.recorded, ("model", "r", 1): 8.9}}, "although it was recorded"),
        ({"recorded": {**GOOD.recorded, ("deposit", "r", 1): 7.0}}, "although it was recorded"),
        ({"recorded": {("model", "r", 0): 1.2}}, "is not in the journal"),
        ({"killed": {}, "reported": [("r", 1, 9.5)]}, "went from a to b, which was alive"),
        ({"reported": [], "decided": []}, "was interrupted and not reported"),
        ({"decided": ["skip"]}, "was made again without a decision"),
    ],
)
def test_each_kind_of_fault_is_seen(changes: dict[str, Any], fault: str) -> None:
    faults = judge(replace(GOOD, **changes)).faults
    assert any(fault in found for found in faults), faults

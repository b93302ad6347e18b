from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_demo_shows_question_call_table_and_answer(started: Run, tmp_path: Path) -> None:
    done = started("demo")
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert "Compare amounts between fi_reporting and bpc_reporting for company 1001" in shown
    assert "offline planner, no language model" in shown
    assert '→ compare_sources {"source_a": "fi_reporting", "source_b": "bpc_reporting"' in shown
    assert re.search(r"2024004 +major +192,258\.87 +384,517\.74 +192,258\.87", shown)
    assert "exactly twice the" in shown
    assert "✓ Verified" in shown
    assert re.search(
        r"To see it on the page: \S*skillian demo --serve, then open http://127.0.0.1:8000/", shown
    )
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_be_kept_and_used(skillian: Run) -> None:
    assert skillian("demo", "--keep", "kept").returncode == 0
    done = skillian("sources", "list", "--sources", "kept/sources.yaml")
    assert done.returncode == 0
    assert "bpc_reporting" in done.stdout


def test_the_demo_replaces_no_existing_file(skillian: Run, tmp_path: Path) -> None:
    mine = tmp_path / "sources.yaml"
    mine.write_text("connections: {}\n")
    done = skillian("demo", "--keep", ".")
    assert done.returncode == 2
    assert "sources.yaml" in done.stderr
    assert mine.read_text() == "connections: {}\n"
    blocked = skillian("demo", "--keep", "sources.yaml/x")
    assert blocked.returncode == 2
    assert "Traceback" not in blocked.stderr


def test_the_demo_loads_no_numpy(tmp_path: Path) -> None:
    """Only functions in Python need it, and they are created for the statement that calls one."""
    code = (
        "import sys; sys.modules['numpy'] = None; sys.argv = ['skillian', 'demo']\n"
        "from skillian.cli import app; app()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "groups match" in done.stdout

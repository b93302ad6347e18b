"""Temporary folders of processes that have ended, and of those that live."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MAKE = "from skillian.connectors.scratch import scratch; print(scratch(), flush=True); "


def test_the_folders_of_dead_processes_are_removed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    other = tmp_path / "skillian-other"
    other.mkdir()
    command = [sys.executable, "-c", f"{MAKE} input()"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as living:
        assert living.stdout is not None
        folder = Path(living.stdout.readline().strip())
        (folder / "file").touch()
        assert folder.stat().st_mode & 0o077 == 0
        subprocess.run([sys.executable, "-c", MAKE], env=environment, check=True)
        assert {*tmp_path.iterdir()} == {folder, other}
        living.kill()
        living.wait()
    subprocess.run([sys.executable, "-c", MAKE], env=environment, check=True)
    assert [*tmp_path.iterdir()] == [other]

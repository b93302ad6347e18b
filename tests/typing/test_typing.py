"""The public names, used as a user would, under both type checkers at their strictest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("user_program.py")
BIN = Path(sys.executable).parent


MYPY = [str(BIN / "mypy"), "--strict", "--follow-imports=silent", "--config-file="]
PYRIGHT = [str(BIN / "pyright"), "--pythonpath", sys.executable]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(MYPY, id="mypy"),
        pytest.param(PYRIGHT, id="pyright"),
        pytest.param([sys.executable], id="python"),
    ],
)
def test_a_users_program_is_well_typed_and_runs(command: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "user_program.py"  # outside the project: none of its settings apply
    copy.write_text(PROGRAM.read_text())
    done = subprocess.run(
        [*command, str(copy)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

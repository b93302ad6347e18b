"""Every file that a command of docs/code_agent.md uses is made there, and the commands work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "code_agent.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _block(word: str) -> list[str]:
    """The commands of the one block that has this word, a here-document as one of them."""
    [text] = [block for block in BLOCKS if word in block]
    return [part[0] for part in re.findall(r"(.*<<'(\w+)'\n(?s:.*?)\n\2|.+)", text)]


def _sh(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_that_is_run_in_the_sandbox_is_made(tmp_path: Path) -> None:
    _doctor, make, execute = _block("tinyagent exec")
    _sh(make, tmp_path)
    assert _sh(execute, tmp_path) == "45\n"

"""Every file that a command of README.md uses is made there, and the commands work."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.waits import until

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
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


def test_the_agents_of_the_worker_are_made(tmp_path: Path) -> None:
    pytest.importorskip("dbos")
    install, write, start, work, show = _block("tinyagent worker")
    assert install == "pip install '.[durable]'"
    _sh(write, tmp_path)
    _sh(start, tmp_path)
    command = [
        str(Path(sys.executable).with_name("tinyagent")),
        *work.partition("#")[0].split()[1:],
    ]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as worker:
        until(lambda: _states(tmp_path, show) == ["completed"], seconds=120)
        worker.send_signal(signal.SIGINT)
        assert worker.wait(120) in {0, 130}


def _states(folder: Path, show: str) -> list[str]:
    listed = json.loads(_sh(f"{show} --json", folder))
    return [record["state"] for record in listed]

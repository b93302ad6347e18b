"""The `skillian` command, in this process and in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from skillian.cli import app
from skillian.demo.ledger import write_demo
from tinyagent_commands import describe

COMMAND = Path(sys.executable).parent / "skillian"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def skillian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, in an empty folder; keywords set its environment."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        done = CliRunner().invoke(app, arguments, env=environment, standalone_mode=False)
        code, errors = done.return_value or 0, done.stderr
        if isinstance(done.exception, typer.TyperException):
            code, errors = done.exception.exit_code, errors + describe(done.exception)
        elif done.exception is not None:
            raise done.exception
        return subprocess.CompletedProcess(arguments, code, done.stdout, errors)

    return run


@pytest.fixture
def started(tmp_path: Path) -> Run:
    """Run the command in its own process, in an empty folder."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SKILLIAN_", "OPENAI_"))}
        return subprocess.run(
            [COMMAND, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**clean, **environment},
            check=False,
            timeout=50,
        )

    return run


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `sources.yaml` of the demo."""
    return write_demo(tmp_path_factory.mktemp("demo"))

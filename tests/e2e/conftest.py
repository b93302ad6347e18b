"""Servers of real models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "large_model.py"


@pytest.fixture(scope="session")
def large_model() -> Generator[str]:
    """The base URL of the larger real model's server."""
    command = [sys.executable, str(PROGRAM)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        if not base_url:
            pytest.fail("the larger model did not start; get it with: make test-models")
        yield base_url
        process.kill()

"""Ordinary programs do at each trust level what they do in plain Python."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tinyagent.execution.programs.cases import Program
from tests.tinyagent.execution.programs.everything import ALL
from tests.tinyagent.execution.programs.tools import TOOLS

from tinyagent import Sandbox
from tinyagent.execution.protocol import Executor
from tinyagent.execution.sandbox.executor import get_executor
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

PLAIN = Path(__file__).with_name("plain.py")
LIMITS = ExecutionLimits(timeout_seconds=20, max_output_bytes=100_000)

Expected = dict[str, list[dict[str, str | None]]]


@pytest.fixture(scope="session")
def expected() -> Expected:
    """What plain Python makes of all the programs."""
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
        "LANG": "C.UTF-8",
    }
    ran = subprocess.run(
        [sys.executable, str(PLAIN)], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    steps: Expected = json.loads(ran.stdout)
    return steps


@pytest.mark.parametrize("level", TrustLevel)
@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
async def test_at_each_level(program: Program, level: TrustLevel, expected: Expected) -> None:
    is_local = level is TrustLevel.LOCAL and not program.local
    extra = program.imports if is_local else ()  # its own list is short
    executor = get_executor(Sandbox(level, limits=LIMITS, imports=extra))
    artifacts = await _same(program, executor, expected)
    assert program.files <= artifacts.keys()
    images = [name for name, media_type in artifacts.items() if media_type == "image/png"]
    assert len(set(images) - program.files) == program.figures


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
async def test_without_checkpoints(program: Program, expected: Expected) -> None:
    executor = get_executor(Sandbox(TrustLevel.ISOLATED, limits=LIMITS, checkpoints=0))
    await _same(program, executor, expected)


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_runs_in_plain_python(program: Program, expected: Expected) -> None:
    steps = expected[program.name]
    assert any(step["output"] or step["value"] for step in steps)
    assert (steps[-1]["error"] is not None) == program.fails, steps


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_names_its_imports(program: Program) -> None:
    assert {name for step in program.steps for name in _imported(step)} == program.imports


def test_there_are_enough() -> None:
    assert len({program.name for program in ALL}) == len(ALL) >= 45
    assert sum(program.local for program in ALL) >= 25


async def _same(program: Program, executor: Executor, expected: Expected) -> dict[str, str]:
    """Run it and compare; gives the media types of its artifacts by name."""
    artifacts: dict[str, str] = {}
    async with executor:
        for name in program.tools:
            executor.inject(name, TOOLS[name])
        for step, wanted in zip(program.steps, expected[program.name], strict=True):
            result = await executor.run(step)
            assert (result.output, _last_line(result.error)) == (
                wanted["output"],
                wanted["error"],
            ), result
            if wanted["value"] is not None:
                assert result.value_text == wanted["value"]
            artifacts |= {item.name: item.media_type for item in result.artifacts}
    return artifacts


def _last_line(error: str | None) -> str | None:
    """Of the traceback; advice may follow it."""
    if error is None:
        return None
    lines: list[Any] = [line for line in error.splitlines() if "Error: " in line]
    return str(lines[-1]) if lines else error


def _imported(step: str) -> set[str]:
    try:
        tree = ast.parse(step)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found

"""Every Python block in README.md and docs/ runs as it stands there: alone, and offline.

A comment before a block gives it a fixture under its name: `<!-- fixture: tmp_path -->`. A block
that is a file of a tutorial (`<!-- file: agent.py -->`), or a program for another environment
(`<!-- environment: smolagents -->`), is run by tests of its own in tests/e2e.
"""

from __future__ import annotations

import ast
import asyncio
import re
import socket
import sys
from inspect import CO_COROUTINE
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"^(?:<!-- (?:fixture: (?P<fixture>\w+)|(?P<elsewhere>file|environment): \S+) -->\n+)?"
    r"```python\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CLAIM = re.compile(r"^[ \t>]*(?:```|~~~)[ \t]*(?:py|python)\b", re.MULTILINE | re.IGNORECASE)


class Block(NamedTuple):
    """A Python block, the line of its document on which it starts, and what is said before it."""

    path: Path
    line: int
    code: str
    fixture: str | None
    elsewhere: str | None

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"


def _blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    return [
        Block(path, text.count("\n", 0, found.start("code")) + 1, found["code"], *found.group(1, 2))
        for found in BLOCK.finditer(text)
    ]


BLOCKS = [block for path in DOCUMENTS for block in _blocks(path) if block.elsewhere is None]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_each_block_that_claims_to_be_python_is_one_that_is_run(path: Path) -> None:
    assert len(CLAIM.findall(path.read_text(encoding="utf-8"))) == len(_blocks(path))


def test_the_readme_shows_code_that_runs() -> None:
    assert any(block.path.name == "README.md" for block in BLOCKS)


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connect = socket.socket.connect

    def connect_to_this_machine(own: socket.socket, address: tuple[str, int]) -> None:
        if address[0] != "127.0.0.1":
            raise OSError(f"an example reaches for the network: {address}")
        connect(own, address)

    monkeypatch.setattr(socket.socket, "connect", connect_to_this_machine)
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # "set the key of its provider"
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_block_runs(
    block: Block, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("snippet")
    monkeypatch.setitem(sys.modules, "snippet", module)
    if block.fixture is not None:
        vars(module)[block.fixture] = request.getfixturevalue(block.fixture)
    code = compile(
        "\n" * (block.line - 1) + block.code,
        str(block.path),
        "exec",
        ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    ran = FunctionType(code, vars(module))()
    if code.co_flags & CO_COROUTINE:
        asyncio.run(ran)
